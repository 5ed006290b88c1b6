"""Models against a benchmark, from their directories to the documents of their scores: the door of this room.

Read this first. Owns the order: what is given, who takes part, the documents, the page. A stopped evaluation goes on
with the same command and gives the same bytes; a model more may be given then (docs/unlearning.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
from clinaudit.audit.unlearning.evaluation.participants import Participant, filter_name, forgotten_names, take_part
from clinaudit.audit.unlearning.evaluation.result_files import PAGE_FILE, robustness_file, scores_file, write_result
from clinaudit.audit.unlearning.evaluation.robustness.block import Findings, describe_block
from clinaudit.audit.unlearning.evaluation.robustness.parts import RobustnessOptions, Setup
from clinaudit.audit.unlearning.evaluation.stages import Pieces, require_memory
from clinaudit.audit.unlearning.methods.model_in_training import describe_machine
from clinaudit.audit.unlearning.methods.unlearn import tuning_patients
from clinaudit.audit.unlearning.metrics.given_answers import ScoringRequest, load_embedder, load_entailment
from clinaudit.audit.unlearning.metrics.score_document import Making, describe_scores
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.files import printable
from clinaudit.reports.exports.unlearning import unlearning_files
from clinaudit.reports.pages.unlearning import render_unlearning
from clinaudit.reports.schema.unlearning_evaluation import (
    EVALUATION_FORMAT,
    DocumentNames,
    EvaluatedModel,
    EvaluationRecord,
    EvaluationSettings,
    RobustnessChoices,
    RobustnessDocument,
    RobustnessFile,
)
from clinaudit.reports.schema.unlearning_scores import Document, ScoresDocument
from clinaudit.version import VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest(ScoringRequest):
    """One evaluation."""

    models: tuple[ModelPlace, ...]
    out: Path
    #: Whether a filter of the forgotten patients' names stands before the baseline as a reference.
    has_prompt_filter: bool = False
    #: The model that adapters were trained on.
    base_model: Path | None = None
    #: Whether the robustness tests are run.
    has_robustness: bool = True
    robustness: RobustnessOptions = field(default_factory=RobustnessOptions)


_SETTINGS: Final = "evaluation.json"
_PIECES: Final = "pieces"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What an evaluation says, by the splits' names."""

    scores: Mapping[str, ScoresDocument]
    #: Empty with `--no-robustness`.
    robustness: Mapping[str, RobustnessFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What is evaluated, read and checked."""

    bench: Bench
    models: Sequence[GivenModel]
    splits: Sequence[Split]
    before: GivenModel | None
    #: Split's name -> retained patients by whom a model's rate was chosen, whom no mean counts.
    set_aside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def evaluate(request: EvaluationRequest, progress: Progress) -> Evaluation:
    """Evaluate models, and write and return the documents of their scores.

    Raises `UsageError` where models, splits and options do not go together or the directory was begun otherwise,
    `BadInputError` for what cannot be read or does not fit into memory, and `IntegrityError` for what has changed since
    it was written.
    """
    if request.has_robustness:
        request.robustness.require_sound()
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
                work=run.work,
                progress=progress,
            )
            taking_part = take_part(
                given.models,
                setup,
                splits=given.splits,
                pieces=Pieces(run.work / _PIECES),
                before=given.before,
                filtered=request.has_prompt_filter,
            )
            progress.say("writing the documents and the page")
            evaluation = _describe(given, setup, taking_part)
            documents: dict[str, Document] = {
                scores_file(split): evaluation.scores[split.name] for split in given.splits
            }
            if request.has_robustness:
                documents |= {robustness_file(split): evaluation.robustness[split.name] for split in given.splits}
            record = _describe_result(settings, given, setup, taking_part)
            content = page_content(record, evaluation.scores, evaluation.robustness, given.bench)
            write_result(
                run,
                documents,
                answers=[answer for one in taking_part for answer in one.answers],
                scores=[score for one in taking_part for score in one.scores],
                record=record,
                shown={PAGE_FILE: render_unlearning(content), **unlearning_files(content)},
            )
    return evaluation


def _read_given(request: EvaluationRequest) -> _Given:
    bench = read_bench(request.bench, corpus=request.corpus)
    split = None if request.split_name is None else bench.split(request.split_name)
    models = read_models(request.models, bench, split=split, before=request.before, base=request.base_model)
    before = find_before(models, request.before)
    splits = splits_of(models, split)
    if request.has_prompt_filter:
        if before is None:
            raise UsageError("--prompt-filter stands before the baseline; give it among MODEL, or name it by --before")
        if {filter_name(one) for one in splits} & {model.name for model in models}:
            raise UsageError("a model has the name of the prompt filter; name it otherwise, as NAME=DIR")
        nameless = [one.name for one in splits if not forgotten_names(bench, one)]
        if nameless:
            raise BadInputError(
                f"the benchmark knows no name of a patient whom {', '.join(nameless)} forgets, so that --prompt-filter "
                "has nothing to block; leave it out"
            )
    chosen = {model.split.name: model.split for model in models if model.split is not None and model.chose_rate}
    set_aside = {name: tuning_patients(one) for name, one in chosen.items()}
    return _Given(bench=bench, models=models, splits=splits, before=before, set_aside=set_aside)


def _warn_of_mismatches(given: _Given, request: EvaluationRequest, progress: Progress) -> None:
    for model in given.models:
        name = printable(model.name)
        if model.form not in (None, request.form):
            progress.say(f"note: {name} was trained on questions in their {model.form} form, and is asked otherwise")
        is_of_before = given.before is None or model.made_from == given.before.files.digest
        if model.kind == "unlearned" and not is_of_before:
            progress.say(f"note: {name} was not made from the model that it is compared with")


def _settings(request: EvaluationRequest, bench: Bench, made_with: Mapping[str, str]) -> EvaluationSettings:
    """Return what every model's answers and scores depend on: it must not change when the evaluation goes on."""
    return EvaluationSettings(
        format=EVALUATION_FORMAT,
        clinaudit_version=VERSION,
        bench_digest=bench.digest,
        corpus_digest=bench.corpus_digest,
        form=request.form,
        most_answer_tokens=MOST_ANSWER_TOKENS,
        seed=request.seed,
        made_with=dict(made_with),
        robustness=RobustnessChoices.model_validate(asdict(request.robustness)),
        **describe_machine(),
    )


def _describe(given: _Given, setup: Setup, taking_part: Sequence[Participant]) -> Evaluation:
    scores: dict[str, ScoresDocument] = {}
    robustness: dict[str, RobustnessFile] = {}
    for split in given.splits:
        own = [one for one in taking_part if one.split in (None, split)]
        making = Making(
            split=split,
            form=setup.form,
            entailment_metric=setup.entailment.metric,
            made_with={"cs": setup.embedder.name, "es": setup.entailment.name},
            seed=setup.seed,
            # Of all models alike: their figures are compared.
            set_aside=given.set_aside.get(split.name, ()),
            before=None if given.before is None else given.before.name,
            answers={one.name: one.answers for one in own},
        )
        scores[split.name] = describe_scores({one.name: one.scores for one in own}, given.bench, making)
        if setup.has_robustness:
            robustness[split.name] = RobustnessFile(
                format=EVALUATION_FORMAT,
                bench=given.bench.digest,
                split=split.name,
                models=_describe_robustness(given, setup, split, own),
            )
    return Evaluation(scores=scores, robustness=robustness)


def _describe_robustness(
    given: _Given, setup: Setup, split: Split, own: Sequence[Participant]
) -> dict[str, RobustnessDocument]:
    set_aside = set(given.set_aside.get(split.name, ()))
    counted = {one.qa_id for one in given.bench.questions if one.patient_id not in set_aside}
    findings = {
        one.name: Findings(
            pieces=one.robustness[split.name], scores=[score for score in one.scores if score.qa_id in counted]
        )
        for one in own
    }
    baseline = next((one.name for one in own if one.model is given.before and one.kind != "filter"), None)
    reference = next((one.name for one in own if one.kind == "retrained"), None)

    def beside(name: str | None, own_name: str) -> Findings | None:
        return None if name is None or name == own_name else findings[name]

    return {
        name: describe_block(
            name, found, setup, split, baseline=beside(baseline, name), reference=beside(reference, name)
        )
        for name, found in findings.items()
    }


def _describe_result(
    settings: EvaluationSettings, given: _Given, setup: Setup, taking_part: Sequence[Participant]
) -> EvaluationRecord:
    return EvaluationRecord(
        **dict(settings),
        before=None if given.before is None else given.before.name,
        models=[
            EvaluatedModel(
                name=one.name,
                kind=one.kind,
                split=None if one.split is None else one.split.name,
                digest=one.model.files.digest,
                made_from=one.model.made_from,
                method=one.model.method,
                learning_rate=one.model.learning_rate,
                chose_rate=one.model.chose_rate,
                trained_form=one.model.form,
                training=one.model.training,
            )
            for one in taking_part
        ],
        documents={
            split.name: DocumentNames(
                scores=scores_file(split), robustness=robustness_file(split) if setup.has_robustness else None
            )
            for split in given.splits
        },
    )
