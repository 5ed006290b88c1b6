"""An evaluation, from models, or answers made elsewhere, to figures, files and a page: the doors of this room.

Read this first. A stopped evaluation goes on with the same command and gives the same bytes; a model more may be given
then (docs/unlearning.md). All that is about a patient lies under `evidence/`; the other files name models and splits.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, Final

import polars as pl

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock, settle_settings, sha256_of, write_atomically
from clinaudit.audit.unlearning.benchmark.files import Answer, Bench, QuestionForm, Split, read_bench, write_frame
from clinaudit.audit.unlearning.benchmark.statistics import count_bench, describe_split, in_order
from clinaudit.audit.unlearning.evaluation import given_models
from clinaudit.audit.unlearning.evaluation.asked_model import MOST_ANSWER_TOKENS
from clinaudit.audit.unlearning.evaluation.stages import WRITTEN, ModelStages, as_answers, require_memory
from clinaudit.audit.unlearning.evaluation.trials import Setup, TrialOptions, measure_trial
from clinaudit.audit.unlearning.methods.unlearn import describe_machine
from clinaudit.audit.unlearning.metrics.answer_collapse import check_answers
from clinaudit.audit.unlearning.metrics.answer_scores import Scorers, load_embedder, load_entailment, score_answers
from clinaudit.audit.unlearning.metrics.means import groups_of, measure_groups, patient_figures, roles_of
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.corpus.header import Header
from clinaudit.reports.pages.benchmarks import render_unlearning
from clinaudit.reports.schema import unlearning as schema
from clinaudit.reports.terminal import align_columns
from clinaudit.reports.wording.unlearning import NONE, Evaluation

RECORD_FILE: Final = "evaluate.json"
PAGE_FILE: Final = "report.html"
FIGURES_FILE: Final = "figures.csv"
CHECKS_FILE: Final = "collapse.csv"
_SETTINGS: Final = "evaluation.json"


def write_result(
    run: RunDirectory, evaluation: Evaluation, evidence: Mapping[str, pl.DataFrame], *, page: str | None
) -> None:
    """Write all files of an evaluation, `evaluate.json` last: without it there is no result.

    `evidence` are tables by name. The caller holds the lock.
    """
    for name in (RECORD_FILE, PAGE_FILE, FIGURES_FILE, CHECKS_FILE):
        (run.root / name).unlink(missing_ok=True)
    for name, frame in evidence.items():
        write_frame(run.evidence / f"{name}.parquet", frame)
    write_atomically(run.root / FIGURES_FILE, evaluation.figures.write_csv())
    write_atomically(run.root / CHECKS_FILE, evaluation.checks.write_csv())
    if page is not None:
        write_atomically(run.root / PAGE_FILE, page)
    write_atomically(run.root / RECORD_FILE, evaluation.record.text())


_WITHOUT_EM: Final = {"mu": "mu_without_em", "afe": "afe_without_em"}
#: Heading -> metric, group and use.
_COLUMNS: Final[Mapping[str, tuple[str, str, str]]] = {
    "AFE": ("afe", "forget", "train"),
    "withheld": ("afe", "forget", "holdout"),
    "LS": ("ls", "forget", "train"),
    "ref": ("ls_reference", "forget", "train"),
    "DS": ("ds", "forget", "train"),
    "MU": ("mu", "retain", "train"),
    "same": ("mu", "same", "train"),
    "others": ("mu", "others", "train"),
}


def evaluation_text(evaluation: Evaluation) -> str:
    """Return a table a split, in at most 100 columns; of answers made elsewhere MU and AFE are without EM."""
    has_em = not evaluation.figures.filter(pl.col("value").is_not_null(), metric="em").is_empty()
    names = {} if has_em else _WITHOUT_EM
    lines: list[str] = []
    for split in evaluation.record.splits:
        rows: list[tuple[str, ...]] = [("model", "questions", *_COLUMNS)]
        for model, kind in product(evaluation.record.models, schema.KINDS):
            found = (
                evaluation.find(split.split, model.name, names.get(metric, metric), group, kind, use)
                for metric, group, use in _COLUMNS.values()
            )
            cells = [NONE if one is None or one.value is None else f"{one.value:.3f}" for one in found]
            if any(cell != NONE for cell in cells):
                rows.append((model.name, kind, *cells))
        lines += [split.split, align_columns(rows), ""]
    lines.append("AFE, LS and DS are of forgotten patients, MU of retained ones: same, who share a disease with them")
    return "\n".join([*lines, *([] if has_em else ["MU and AFE without exact memorization"])])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringRequest:
    """By which benchmark answers are scored, with what, and where the result goes."""

    bench: Path
    out: Path
    #: Who is forgotten; None: as the models themselves say, or the first split of the benchmark.
    split_name: str | None = None
    form: QuestionForm = "addressed"
    #: The model that the others are compared with; None: the baseline, where it is known.
    before: str | None = None
    #: The directory of an encoder; None: the installed package.
    embeddings: Path | None = None
    #: The directory of a model of inference; None: rules.
    nli: Path | None = None
    #: Where the benchmark's corpus lies now, if elsewhere than when it was built.
    corpus: Path | None = None
    #: Of samples and of the bootstrap.
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest(ScoringRequest):
    """Answers made elsewhere."""

    answers: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest(ScoringRequest):
    """Models to be asked."""

    models: tuple[given_models.ModelPlace, ...]
    #: The model that adapters were trained on.
    base_model: Path | None = None
    has_trials: bool = True
    trials: TrialOptions = field(default_factory=TrialOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    """One model, what it answered, and how that is scored."""

    described: schema.EvaluatedModel
    answers: Sequence[Answer]
    scores: pl.DataFrame
    #: Split's name -> the figures of each trial.
    trials: Mapping[str, Sequence[pl.DataFrame]] = field(default_factory=dict)


def evaluate(request: EvaluationRequest, progress: Progress) -> Evaluation:
    """Ask models and score their answers; write everything, and return what was found.

    Raises `UsageError` where models, splits and options do not go together or the directory was begun otherwise,
    `BadInputError` for what cannot be read or does not fit into memory, and `IntegrityError` for what has changed since
    it was written.
    """
    bench = read_bench(request.bench, corpus=request.corpus)
    split = None if request.split_name is None else bench.split(request.split_name)
    models = given_models.read_models(
        request.models, bench, split=split, before=request.before, base=request.base_model
    )
    before, splits = given_models.find_before(models, request.before), given_models.splits_of(models, bench, split)
    run = RunDirectory(request.out)
    pieces = run.work / "pieces"
    if not pieces.is_dir():
        # Later each is looked at when it is loaded: what is finished needs no memory.
        for model in models:
            require_memory(model.files, has_trials=request.has_trials)
    setup = _set_up(request, bench, progress, trials=request.trials if request.has_trials else None)
    for model in models:
        name, own = printable(model.name), model.described
        if own.trained_form not in (None, request.form):
            progress.say(
                f"note: {name} was trained on questions in their {own.trained_form} form, and is asked otherwise"
            )
        if own.kind == "unlearned" and before is not None and own.made_from != before.files.digest:
            progress.say(f"note: {name} was not made from the model that it is compared with")
    chosen = {"most_answer_tokens": MOST_ANSWER_TOKENS, "trials": asdict(request.trials), **describe_machine()}
    with _begun(run, setup, chosen) as settings:
        scored = []
        for number, model in enumerate(models, start=1):
            # Whatever holds the network ends with the turn: two at once may not fit.
            stages = ModelStages(model=model, setup=setup, pieces=pieces, title=f"model {number} of {len(models)}")
            answers = stages.answers()
            scored.append(
                _Scored(
                    described=model.described,
                    answers=as_answers(model.name, answers),
                    scores=stages.scores(answers),
                    trials={
                        one.name: stages.trials(one) for one in splits if model.described.split in (None, one.name)
                    },
                )
            )
        progress.say("writing the figures and the page")
        return _finish(run, scored, splits, setup, settings, before=None if before is None else before.name)


def score_given_answers(request: ScoreRequest, *, header: Header, progress: Progress) -> Evaluation:
    """Score answers made elsewhere; raises `BadInputError` for input that cannot be scored, else as `evaluate`."""
    bench = read_bench(request.bench, corpus=request.corpus)
    if not bench.splits:
        raise BadInputError(f"the benchmark {printable(request.bench.name)} has no split, so that nobody is forgotten")
    split = bench.splits[0] if request.split_name is None else bench.split(request.split_name)
    answers = given_models.read_answers(request.answers, bench.questions, header=header)
    if request.before is not None and request.before not in answers:
        raise UsageError("--before names no model of the answers; give one of those that stand there as `model`")
    setup, run = _set_up(request, bench, progress), RunDirectory(request.out)
    with _begun(run, setup, {"answers_digest": sha256_of(request.answers)}) as settings:
        scored = []
        for number, (model, own) in enumerate(answers.items(), start=1):
            title = f"scoring answers, model {number} of {len(answers)}"
            with progress.stage(title, total=len(own), unit="answers") as advance:
                scores = score_answers(
                    bench.questions,
                    bench.keywords,
                    own,
                    scorers=setup.scorers,
                    em=None,
                    form=request.form,
                    advance=advance,
                )
            of_split = None if model == request.before else split.name
            described = schema.EvaluatedModel(name=model, kind="foreign", split=of_split)
            scored.append(_Scored(described=described, answers=own, scores=scores))
        return _finish(run, scored, [split], setup, settings, before=request.before)


def _set_up(request: ScoringRequest, bench: Bench, progress: Progress, *, trials: TrialOptions | None = None) -> Setup:
    scorers = Scorers(load_embedder(request.embeddings), load_entailment(request.nli))
    return Setup(bench=bench, form=request.form, seed=request.seed, scorers=scorers, trials=trials, progress=progress)


@contextmanager
def _begun(run: RunDirectory, setup: Setup, more: Mapping[str, Any]) -> Iterator[schema.EvaluationSettings]:
    """Hold the directory of a result, new or begun with the same settings, which are yielded."""
    settings = schema.EvaluationSettings(
        clinaudit_version=version("clinaudit"),
        bench_digest=setup.bench.digest,
        corpus_digest=setup.bench.corpus_digest,
        form=setup.form,
        seed=setup.seed,
        made_with={"cs": setup.scorers.embedder.name, "es": setup.scorers.entailment.name},
        **more,
    )
    with run.removed_on_failure():
        run.require_begun_by(run.work / _SETTINGS, what="evaluation")
        run.create()
        with hold_lock(run):
            settle_settings(run.work / _SETTINGS, settings.model_dump(mode="json"), what="this evaluation")
            yield settings


def _finish(
    run: RunDirectory,
    scored: Sequence[_Scored],
    splits: Sequence[Split],
    setup: Setup,
    settings: schema.EvaluationSettings,
    *,
    before: str | None,
) -> Evaluation:
    """Measure every model by its splits, write all files, and return what was found; a page is of models asked here."""
    bench, names = setup.bench, {one.described.name: one for one in scored}
    of_patients = {name: patient_figures(one.scores, bench.questions, model=name) for name, one in names.items()}
    figures, checks = [pl.DataFrame(schema=schema.FIGURES)], [pl.DataFrame(schema=schema.CHECKS)]
    all_roles: list[tuple[str, ...]] = []
    for split in splits:
        groups, roles = groups_of(bench, split), roles_of(bench, split)
        all_roles += [(split.name, one.patient_id, roles[one.patient_id], one.category) for one in bench.patients]
        group_of = {one.qa_id: roles[one.patient_id] for one in bench.questions}
        for name, one in names.items():
            if one.described.split not in (None, split.name):
                continue
            earlier = None if before is None or name == before else of_patients[before]
            own = of_patients[name]
            figures.append(measure_groups(own, groups, split=split.name, before=earlier, seed=setup.seed))
            figures += [measure_trial(tried, own, setup, split) for tried in one.trials.get(split.name, ())]
            if earlier is not None and before is not None:
                said = check_answers(one.answers, names[before].answers, group_of)
                rows = [{"split": split.name, "model": name, **check.model_dump()} for check in said]
                checks.append(pl.DataFrame(rows, schema=schema.CHECKS))
    record = schema.EvaluationRecord(
        **dict(settings),
        before=before,
        models=[one.described for one in scored],
        splits=[describe_split(split, bench.questions) for split in in_order(splits)],
        bench=bench.counts or count_bench(bench.patients, bench.questions, bench.splits),
    )
    evaluation = Evaluation(record, pl.concat(figures), pl.concat(checks))
    answers = [asdict(answer) for one in scored for answer in one.answers]
    evidence = {
        "answers": pl.DataFrame(answers, schema={"model": pl.String(), **WRITTEN}),
        "scores": pl.concat([one.scores.select(pl.lit(name).alias("model"), "*") for name, one in names.items()]),
        "patient_figures": pl.concat(of_patients.values()),
        "roles": pl.DataFrame(all_roles, schema=["split", "patient_id", "role", "category"], orient="row"),
    }
    is_asked = settings.answers_digest is None
    write_result(run, evaluation, evidence, page=render_unlearning(evaluation) if is_asked else None)
    return evaluation
