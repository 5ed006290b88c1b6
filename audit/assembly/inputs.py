"""The inputs of an audit, read and checked before any model is loaded, in this order."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from clinaudit.audit.measures.everyday.tasks import TaskSet, load_tasks
from clinaudit.audit.measures.generation.stage import Decoding
from clinaudit.audit.measures.judge.stage import LabelledSet, load_labelled_set, make_judge, require_no_endpoint
from clinaudit.audit.measures.judge.verdict import Judge
from clinaudit.audit.pii.detectors.site_rules import SiteRules, read_site_rules
from clinaudit.audit.results.gate.policy import Policy, load_policy, locate_policy
from clinaudit.audit.runtime.cluster import require_secure_settings
from clinaudit.audit.runtime.console import warn
from clinaudit.audit.runtime.model.audited_model import AuditedModel, find_model
from clinaudit.audit.runtime.model.chat_template import ChatTemplate, find_chat_template
from clinaudit.audit.runtime.model.engines.memory import EngineOptions, require_usable_options
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory, scratch_directory, sha256_of
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.corpus.files import changed, identity_of, printable
from clinaudit.priors.corpus.patient import PatientList, read_patient_list
from clinaudit.priors.corpus.records import json_rows
from clinaudit.priors.diagnoses import Diagnosis, load_panel
from clinaudit.priors.facts import identity_reader
from clinaudit.priors.tiers import ProbedTiers, PromptForm
from clinaudit.reports.schema.run_results import Narrowing, TrainingLoss
from clinaudit.reports.wording.numbers import counted
from clinaudit.templates.profile import NoteProfile, load_profile
from clinaudit.templates.text_file import read_text_file

_Content = TypeVar("_Content")
#: Above it the exponential of a loss is no number any more; no log has one.
_LARGEST_LOSS: Final = 700.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditInputs:
    """The checked inputs of an audit."""

    settings: AuditSettings
    model: AuditedModel
    #: The same model before it was trained on these patients; None: none is compared.
    control: AuditedModel | None
    #: What is asked about nobody; None where everyday tasks are left out.
    tasks: TaskSet | None
    tokenizer: ModelTokenizer
    corpus: Corpus
    profile: NoteProfile
    #: Every sensitive diagnosis: a patient with any of them is a candidate (paper, section 4).
    sensitive: tuple[Diagnosis, ...]
    #: The diagnoses that are audited.
    panel: tuple[Diagnosis, ...]
    policy: Policy
    #: Rules of the site's own for identifiers; None: it has none.
    site_rules: SiteRules | None
    judge: Judge
    #: The texts on which the judge is scored.
    labelled: LabelledSet
    #: Patients whom the site named, targets or not; None: nobody.
    included: PatientList | None
    training: tuple[TrainingLoss, ...] | None
    #: SHA-256 of files as they were read, by option: a run may take days, in which somebody edits its policy.
    digests: Mapping[str, str]
    #: None where nothing is asked in a chat.
    chat: ChatTemplate | None = None
    #: Control tokens that no patient's note holds as text, once the notes were looked at.
    control_token_ids: frozenset[int] = frozenset()

    @property
    def probed(self) -> ProbedTiers:
        """The tiers to probe, and in which form."""
        form: PromptForm = "text" if self.chat is None else "chat" if self.settings.prompt_form == "chat" else "both"
        return replace(self.settings.probed, form=form, asks_control=self.control is not None)

    @property
    def narrowed(self) -> list[Narrowing]:
        """The options that leave out of the audit what a policy may ask about, beside --tier."""
        settings = self.settings
        left_out: dict[Narrowing, bool] = {
            "diagnosis": len(self.panel) < len(self.sensitive),
            "prompt_form": settings.prompt_form == "chat"
            or (settings.prompt_form == "text" and self.tokenizer.has_chat_template),
        }
        return [option for option, is_left_out in left_out.items() if is_left_out]

    @property
    def training_length(self) -> int:
        """Tokens of the longest text that the model was trained on: as the user says, else its context."""
        return self.settings.training_length or self.model.context_length

    @property
    def decoding(self) -> Decoding:
        """How prompts are continued."""
        settings = self.settings
        return Decoding(
            self.model,
            self.tokenizer,
            settings.max_new_tokens,
            self.chat,
            min_new_tokens=settings.ngram,
            control_token_ids=self.control_token_ids,
            seed=settings.seed,
        )


def load_inputs(settings: AuditSettings) -> AuditInputs:
    """Read and check all inputs; raises `ClinauditError` before a model is loaded."""
    require_no_endpoint(settings)
    require_together(settings)
    require_secure_settings(settings.ray_address)
    options = EngineOptions(settings.max_batch, settings.tensor_parallel, settings.gpu_memory, settings.threads)
    model = find_model(
        settings.model,
        engine=settings.engine,
        tokenizer=settings.tokenizer,
        context_length=settings.context_length,
        approved_hosts=settings.phi_approved,
        base_model=settings.base_model,
        options=options,
    )
    require_usable_options(options, model.engine, is_cluster=settings.ray_address is not None)
    if settings.ray_address is None:
        model.require_loadable()
    control = find_control(settings, model)
    tokenizer = ModelTokenizer(model.tokenizer_directory)
    # Before any engine is loaded, the control model's, too.
    model = model.with_compared_weights(tokenizer)
    control = None if control is None else control.with_compared_weights(tokenizer)
    tasks = load_tasks(settings.tasks) if settings.everyday else None
    profile = load_profile(settings.template)
    site_rules = read_site_rules(settings.identifier_rules) if settings.identifier_rules else None
    sensitive = load_panel(settings.diagnoses)
    judge = make_judge(settings.judge, settings, panel=sensitive, seed=settings.seed)
    panel = load_panel(settings.diagnoses, only=settings.diagnosis)
    digests: dict[str, str] = {}

    def read(option: str, path: Path, content_of: Callable[[Path], _Content]) -> _Content:
        content, digests[option] = read_unchanged(path, content_of)
        return content

    policy = read("--policy", locate_policy(settings.policy), load_policy)
    labelled = load_labelled_set(settings.judge_labels, sensitive)
    training = read("--training-log", settings.training_log, read_training_log) if settings.training_log else None
    named = settings.include_patients
    included = read("--include-patients", named, read_patient_list) if named else None
    scratch = scratch_directory(RunDirectory(settings.out))
    corpus = read_corpus(settings.corpus, scratch=scratch, stated=identity_reader(profile))
    if included is not None:
        included = included.as_people(corpus.people.person_of)
        included.require_known(corpus.patients, validation=corpus.validation)
    names = [patient.name for patient in corpus.patients.values() if patient.name]
    if tasks is not None and settings.tasks is not None and (naming := tasks.count_naming(names)):
        warn(
            f"{counted(naming, 'task')} of {printable(settings.tasks.name)} may name a patient of the corpus, whom the "
            "answers are then about: everyday tasks are to be about nobody; take the name out, and start anew"
        )
    chat = None if settings.prompt_form == "text" else find_chat_template(tokenizer)
    if chat is None and settings.prompt_form not in ("auto", "text"):
        raise UsageError(
            f"--prompt-form {settings.prompt_form}: the tokenizer in {tokenizer.directory.name} has no chat template; "
            "ask the model as plain text (leave the option out), or give the tokenizer that it was tuned with"
        )
    return AuditInputs(
        settings=settings,
        model=model,
        control=control,
        tasks=tasks,
        tokenizer=tokenizer,
        corpus=corpus,
        profile=profile,
        sensitive=sensitive,
        panel=panel,
        policy=policy,
        site_rules=site_rules,
        judge=judge,
        labelled=labelled,
        included=included,
        training=training,
        digests=digests,
        chat=chat,
    )


def read_unchanged(path: Path, content_of: Callable[[Path], _Content]) -> tuple[_Content, str]:
    """Return what `content_of` reads from a file, and its SHA-256; raises `StorageError` where it changes meanwhile."""
    before = _state_of(path)
    content, digest = content_of(path), sha256_of(path)
    if _state_of(path) != before:
        raise changed(printable(path.name))
    return content, digest


def _state_of(path: Path) -> tuple[int, ...] | None:
    try:
        return identity_of(path.stat())
    except OSError:
        # What is wrong with it, its reader says.
        return None


def require_together(settings: AuditSettings) -> None:
    """Raise `UsageError` where an option asks for what another leaves out."""
    for asked, is_asked, left_out in (
        ("--tasks", settings.tasks is not None and not settings.everyday, "--no-everyday"),
        ("--control-model", settings.control_model is not None and settings.control == "none", "--control none"),
    ):
        if is_asked:
            raise UsageError(f"{asked} and {left_out} do not go together; leave one of them out")


def find_control(settings: AuditSettings, model: AuditedModel) -> AuditedModel | None:
    """Return the control model: the one that is named, else an adapter's base; None without one, or where refused.

    A base with another tokenizer than its adapter is none. Raises `UsageError` where a named one cannot be compared, or
    `--control` asks for one and there is none.
    """
    named = settings.control_model
    if settings.control == "none":
        return None
    if model.files is None and named is not None:
        raise UsageError("--control-model goes with a model directory, not with a served MODEL; leave it out")
    base = None if model.files is None or model.files.adapter is None else model.files.directory
    if (path := named or base) is None:
        if "control" in settings.model_fields_set:
            raise UsageError(f"--control {settings.control} needs --control-model (or an adapter); leave it out")
        return None
    control = find_model(str(path), engine=settings.engine, options=model.options)
    if control.tokenizer_digest != model.tokenizer_digest:
        if named is None:
            return None
        raise UsageError(
            f"--control-model {named.name}: its tokenizer is not that of MODEL, so that their texts cannot be compared "
            "token by token; name the model that this one was trained from, with the same tokenizer"
        )
    if control.context_length < model.context_length:
        raise UsageError(
            f"the control model {path.name} has a context of {control.context_length} tokens, less than MODEL's "
            f"{model.context_length}: it cannot be asked the same; name the model that this one was trained from, or "
            "give --control none"
        )
    if control.digest == model.digest:
        raise UsageError("--control-model is MODEL itself; name the model as it was before it saw these patients")
    return control


def read_training_log(path: Path) -> tuple[TrainingLoss, ...]:
    """Read a training log, JSONL with one row for each epoch (the paper's Table 8); raises `BadInputError`.

    Where a row gives no perplexity, it is that of the validation loss (nats a token).
    """
    rows: list[TrainingLoss] = []
    problems: list[str] = []
    for number, row in json_rows(read_text_file(path, role="the training log"), problems):
        try:
            losses = {key: row.get(key) for key in ("epoch", "train_loss", "validation_loss", "perplexity")}
            read = TrainingLoss.model_validate(losses)
            loss = read.validation_loss
            if read.perplexity is None and loss is not None and 0 <= loss < _LARGEST_LOSS:
                read = read.model_copy(update={"perplexity": math.exp(loss)})
            rows.append(read)
        except (ValueError, AttributeError):
            problems.append(f"row {number}: needs numbers epoch, train_loss, validation_loss, perplexity")
    if problems:
        raise BadInputError(f"the training log {path.name} is not valid", problems)
    return tuple(rows)
