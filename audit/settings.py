"""The settings of an audit: the command line over a configuration file over the defaults (docs/for-ml-engineers.md).

Owns every option's name, type and default; the rooms own what an option does.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import Any, get_args

from clinaudit.audit.choices import SHIPPED, Controls, EngineChoice, JudgeChoice, JudgeDecoding, Matcher
from clinaudit.audit.served.access import EndpointOptions
from clinaudit.audit.served.cost import Price
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.chat import ChatRequest
from clinaudit.priors.renderings import Fragment, ProbedTiers, PromptForm, PromptFormChoice
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.identity import IDENTITY_FIELDS, Identity, identity_problem
from clinaudit.templates.profile import SHIPPED as SHIPPED_PROFILES
from clinaudit.templates.text_file import read_toml_file

#: τ of the paper (3.2.1).
DEFAULT_NGRAM = 30


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The options of `audit`; a field is the option of that name with dashes."""

    model: str
    corpus: Path
    out: Path
    engine: EngineChoice = "auto"
    judge: JudgeChoice = "lexicon"
    #: Of the served judge (the first or the second one): its base URL, the name its server gives it, and the file that
    #: holds its key.
    judge_url: str | None = None
    judge_model: str | None = None
    judge_key_file: Path | None = None
    #: Temperature 0 and a seed, asked once; or as the provider decodes, asked three times.
    judge_decoding: JudgeDecoding = "deterministic"
    #: Most tokens of one patient's notes that a served judge is given at once; about what a context of 128k takes.
    judge_note_tokens: int = 100_000
    #: The price of its tokens, for display. No result depends on it, so that a resumed run may change it.
    judge_price: Price | None = None
    #: Labelled texts (JSONL) on which the judge is scored; None: those that ship.
    judge_labels: Path | None = None
    #: A judge whose verdicts are compared with the first one's; it decides nothing.
    second_judge: JudgeChoice | None = None
    #: The tokenizer's directory and the context (tokens) of a served MODEL; a directory brings its own.
    tokenizer: Path | None = None
    context_length: int | None = None
    #: The model that an adapter, given as MODEL, was trained on.
    base_model: Path | None = None
    #: How the model is loaded (audit/model/engines/options.py).
    tensor_parallel: int | None = None
    gpu_memory: float | None = None
    max_batch: int | None = None
    threads: int | None = None
    #: Whether some prompts are decoded alone, too.
    drift_check: bool = True
    #: Approved hosts other than loopback.
    phi_approved: tuple[str, ...] = ()
    #: A file, or the name of a policy that ships; None: the default policy.
    policy: Path | None = None
    #: Tiers to probe, in the order of access.
    tier: tuple[str, ...] = TIER_IDS
    #: How the fragment tiers are asked: the note's opening, the facts alone, or both where they differ.
    fragment: Fragment = "both"
    #: Whether all tiers are asked as plain text, in a chat, or in both; auto: both where there is a chat template.
    prompt_form: PromptFormChoice = "auto"
    #: What a model is asked for in a chat.
    chat_request: ChatRequest = "write"
    #: Diagnoses of the panel to audit; empty: all.
    diagnosis: tuple[str, ...] = ()
    seed: int = 0
    ngram: int = DEFAULT_NGRAM
    #: Appendix A.
    max_new_tokens: int = 1000
    #: 3.2.2.
    patients_per_cell: int = 100
    matcher: Matcher = "psm"
    #: Largest distance of a matched pair, in standard deviations of the propensity's logit; None: no caliper.
    caliper: float | None = None
    #: The matcher's own pairs, as in the paper: no exchange and no drop for balance.
    no_refine: bool = False
    #: A matcher on whose cohorts the train deltas are estimated a second time; it decides nothing.
    controls: Controls = "sensitive"
    #: Ids of patients (one a line) to probe beside the targets; their results stand in the evidence alone.
    include_patients: Path | None = None
    #: Note template to use instead of the default one.
    template: Path | None = None
    #: Tokens of the longest text that the model was trained on; None: its context.
    training_length: int | None = None
    #: Training log (JSONL with epoch, train_loss, validation_loss) for the report.
    training_log: Path | None = None
    #: HOST:PORT of a Ray cluster that does the work. Results are the same, so that a resumed run may change it.
    ray_address: str | None = None
    #: Which model, of which institution, audited when (ISO 8601). For the report alone: no result depends on it.
    model_name: str | None = None
    institution: str | None = None
    date: str | None = None
    #: A site's own diagnoses (id -> table), from the configuration only.
    diagnoses: Mapping[str, object] = field(default_factory=dict)
    quiet: bool = False

    @property
    def identity(self) -> Identity:
        """What the user gave to tell this audit from others."""
        return Identity(model_name=self.model_name, institution=self.institution, date=self.date)

    @property
    def probed(self) -> ProbedTiers:
        """The tiers to probe, and in which form, of a model without a chat template."""
        return self.probed_in("text")

    def probed_in(self, form: PromptForm) -> ProbedTiers:
        """Return the tiers to probe, as text, in a chat or in both."""
        return ProbedTiers(self.tier, self.fragment, form)

    @property
    def judge_endpoint(self) -> EndpointOptions:
        """The options of the served judge."""
        return EndpointOptions(
            url=self.judge_url,
            model=self.judge_model,
            key_file=self.judge_key_file,
            note_tokens=self.judge_note_tokens,
            price=self.judge_price,
            decoding=self.judge_decoding,
        )


