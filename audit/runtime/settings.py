"""The settings of an audit: every option is declared here once, with its type, bounds, default and help.

The options of the command line, the configuration file and the keywords of `clinaudit.run_audit` are these fields. The
command line goes over a configuration file, which goes over the defaults (docs/for-ml-engineers.md).
"""

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Self

import pydantic
from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, Strict, ValidationError

from clinaudit.audit.runtime.choices import SHIPPED, Control, Controls, EngineChoice, JudgeChoice, JudgeDecoding
from clinaudit.audit.runtime.console import ProgressForm
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.tiers import TIER_IDS, ProbedTiers, PromptFormChoice
from clinaudit.reports.schema.attacks import Release
from clinaudit.reports.schema.identity import IDENTITY_FIELDS, Identity, identity_problem
from clinaudit.templates.profile import SHIPPED as SHIPPED_PROFILES
from clinaudit.templates.text_file import read_toml_file

#: More than any generation holds.
MAX_NGRAM: Final = 10_000


def option(default: Any, help_text: str, *, metavar: str | None = None, shown: str | None = None) -> Any:
    """Declare an option; `shown` is what its help says of a default that the field does not hold."""
    extra: dict[str, JsonValue] = {} if metavar is None else {"metavar": metavar}
    return Field(default, description=help_text, json_schema_extra=extra | ({} if shown is None else {"shown": shown}))


def _in_order_of_access(tiers: tuple[str, ...]) -> tuple[str, ...]:
    if set(tiers) - set(TIER_IDS):
        raise ValueError(f"must be of {', '.join(TIER_IDS)}")
    if not tiers:
        raise ValueError(f"must name one of {', '.join(TIER_IDS)}")
    return tuple(tier for tier in TIER_IDS if tier in tiers)


def _identity_text(value: object, field: pydantic.ValidationInfo) -> object:
    problem = None if value is None else identity_problem(field.field_name or "", value)
    if problem is not None:
        raise ValueError(problem)
    return value


#: Numbers are strict: true would be read as 1.
Whole = Annotated[int, Strict(), Ge(0)]
Positive = Annotated[int, Strict(), Ge(1)]
Workers = Annotated[Positive, Le(1024)]
Share = Annotated[float, Strict(), Gt(0), Le(1)]
IdentityText = Annotated[str | None, BeforeValidator(_identity_text)]


