"""Models against a benchmark, from their directories to the documents of their scores: the door of this room.

Read this first. Owns the order: what is given, who takes part, the documents, the page. A stopped evaluation goes on
with the same command and gives the same bytes; a model more may be given then (docs/unlearning.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Final

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock, settle_settings
from clinaudit.audit.unlearning.benchmark.files import Bench, read_bench
from clinaudit.audit.unlearning.benchmark.records import Split
from clinaudit.audit.unlearning.evaluation.asked_model import MOST_ANSWER_TOKENS
from clinaudit.audit.unlearning.evaluation.given_models import (
    GivenModel,
    ModelPlace,
    find_before,
    read_models,
    splits_of,
)
from clinaudit.audit.unlearning.evaluation.page_content import page_content
from clinaudit.audit.unlearning.evaluation.result_files import PAGE_FILE, robustness_file, scores_file, write_result
from clinaudit.audit.unlearning.evaluation.robustness.document import describe_robustness
from clinaudit.audit.unlearning.evaluation.robustness.parts import RobustnessOptions, Setup
from clinaudit.audit.unlearning.evaluation.stages import Evaluated, ModelStages, Pieces, require_memory
from clinaudit.audit.unlearning.methods.unlearn import describe_machine, tuning_patients
from clinaudit.audit.unlearning.metrics.given_answers import ScoringRequest, load_embedder, load_entailment
from clinaudit.audit.unlearning.metrics.score_document import Making, describe_scores
from clinaudit.priors.corpus.files import printable
from clinaudit.reports.exports.unlearning import unlearning_files
from clinaudit.reports.pages.unlearning import render_unlearning
from clinaudit.reports.schema.unlearning_evaluation import (
    EVALUATION_FORMAT,
    DocumentNames,
    EvaluationRecord,
    EvaluationSettings,
    RobustnessFile,
    SplitSizes,
)
from clinaudit.reports.schema.unlearning_scores import Document, ScoresDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest(ScoringRequest):
    """One evaluation."""

    models: tuple[ModelPlace, ...]
    out: Path
    #: The model that adapters were trained on.
    base_model: Path | None = None
    #: Whether the robustness tests are run.
    has_robustness: bool = True
    robustness: RobustnessOptions = field(default_factory=RobustnessOptions)


_SETTINGS: Final = "evaluation.json"
_PIECES: Final = "pieces"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What is evaluated, read and checked."""

    bench: Bench
    models: Sequence[GivenModel]
    splits: Sequence[Split]
    before: GivenModel | None
    #: Split's name -> retained patients by whom a model's rate was chosen. No mean of any model counts them, so that
    #: figures can be compared.
    set_aside: Mapping[str, tuple[str, ...]]


def evaluate(request: EvaluationRequest, progress: Progress) -> dict[str, ScoresDocument]:
    """Evaluate models; write everything, and return the documents of their scores by split.

    Raises `UsageError` where models, splits and options do not go together or the directory was begun otherwise,
    `BadInputError` for what cannot be read or does not fit into memory, and `IntegrityError` for what has changed since
    it was written.
    """
    given = _read_given(request)
    run = RunDirectory(request.out)
    if not (run.work / _PIECES).is_dir():
        # Later each is looked at when it is loaded: what is finished needs no memory.
        for model in given.models:
            require_memory(model.files, has_robustness=request.has_robustness)
    embedder, entailment = load_embedder(request.embeddings), load_entailment(request.nli)
    _warn_of_mismatches(given, request, progress)
    with run.removed_on_failure():
        run.require_begun_by(run.work / _SETTINGS, what="evaluation")
        run.create()
        with hold_lock(run):
            made_with = {"cs": embedder.name, entailment.metric: entailment.name}
            settings = _settings(request, given.bench, made_with)
            settle_settings(run.work / _SETTINGS, settings.model_dump(exclude_unset=True), what="this evaluation")
            setup = Setup(
                bench=given.bench,
                form=request.form,
                seed=request.seed,
                embedder=embedder,
                entailment=entailment,
                has_robustness=request.has_robustness,
                options=request.robustness,
                progress=progress,
            )
            pieces = Pieces(run.work / _PIECES)
            evaluated = []
            for number, model in enumerate(given.models, start=1):
                title = f"model {number} of {len(given.models)}"
                # Whatever holds the network ends with the line: two at once may not fit.
                evaluated.append(ModelStages(model=model, setup=setup, pieces=pieces, title=title).run(given.splits))
            progress.say("writing the documents and the page")
            scores: dict[str, ScoresDocument] = {}
            robustness: dict[str, RobustnessFile] = {}
            documents: dict[str, Document] = {}
            for split in given.splits:
                own = {one.model.name: one for one in evaluated if one.model.split in (None, split)}
                scores[split.name] = documents[scores_file(split)] = _describe_scores(given, setup, split, own)
                if setup.has_robustness:
                    tried = robustness[split.name] = _describe_robustness(given, setup, split, own)
                    documents[robustness_file(split)] = tried
            record = EvaluationRecord(
                **dict(settings),
                before=None if given.before is None else given.before.name,
                models=[model.described for model in given.models],
                documents={
                    split.name: DocumentNames(
                        scores=scores_file(split), robustness=robustness_file(split) if setup.has_robustness else None
                    )
                    for split in given.splits
                },
            )
            content = page_content(record, scores, robustness, given.bench)
            write_result(
                run,
                documents,
                answers=[answer for one in evaluated for answer in one.answers],
                scores=[score for one in evaluated for score in one.scores],
                record=record,
                shown={PAGE_FILE: render_unlearning(content), **unlearning_files(content)},
            )
    return scores