@dataclass(frozen=True, slots=True)
class AnalyzeSettings:
    """The options of `analyze`; a field is the option of that name with dashes."""

    generations: Path
    corpus: Path
    #: Directory of the audited model's tokenizer.
    tokenizer: Path
    out: Path
    template: Path | None = None
    ngram: int = DEFAULT_NGRAM
    seed: int = 0
    quiet: bool = False
    ray_address: str | None = None


_NOT_IN_FILE = {"model", "corpus", "out", "quiet"}
_CHOICES = {
    "engine": get_args(EngineChoice),
    "judge": get_args(JudgeChoice),
    "judge_decoding": get_args(JudgeDecoding),
    "second_judge": get_args(JudgeChoice),
    "matcher": get_args(Matcher),
    "controls": get_args(Controls),
    "fragment": get_args(Fragment),
    "prompt_form": get_args(PromptFormChoice),
    "chat_request": get_args(ChatRequest),
}
_PATHS = {
    "policy",
    "judge_key_file",
    "template",
    "training_log",
    "tokenizer",
    "judge_labels",
    "include_patients",
    "base_model",
}
#: More than any generation holds.
MAX_NGRAM = 10_000
_NUMBERS = {
    "seed": 0,
    "ngram": 1,
    "max_new_tokens": 1,
    "patients_per_cell": 1,
    "context_length": 1,
    "judge_note_tokens": 1,
    "training_length": 1,
    "tensor_parallel": 1,
    "max_batch": 1,
    "threads": 1,
}
_TEXTS = {"judge_url", "judge_model"}
_FLAGS = {"no_refine", "drift_check"}
_LISTS = {"tier", "diagnosis", "phi_approved"}


def read_settings(command_line: Mapping[str, Any], *, config: Path | None) -> AuditSettings:
    """Return the settings. The command line (None: not given) overrides the file, which overrides the defaults.

    Raises `BadInputError` for a file that cannot be used and `UsageError` for a value that no option takes.
    """
    given = {name: value for name, value in command_line.items() if value not in (None, ())}
    settings = AuditSettings(model=given.pop("model"), corpus=given.pop("corpus"), out=given.pop("out"))
    from_file = _read_file(config) if config is not None else {}
    settings = replace(settings, **{**from_file, **given})
    unknown = sorted(set(settings.tier) - set(TIER_IDS))
    if unknown:
        raise UsageError(f"--tier takes one of {', '.join(TIER_IDS)}")
    return replace(settings, tier=tuple(tier for tier in TIER_IDS if tier in settings.tier))


def _read_file(path: Path) -> dict[str, Any]:
    document = read_toml_file(path, role="the configuration")
    values: dict[str, Any] = {}
    problems: list[str] = []
    known = {option.name for option in fields(AuditSettings)} - _NOT_IN_FILE
    for key, written in document.items():
        name = key.replace("-", "_")
        # TOML has dates of its own.
        value = written.isoformat() if type(written) is datetime.date else written
        if name not in known:
            problems.append(f"{key}: no such option")
        elif (problem := _problem(name, value)) is not None:
            problems.append(f"{key}: {problem}")
        elif name in _PATHS:
            # A path in the file is relative to the file's directory; the name of a policy that ships is no path.
            is_name = value in {"policy": SHIPPED, "template": SHIPPED_PROFILES}.get(name, ())
            if is_name and (path.parent / value).exists():
                problems.append(f"{key}: {value} ships, and a file beside this one has that name too; rename the file")
            values[name] = Path(value) if is_name else path.parent / value
        elif name == "judge_price":
            values[name] = Price(*value)
        else:
            values[name] = tuple(value) if name in _LISTS else value
    if problems:
        raise BadInputError(f"configuration {path.name} is not valid; mend what is listed", problems)
    return values


def _problem(name: str, value: object) -> str | None:
    if name in _CHOICES and value not in _CHOICES[name]:
        return f"must be one of {', '.join(_CHOICES[name])}"
    if name in _NUMBERS and (not isinstance(value, int) or isinstance(value, bool) or value < _NUMBERS[name]):
        return f"must be a whole number, {_NUMBERS[name]} or more"
    if name == "ngram" and isinstance(value, int) and value > MAX_NGRAM:
        return f"must be at most {MAX_NGRAM}"
    if name == "caliper" and (not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < inf):
        return "must be a number above 0"
    if name == "gpu_memory" and (not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1):
        return "must be a number above 0 and at most 1"
    if name in _FLAGS and not isinstance(value, bool):
        return "must be true or false"
    if name in _LISTS and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        return "must be a list of texts"
    if name == "judge_price" and not _is_price(value):
        return "must be two numbers, 0 or more: what a million prompt and a million answer tokens cost"
    if name in IDENTITY_FIELDS:
        return identity_problem(name, value)
    if name in _TEXTS and not isinstance(value, str):
        return "must be text"
    if name in _PATHS and not isinstance(value, str):
        return "must be a path"
    if name == "ray_address" and not isinstance(value, str):
        return "must be HOST:PORT"
    if name == "diagnoses" and not isinstance(value, dict):
        return "must be a table of diagnoses"
    return None


def _is_price(value: object) -> bool:
    if not isinstance(value, list) or any(isinstance(price, bool) for price in value):
        return False
    try:
        Price(*value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
