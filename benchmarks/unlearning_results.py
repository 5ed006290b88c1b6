"""What is finished of the benchmark of unlearning: its documents, read again with the intervals of today.

Means are made anew from the scores of the answers, which a document of scores holds. No model is asked: a study that
took hours is written again in a minute. What answers a trial got stands in no document, so that robustness keeps the
intervals that it was written with; `unlearn evaluate`, called again, makes those anew from its pieces.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unlearning_steps import BASELINE, METHODS, SECONDS_FILE, SPLITS_FILE, Folder, Grid, slug

from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import BenchPatient, Question, Scores, Split
from clinaudit.audit.unlearning.metrics.score_document import Making, describe_scores
from clinaudit.reports.schema.unlearning_scores import ScoredAnswer, ScoresDocument, plain_name

Json = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Results:
    """What is finished."""

    #: Split -> its document.
    scores: Mapping[str, Json] = field(default_factory=dict)
    robustness: Mapping[str, Json] = field(default_factory=dict)
    #: Of models that forgot one split at the largest rate of the grid.
    hardest: Json | None = None
    #: Of models with and without one split's patients, of several seeds; None where they were not trained.
    faithfulness: Json | None = None
    #: Method -> both records of the model of the split on which its rate was chosen.
    chosen: Mapping[str, Json] = field(default_factory=dict)
    #: Split -> how many it forgets.
    forgotten: Mapping[str, int] = field(default_factory=dict)
    #: Of each run of a step: its name, and the processor's seconds that it took.
    seconds: Sequence[tuple[str, float]] = ()


def read_results(folder: Folder, grid: Grid) -> Results:
    """Read what there is."""
    scores: dict[str, Json] = {}
    robustness: dict[str, Json] = {}
    chosen: dict[str, Json] = {}
    for split in grid.splits(grid.percents):
        for result in folder.results.values():
            for kind, found in (("scores", scores), ("robustness", robustness)):
                document = _read(result / "evidence" / f"{kind}-{slug(split)}.json")
                if document is not None:
                    found[split] = document
    own = f"evidence/scores-{slug(grid.chosen_on)}.json"
    for method in METHODS:
        model = folder.forgot(method, grid.chosen_on)
        paths = (model / "unlearn.json", model / "evidence" / "unlearn.json")
        if paths[0].is_file():
            chosen[method] = {key: of for path in paths for key, of in json.loads(path.read_text("utf-8")).items()}
    splits = folder.root / SPLITS_FILE
    forgotten = json.loads(splits.read_text(encoding="utf-8")) if splits.is_file() else {}
    log = folder.root / SECONDS_FILE
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.is_file() else []
    return Results(
        scores=scores,
        robustness=robustness,
        hardest=_read(folder.hardest / own),
        faithfulness=_read(folder.faithfulness / own),
        chosen=chosen,
        forgotten={name: len(patients) for name, patients in forgotten.items()},
        seconds=[(row["step"], row.get("processor_seconds", 0.0)) for row in rows],
    )


def _read(path: Path) -> Json | None:
    """Return a document; None where it is not there."""
    if not path.is_file():
        return None
    document: Json = json.loads(path.read_text(encoding="utf-8"))
    return describe_again(document) if "items" in document else document


def describe_again(document: Json) -> Json:
    """Return a document of scores with its means and intervals made anew, and each model's change to the baseline."""
    held = ScoresDocument.model_validate(document)
    scores: dict[str, list[Scores]] = {}
    for item in held.items:
        scores.setdefault(item.model, []).append(_scores(item))
    again = describe_scores(scores, _bench(held), _making(held))
    models = {
        # What the answers themselves say stays as it is.
        name: own.model_copy(update={"collapse": held.models[name].collapse}) if held.models[name].collapse else own
        for name, own in again.models.items()
    }
    described: Json = again.model_copy(update={"models": models}).model_dump(exclude_unset=True)
    return described


def _bench(held: ScoresDocument) -> Bench:
    """Return what means need of the benchmark: whose question is of which kind, and each patient's disease."""
    questions = {
        item.qa_id: Question(item.qa_id, item.patient_id, item.kind, item.use, "", "", (), (), "given", "")
        for item in held.items
    }
    patients = (
        BenchPatient(name, one.category, (), "given", "", is_trained=one.role != "never_trained")
        for name, one in held.patients.items()
    )
    return Bench(
        patients=tuple(patients),
        questions=tuple(questions.values()),
        splits=(),
        keywords=(),
        notes={},
        digest=held.bench,
        corpus_digest="",
        settings={},
        counts=None,
    )


def _making(held: ScoresDocument) -> Making:
    level, _, percent = held.split.partition(":")
    by_role = {
        role: tuple(name for name, one in held.patients.items() if one.role == role)
        for role in ("forget", "retain", "set_aside")
    }
    return Making(
        split=Split(
            "random" if level == "random" else "category",
            None if level == "random" else level,
            int(percent),
            by_role["forget"],
            (*by_role["retain"], *by_role["set_aside"]),
        ),
        form="paper" if held.form == "paper" else "addressed",
        entailment_metric="es_rules" if "es_rules" in held.made_with else "es",
        made_with={plain_name(metric): what for metric, what in held.made_with.items()},
        seed=held.seed,
        set_aside=by_role["set_aside"],
        before=BASELINE if BASELINE in held.models else None,
    )


def _scores(item: ScoredAnswer) -> Scores:
    return Scores(
        model=item.model,
        qa_id=item.qa_id,
        sample=0,
        rouge_l=item.rouge_l,
        em=item.em,
        cs=item.cs,
        es=item.value("es"),
        te=item.te,
        ls=item.ls,
        ls_echo_free=item.ls_echo_free,
        reasons={plain_name(metric): why for metric, why in item.reasons.items()},
        te_words=item.te_words,
    )