def _read_given(request: EvaluationRequest) -> _Given:
    bench = read_bench(request.bench, corpus=request.corpus)
    split = None if request.split_name is None else bench.split(request.split_name)
    models = read_models(request.models, bench, split=split, before=request.before, base=request.base_model)
    before = find_before(models, request.before)
    splits = splits_of(models, split)
    chosen = {one.split.name: one.split for one in models if one.split is not None and one.described.chose_rate}
    set_aside = {name: tuning_patients(one) for name, one in chosen.items()}
    return _Given(bench=bench, models=models, splits=splits, before=before, set_aside=set_aside)


def _warn_of_mismatches(given: _Given, request: EvaluationRequest, progress: Progress) -> None:
    for model in given.models:
        name, own = printable(model.name), model.described
        if own.trained_form not in (None, request.form):
            progress.say(
                f"note: {name} was trained on questions in their {own.trained_form} form, and is asked otherwise"
            )
        is_of_before = given.before is None or own.made_from == given.before.files.digest
        if own.kind == "unlearned" and not is_of_before:
            progress.say(f"note: {name} was not made from the model that it is compared with")


def _settings(request: EvaluationRequest, bench: Bench, made_with: Mapping[str, str]) -> EvaluationSettings:
    """Return what every model's answers and scores depend on: it must not change when the evaluation goes on."""
    return EvaluationSettings(
        format=EVALUATION_FORMAT,
        clinaudit_version=version("clinaudit"),
        bench_digest=bench.digest,
        corpus_digest=bench.corpus_digest,
        form=request.form,
        most_answer_tokens=MOST_ANSWER_TOKENS,
        seed=request.seed,
        made_with=dict(made_with),
        robustness=request.robustness.described(),
        **describe_machine(),
    )


def _describe_scores(given: _Given, setup: Setup, split: Split, evaluated: Mapping[str, Evaluated]) -> ScoresDocument:
    making = Making(
        split=split,
        form=setup.form,
        entailment_metric=setup.entailment.metric,
        made_with={"cs": setup.embedder.name, "es": setup.entailment.name},
        seed=setup.seed,
        set_aside=given.set_aside.get(split.name, ()),
        before=None if given.before is None else given.before.name,
        answers={name: one.answers for name, one in evaluated.items()},
    )
    return describe_scores({name: one.scores for name, one in evaluated.items()}, given.bench, making)


def _describe_robustness(
    given: _Given, setup: Setup, split: Split, evaluated: Mapping[str, Evaluated]
) -> RobustnessFile:
    set_aside = given.set_aside.get(split.name, ())
    counted = {one.qa_id for one in given.bench.questions if one.patient_id not in set_aside}
    return RobustnessFile(
        format=EVALUATION_FORMAT,
        bench=given.bench.digest,
        split=split.name,
        form=setup.form,
        seed=setup.seed,
        options=setup.options.described(),
        patients=SplitSizes(forget=len(split.forget), retain=len(split.retain)),
        models={
            name: describe_robustness(
                one.robustness[split.name],
                [score for score in one.scores if score.qa_id in counted],
                setup,
                split,
            )
            for name, one in evaluated.items()
        },
    )