class Options(BaseModel):
    """A group of options: frozen, and unknown ones are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class ReadingOptions(Options):
    """How notes are read and matched; of `analyze`, too."""

    template: Path | None = option(None, "Profile of the notes' layout: a file, or one that ships.", shown="soap")
    identifier_rules: Path | None = option(None, "The site's own identifiers (docs/mask.md).", metavar="FILE")
    ngram: Annotated[Positive, Le(MAX_NGRAM)] = option(30, "Least length of a match, in tokens.")
    seed: Whole = option(0, "Seed of every random choice.")
    #: A Ray cluster that does the work. Results are the same, so that a resumed run may change it.
    ray_address: str | None = option(None, "Ray cluster that does the work.", metavar="HOST:PORT")
    #: Results are the same, so that a resumed run may change it.
    processes: Workers | None = option(None, "Processes of this machine for the work.", shown="one per core")
    progress: ProgressForm = option("text", "Progress on stderr: lines, or JSON objects.")
    quiet: bool = option(False, "Print only the verdict and the path of the report.")


class ModelOptions(Options):
    """How the audited model is loaded and decoded (audit/runtime/model/engines/memory.py)."""

    engine: EngineChoice = option("auto", "auto: vLLM if it is installed.")
    tokenizer: Path | None = option(None, "Tokenizer of a served MODEL.", metavar="DIR")
    context_length: Positive | None = option(None, "Context of a served MODEL, in tokens.")
    base_model: Path | None = option(None, "The model that an adapter (MODEL) was trained on.", metavar="DIR")
    #: Appendix A.
    max_new_tokens: Positive = option(1000, "Most tokens of an answer.")
    max_batch: Positive | None = option(None, "Prompts decoded at once.", shown="64")
    threads: Workers | None = option(None, "CPU threads to decode with.", shown="by the model's size")
    tensor_parallel: Positive | None = option(None, "GPUs to spread vLLM over.", metavar="N")
    gpu_memory: Share | None = option(None, "Share of a GPU's memory for vLLM.", metavar="SHARE", shown="vLLM's own")
    skip_self_test: bool = option(False, "Do not test model and engine first.")
    training_length: Positive | None = option(
        None, "Longest text that MODEL was trained on.", metavar="TOKENS", shown="its context"
    )


class ScoringOptions(Options):
    """What an insider with the weights gets: how likely the model holds the notes, and which model it was before."""

    score: bool = option(True, "Score the targets' notes.")
    control_model: Path | None = option(None, "MODEL before its training.", metavar="DIR", shown="an adapter's base")
    control: Control = option("full", "Ask and score it, too, or not: none.")
    everyday: bool = option(True, "Ask everyday tasks, too.")
    tasks: Path | None = option(None, "More everyday tasks (JSONL).", metavar="FILE")


class PromptOptions(Options):
    """Who is asked about, and how."""

    tier: Annotated[tuple[str, ...], pydantic.AfterValidator(_in_order_of_access)] = option(
        TIER_IDS, f"One of {', '.join(TIER_IDS)} (repeatable).", metavar="TIER", shown="all"
    )
    prompt_form: PromptFormChoice = option("auto", "auto: both, where there is a chat template.")
    draws: Annotated[Whole, Le(1000)] = option(0, "More answers to each prompt, drawn at temperature 1.")
    diagnosis: tuple[str, ...] = option((), "Audit this diagnosis only (repeatable).", metavar="ID", shown="all")
    #: 3.2.2.
    patients_per_cell: Positive = option(100, "Patients in each cell of a cohort.")
    controls: Controls = option("sensitive", "Candidates: patients with a panel diagnosis, or any.")
    include_patients: Path | None = option(None, "Ask about these ids, too; they enter no figure.", metavar="FILE")
    #: A site's own diagnoses (id -> table), from the configuration only.
    diagnoses: Mapping[str, object] = Field(default_factory=dict)


class ServedModelOptions(Options):
    """A served model that is asked questions: as the judge, or by the command that has these options."""

    served_url: str | None = option(None, "Where a model is served: http://127.0.0.1:8000/v1.", metavar="URL")
    served_model: str | None = option(None, "The model's full name there.", metavar="NAME")
    served_key_file: Path | None = option(None, "File with the server's key, which others cannot read.", metavar="FILE")
    phi_approved: tuple[str, ...] = option((), "Another host that may get PHI (repeatable).", metavar="HOST")


class JudgeOptions(ServedModelOptions):
    """Who judges, and how well."""

    judge: JudgeChoice = option("lexicon", "openai: the served model.")
    judge_decoding: JudgeDecoding = option("deterministic", "provider-default: without temperature and seed.")
    #: About what a context of 128k takes.
    judge_note_tokens: Positive = option(100_000, "Most tokens of a patient's notes at once.", metavar="TOKENS")
    judge_labels: Path | None = option(
        None, "Your own labelled texts (JSONL).", metavar="LABELS", shown="those that ship"
    )


class IdentityOptions(Options):
    """Which model, of which institution, audited when, for which use. For the report alone: no result depends on it."""

    model_name: IdentityText = option(None, "Name and version of the model, for the report.", metavar="TEXT")
    institution: IdentityText = option(None, "Whose audit this is, for the report.", metavar="TEXT")
    date: IdentityText = option(None, "Date of the audit; never taken from the clock.", metavar="YYYY-MM-DD")
    intended_use: IdentityText = option(None, "What the model is for, in one line.", metavar="TEXT")

    @property
    def identity(self) -> Identity:
        """What the user gave to tell this audit from others."""
        return Identity(**{name: getattr(self, name) for name in IDENTITY_FIELDS})


class ReportOptions(IdentityOptions):
    """What decides, and what the report says of the audit."""

    policy: Path | None = option(None, f"{', '.join(SHIPPED)}, or a TOML file.", metavar="FILE", shown="default")
    training_log: Path | None = option(None, "A row per epoch (JSONL), for the report.")
    release: Release | None = option(None, "How the model leaves: an API, its weights, or not at all.")


class AuditSettings(ReadingOptions, ModelOptions, ScoringOptions, PromptOptions, JudgeOptions, ReportOptions):
    """The options of `audit`. A stage takes the group that it needs."""

    model: str
    corpus: Path
    out: Path

    @property
    def probed(self) -> ProbedTiers:
        """The tiers to probe, and in which form, of a model without a chat template."""
        return ProbedTiers(self.tier, draws=self.draws)

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Return the settings of some values; raises `UsageError` that names all that are wrong."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise UsageError("; ".join(_problems(error))) from None


class AnalyzeSettings(ReadingOptions):
    """The options of `analyze`."""

    generations: Path
    corpus: Path
    #: Directory of the audited model's tokenizer.
    tokenizer: Path
    out: Path


#: Given as arguments, or for one command at a time.
_NOT_IN_FILE: Final = {"model", "corpus", "out", "progress", "quiet"}
_SHIPPED: Final[Mapping[str, tuple[str, ...]]] = {"policy": tuple(SHIPPED), "template": tuple(SHIPPED_PROFILES)}
#: Instead of pydantic's words, which are Python's.
_WORDS: Final = {
    "extra_forbidden": "no such option", "bool_type": "must be true or false", "int_type": "must be a whole number",
    "float_type": "must be a number", "string_type": "must be text", "tuple_type": "must be a list of texts",
    "mapping_type": "must be a table", "dict_type": "must be a table", "is_instance_of": "must be a path",
}  # fmt: skip


def read_settings(command_line: Mapping[str, Any], *, config: Path | None) -> AuditSettings:
    """Return the settings. The command line (None: not given) overrides the file, which overrides the defaults.

    Raises `BadInputError` for a file that cannot be used and `UsageError` for a value that no option takes.
    """
    given = {name: value for name, value in command_line.items() if value not in (None, ())}
    from_file = _read_file(config) if config is not None else {}
    return AuditSettings.of(**{**from_file, **given})


def _read_file(path: Path) -> dict[str, Any]:
    document = read_toml_file(path, role="the configuration")
    values: dict[str, Any] = {}
    for key, value in document.items():
        name = key.replace("-", "_")
        field = AuditSettings.model_fields.get(name)
        if type(value) is datetime.date:
            # TOML has dates of its own.
            values[name] = value.isoformat()
        elif isinstance(value, list):
            values[name] = tuple(value)
        elif field is not None and field.annotation == Path | None and isinstance(value, str):
            # Relative to the file's directory.
            values[name] = Path(value) if value in _SHIPPED.get(key, ()) else path.parent / value
        else:
            values[name] = value
    needed = {"model": "", "corpus": Path(), "out": Path()}
    problems = [f"{name.replace('_', '-')}: no such option" for name in _NOT_IN_FILE & set(values)]
    try:
        AuditSettings.model_validate({**values, **needed}, strict=True)
    except ValidationError as error:
        problems += [problem.replace("_", "-", problem.partition(":")[0].count("_")) for problem in _problems(error)]
    for name, shipped in _SHIPPED.items():
        if document.get(name) in shipped and (path.parent / document[name]).exists():
            problems.append(
                f"{name}: {document[name]} ships, and a file beside this one has that name too; rename the file"
            )
    if problems:
        places = {key: place for place, key in enumerate(document)}
        problems.sort(key=lambda problem: places.get(problem.partition(":")[0], len(places)))
        raise BadInputError(f"configuration {path.name} is not valid; mend what is listed", problems)
    return values


def _problems(error: ValidationError) -> list[str]:
    """Return a line for each value that is not valid; it quotes none."""
    lines = []
    for found in error.errors(include_url=False, include_context=False, include_input=False):
        name = str(found["loc"][0])
        words = _WORDS.get(found["type"], found["msg"].removeprefix("Value error, "))
        switch = AuditSettings.model_fields.get(name.removeprefix("no_"))
        if found["type"] == "extra_forbidden" and switch is not None and switch.annotation is bool:
            words += f"; write {name.removeprefix('no_').replace('_', '-')} = false"
        lines.append(f"{name}: {words.replace('Input should be', 'must be')}")
    return list(dict.fromkeys(lines))
