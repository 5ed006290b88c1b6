"""The inputs of an audit, read and checked before any model is loaded.

Owns the order of those checks, and the part of the inputs that each room gets.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clinaudit.audit.choices import JudgeChoice
from clinaudit.audit.cluster.runner import require_usable
from clinaudit.audit.cohorts.secret_sizes import draw_secret
from clinaudit.audit.cohorts.stage import CohortChoice
from clinaudit.audit.gate.policy import Policy, load_policy
from clinaudit.audit.generation.stage import Decoding
from clinaudit.audit.judge.labels import Annotator
from clinaudit.audit.judge.scoring.labelled_texts import LabelledSet, load_labelled_set
from clinaudit.audit.judge.selection import make_judge, require_no_endpoint
from clinaudit.audit.judge.verdict import Judge
from clinaudit.audit.model.audited_model import AuditedModel, find_model
from clinaudit.audit.model.tokenizer import ModelTokenizer
from clinaudit.audit.run.directory import RunDirectory, scratch_directory
from clinaudit.audit.settings import AuditSettings
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.diagnoses import Diagnosis, load_panel
from clinaudit.reports.schema.results import TrainingLoss
from clinaudit.templates.profile import NoteProfile, load_profile
from clinaudit.templates.text_file import read_text_file

#: Above it the exponential of a loss is no number any more; no log has one.
_LARGEST_LOSS: Final = 700.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditInputs:
    """The checked inputs of an audit."""

    settings: AuditSettings
    model: AuditedModel
    tokenizer: ModelTokenizer
    corpus: Corpus
    profile: NoteProfile
    #: Every sensitive diagnosis: a patient with any of them is a candidate (paper, section 4).
    sensitive: tuple[Diagnosis, ...]
    #: The diagnoses that are audited.
    panel: tuple[Diagnosis, ...]
    policy: Policy
    judge: Judge
    #: The texts on which the judge is scored.
    labelled: LabelledSet
    second_judge: Judge | None
    training: tuple[TrainingLoss, ...] | None

    @property
    def annotator(self) -> Annotator:
        """The annotator of the notes: the judge, for every sensitive diagnosis."""
        return Annotator(self.settings.judge, self.judge, self.sensitive, self.corpus)

    @property
    def cohort_choice(self) -> CohortChoice:
        """How cohorts are matched."""
        settings = self.settings
        return CohortChoice(
            patients_per_cell=settings.patients_per_cell,
            matcher=settings.matcher,
            second_matcher=settings.second_matcher,
            controls=settings.controls,
            caliper=settings.caliper,
            seed=settings.seed,
            secret=draw_secret(self.corpus),
        )

    @property
    def decoding(self) -> Decoding:
        """How prompts are continued."""
        return Decoding(self.model, self.tokenizer, self.settings.max_new_tokens)


def load_inputs(settings: AuditSettings) -> AuditInputs:
    """Read and check all inputs; raises `ClinauditError` before a model is loaded."""
    endpoint = settings.judge_endpoint
    if "openai" not in (settings.judge, settings.second_judge):
        require_no_endpoint(endpoint)
    if settings.second_matcher == settings.matcher:
        raise UsageError(
            f"--second-matcher {settings.second_matcher} is the matcher itself; name the other one, or leave it out"
        )
    if settings.second_judge == settings.judge:
        raise UsageError(f"--second-judge {settings.second_judge} is the judge itself; name another, or leave it out")
    require_usable(settings.ray_address)
    model = find_model(
        settings.model,
        engine=settings.engine,
        tokenizer=settings.tokenizer,
        context_length=settings.context_length,
        approved_hosts=settings.phi_approved,
    )
    profile = load_profile(settings.template)
    sensitive = load_panel(settings.diagnoses)

    def make(choice: JudgeChoice) -> Judge:
        return make_judge(choice, endpoint, panel=sensitive, approved_hosts=settings.phi_approved, seed=settings.seed)

    judge = make(settings.judge)
    second = make(settings.second_judge) if settings.second_judge is not None else None
    panel = load_panel(settings.diagnoses, only=settings.diagnosis)
    policy = load_policy(settings.policy)
    labelled = load_labelled_set(settings.judge_labels, sensitive)
    training = read_training_log(settings.training_log) if settings.training_log else None
    corpus = read_corpus(settings.corpus, scratch=scratch_directory(RunDirectory(settings.out)))
    tokenizer = ModelTokenizer(model.tokenizer_directory)
    return AuditInputs(
        settings=settings,
        model=model,
        tokenizer=tokenizer,
        corpus=corpus,
        profile=profile,
        sensitive=sensitive,
        panel=panel,
        policy=policy,
        judge=judge,
        labelled=labelled,
        second_judge=second,
        training=training,
    )


def read_training_log(path: Path) -> tuple[TrainingLoss, ...]:
    """Read a training log, JSONL with one row for each epoch (the paper's Table 8); raises `BadInputError`."""
    lines = read_text_file(path, role="the training log").splitlines()
    rows: list[TrainingLoss] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            losses = {key: row.get(key) for key in ("epoch", "train_loss", "validation_loss", "perplexity")}
            rows.append(_with_perplexity(TrainingLoss.model_validate(losses)))
        except (ValueError, AttributeError):
            problems.append(f"{path.name} row {number}: needs numbers epoch, train_loss, validation_loss, perplexity")
    if problems:
        raise BadInputError(f"the training log {path.name} is not valid", problems)
    return tuple(rows)


def _with_perplexity(row: TrainingLoss) -> TrainingLoss:
    """Return a row with the perplexity of its validation loss (nats a token), where the log does not give it."""
    loss = row.validation_loss
    if row.perplexity is not None or loss is None or not 0 <= loss < _LARGEST_LOSS:
        return row
    return row.model_copy(update={"perplexity": math.exp(loss)})
