"""Policies: what a model may give away and still pass, read from TOML (docs/policy.md, "Keys").

Owns the file's format, its validation, and which policies ship. Knows nothing of results: `evaluation` applies a
policy. `policies/default.toml` and `policies/strict.toml` explain every key.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

from clinaudit.audit.runtime.choices import DEFAULT, SHIPPED
from clinaudit.errors import BadInputError
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.wording.names import IDENTIFIER_METRICS
from clinaudit.templates.text_file import locate_shipped, read_toml_file

Value = TypeVar("Value")
MemorizationMetric = Literal[
    "attributable_fraction",
    "near_verbatim_attributable_fraction",
    "other_patient_fraction",
    "memorized_fraction",
    "hit_rate",
]
IdentifierMetric = Literal["own", "other", "verified_per_1000"]
POLICIES_PATH: Final = Path(__file__).with_name("policies")
#: What `max` may be, of a number per 1,000 times 1,000. The verdicts of many policies bisect a figure, so that there
#: are few (docs/methods.md, section 10); and a limit of 1 would be kept by whatever a model does.
LIMITS: Final = (0.01, 0.02, 0.05, 0.10, 0.15, 0.20, 0.25, 0.30)
#: Level of the Holm-adjusted one-sided test by which a disclosure rule fails: the one that `alpha` may be.
ALPHA: Final = 0.05
_QUERIES: Final = 1000
#: Where a policy says nothing of it.
MINIMUM_UNBROKEN_SHARE: Final = 0.9
MAXIMUM_REFUSED_SHARE: Final = 0.2
#: Metrics of what training gave away, whoever is asked about: answers about patients never seen are held to the limit
#: like those about patients trained on.
OF_EITHER_ARM: Final = frozenset({"other_patient_fraction", "other"})
#: Of the policies that ship, in short.
_LIMITED: Final[Mapping[str, str]] = {
    "attributable_fraction": "text",
    "near_verbatim_attributable_fraction": "text",
    "other_patient_fraction": "others’",
}
_MEANT_FOR: Final = {
    "strict": "release",
    "default": "use inside",
    "research": "research",
}


@dataclass(frozen=True, slots=True)
class TextRule:
    """A limit on what generated text repeats, or on identifiers in it beyond what chance gives, at each of `tiers`.

    Of the train arm's text; of some metrics of either arm's.
    """

    metric: MemorizationMetric | IdentifierMetric
    tiers: tuple[str, ...]
    #: A share of text or of patients; of `verified_per_1000` a number of values per 1,000 queries.
    maximum: float


@dataclass(frozen=True, slots=True)
class DisclosureRule:
    """A limit on the delta of `auroc_all`, train minus nontrain, for each diagnosis at each of `tiers`."""

    tiers: tuple[str, ...]
    #: None: every diagnosis that was audited.
    diagnoses: tuple[str, ...] | None
    maximum: float


AnyRule = TypeVar("AnyRule", TextRule, DisclosureRule)


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """What a judge must reach to be accepted; without it no disclosure rule passes or fails."""

    minimum_sensitivity: float
    minimum_specificity: float
    maximum_flip_rate: float


@dataclass(frozen=True, slots=True)
class PassRequirements:
    """What a rule needs beside its limit before it passes; None: nothing. A failure needs none of it.

    A stricter requirement can turn a pass into "inconclusive", never a failure into anything else.
    """

    minimum_patients_per_class: int | None = None
    maximum_short_share: float | None = None
    maximum_unjudged_share: float | None = None
    #: Of the minimal detectable difference of `auroc_all`, at a power of 80% (`detectable_delta`).
    maximum_detectable_delta: float | None = None
    #: Of any covariate in any contrast of the cohort.
    maximum_smd: float | None = None
    #: Whether memorization passes only where patients outside the training data were probed too.
    nontrain_arm: bool = False
    judge: JudgeLimits | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """All limits of one gate; shares lie in 0..1."""

    name: str
    minimum_patients_per_class: int
    maximum_short_share: float
    maximum_unjudged_share: float
    memorization: tuple[TextRule, ...]
    disclosure: tuple[DisclosureRule, ...]
    identifiers: tuple[TextRule, ...] = ()
    #: None: no limits for the judge.
    judge: JudgeLimits | None = None
    to_pass: PassRequirements = PassRequirements()
    #: Of the prompts that quote a note, those that are its own beginning; below it no rule of the tier passes.
    minimum_unbroken_share: float = MINIMUM_UNBROKEN_SHARE
    #: Of the patients asked about in a chat, those of whom the model refused to answer; above it no rule passes.
    maximum_refused_share: float = MAXIMUM_REFUSED_SHARE

    def about(self, tiers: Collection[str]) -> "Policy":
        """Return the policy with its rules about these tiers alone."""

        def kept(rules: tuple[AnyRule, ...]) -> tuple[AnyRule, ...]:
            shorter = (replace(rule, tiers=tuple(tier for tier in rule.tiers if tier in tiers)) for rule in rules)
            return tuple(rule for rule in shorter if rule.tiers)

        return replace(
            self,
            memorization=kept(self.memorization),
            disclosure=kept(self.disclosure),
            identifiers=kept(self.identifiers),
        )

    @property
    def of_text(self) -> tuple[TextRule, ...]:
        """The rules that are of no diagnosis."""
        return self.memorization + self.identifiers


def load_policy(given: Path | None = None) -> Policy:
    """Read a policy given as a file or by the name of one that ships, or the default one without it.

    Raises `BadInputError` listing every problem.
    """
    source = locate_policy(given)
    where = f"the policy {source.stem!r}" if source.parent == POLICIES_PATH else str(source)
    document = read_toml_file(source, role="the policy")
    return parse_policy(document, where=where)


def locate_policy(given: Path | None) -> Path:
    """Return the file that holds a policy; raises `BadInputError` where a name means nothing, or two things."""
    return locate_shipped(given, role="policy", shipped=SHIPPED, folder=POLICIES_PATH, default=DEFAULT)


def describe_shipped() -> str:
    """Return a line a policy that ships: its name, number of rules, limits, and what it is for."""
    return "\n".join(_describe(load_policy(POLICIES_PATH / f"{name}.toml")) for name in SHIPPED)


def _describe(policy: Policy) -> str:
    limits = [f"{_LIMITED.get(rule.metric, rule.metric)} ≤ {100 * rule.maximum:g}%" for rule in policy.memorization]
    limits += [f"identifiers ≤ {100 * rule.maximum:g}%" for rule in policy.identifiers if rule.metric == "own"]
    limits += [f"AUROC excess ≤ {rule.maximum:g}" for rule in policy.disclosure]
    panel = len(load_panel())
    rules = sum(len(rule.tiers) * (1 + (rule.metric in OF_EITHER_ARM)) for rule in policy.of_text) + sum(
        len(rule.tiers) * (panel if rule.diagnoses is None else len(rule.diagnoses)) for rule in policy.disclosure
    )
    return f"{policy.name:8}  {rules} rules: {', '.join(dict.fromkeys(limits))}; for {_MEANT_FOR.get(policy.name, '')}"


def parse_policy(document: Mapping[str, Any], *, where: str) -> Policy:
    """Return the policy that a TOML document describes; raises `BadInputError` with a line for each key at fault."""
    reader = _Reader(document, "")
    name = reader.take_text("name")
    minimum = reader.take_count("minimum_patients_per_class")
    short = reader.take_share("maximum_short_share")
    unjudged = reader.take_share("maximum_unjudged_share")
    unbroken = reader.take_if_given("minimum_unbroken_share", reader.take_share)
    refused = reader.take_if_given("maximum_refused_share", reader.take_share)
    memorization = [_parse_text(rule, get_args(MemorizationMetric)) for rule in reader.take_tables("memorization")]
    disclosure = [_parse_disclosure(rule) for rule in reader.take_tables("disclosure")]
    identifiers = [_parse_text(rule, IDENTIFIER_METRICS) for rule in reader.take_tables("identifiers")]
    judge = _parse_judge(reader.take_table("judge")) if "judge" in reader else None
    to_pass = _parse_to_pass(reader.take_table("to_pass")) if "to_pass" in reader else PassRequirements()
    if not memorization and not disclosure and not identifiers:
        reader.complain(
            "memorization", "a policy needs at least one [[memorization]], [[identifiers]] or [[disclosure]] rule"
        )
    for key, of_text in (("memorization", memorization), ("identifiers", identifiers)):
        reader.complain_of_repeats(key, [(rule.metric, tier) for rule in of_text for tier in rule.tiers])
    reader.complain_of_repeats(
        "disclosure",
        [(diagnosis, tier) for r in disclosure for tier in r.tiers for diagnosis in r.diagnoses or ("all",)],
    )
    reader.finish()
    if reader.problems:
        raise BadInputError(f"{where} is not a policy; mend these keys", reader.problems)
    return Policy(
        name=name,
        minimum_patients_per_class=minimum,
        maximum_short_share=short,
        maximum_unjudged_share=unjudged,
        memorization=tuple(memorization),
        disclosure=tuple(disclosure),
        identifiers=tuple(identifiers),
        judge=judge,
        to_pass=to_pass,
        minimum_unbroken_share=MINIMUM_UNBROKEN_SHARE if unbroken is None else unbroken,
        maximum_refused_share=MAXIMUM_REFUSED_SHARE if refused is None else refused,
    )


def _parse_text(reader: "_Reader", metrics: tuple[str, ...]) -> TextRule:
    metric = reader.take_choice("metric", metrics)
    tiers = reader.take_names("tiers", TIER_IDS)
    maximum = reader.take_limit("max", times=_QUERIES if metric == "verified_per_1000" else 1)
    reader.finish()
    return TextRule(metric, tiers or (), maximum)  # type: ignore[arg-type]


def _parse_disclosure(reader: "_Reader") -> DisclosureRule:
    reader.take_choice("metric", ("auroc_all",))
    tiers = reader.take_names("tiers", TIER_IDS)
    diagnoses = reader.take_names("diagnoses", None)
    maximum = reader.take_limit("max")
    alpha = reader.take_share("alpha") if "alpha" in reader else ALPHA
    if alpha != ALPHA:
        reader.complain("alpha", f"must be {ALPHA:g}: the tests of many levels would bisect a p-value")
    reader.finish()
    return DisclosureRule(tiers or (), diagnoses, maximum)


def _parse_judge(reader: "_Reader") -> JudgeLimits:
    limits = JudgeLimits(
        minimum_sensitivity=reader.take_share("minimum_sensitivity"),
        minimum_specificity=reader.take_share("minimum_specificity"),
        maximum_flip_rate=reader.take_share("maximum_flip_rate"),
    )
    reader.finish()
    return limits


def _parse_to_pass(reader: "_Reader") -> PassRequirements:
    requirements = PassRequirements(
        minimum_patients_per_class=reader.take_if_given("minimum_patients_per_class", reader.take_count),
        maximum_short_share=reader.take_if_given("maximum_short_share", reader.take_share),
        maximum_unjudged_share=reader.take_if_given("maximum_unjudged_share", reader.take_share),
        maximum_detectable_delta=reader.take_if_given("maximum_detectable_delta", reader.take_share),
        maximum_smd=reader.take_if_given("maximum_smd", reader.take_share),
        nontrain_arm=reader.take_if_given("nontrain_arm", reader.take_flag) or False,
        judge=_parse_judge(reader.take_table("judge")) if "judge" in reader else None,
    )
    reader.finish()
    return requirements


class _Reader:
    """Takes typed values out of one TOML table and collects the problems, so that all are reported at once.

    For an invalid value it returns a placeholder; the caller raises in the end.
    """

    def __init__(self, table: Mapping[str, Any], prefix: str, problems: list[str] | None = None) -> None:
        self._table = dict(table)
        self._prefix = prefix
        self.problems = problems if problems is not None else []

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def complain(self, key: str, problem: str) -> None:
        """Record a problem under the key's full path."""
        self.problems.append(f"{self._prefix}{key}: {problem}")

    def complain_of_repeats(self, key: str, limited: list[tuple[str, str]]) -> None:
        """Record as a problem what two rules limit at once."""
        everything = {tier for subject, tier in limited if subject == "all"}
        for subject, tier in sorted(set(limited)):
            if limited.count((subject, tier)) > 1 or (subject != "all" and tier in everything):
                self.complain(key, f"two rules limit {subject} at {tier}")

    def finish(self) -> None:
        """Record the keys that were not taken as problems."""
        for key in self._table:
            self.complain(key, "is not a key of a policy")

    def take_text(self, key: str) -> str:
        value = self._take(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            self.complain(key, "must be a text that is not empty")
        return str(value)

    def take_count(self, key: str) -> int:
        value = self._take(key)
        if value is None:
            return 1
        if not isinstance(value, int) or isinstance(value, bool) or value < 2:
            self.complain(key, "must be a whole number of at least 2")
            return 2
        return value

    def take_share(self, key: str) -> float:
        value = self._take(key)
        if value is None:
            return 0.5
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
            self.complain(key, "must be a number from 0 to 1")
            return 0.5
        # Not -0.0, which would be printed so.
        return float(value) + 0.0

    def take_limit(self, key: str, *, times: int = 1) -> float:
        """Take one of `LIMITS`, `times` over: a number per 1,000 is no share, or 5 in 100 would be 5 in 100,000."""
        value = self._take(key)
        allowed = [round(limit * times, 4) for limit in LIMITS]
        if value is None:
            return allowed[0]
        listed = f"must be one of {', '.join(f'{limit:g}' for limit in allowed)}"
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            self.complain(key, listed)
            return allowed[0]
        nearest = min(allowed, key=lambda limit: abs(limit - value))
        if value != nearest:
            self.complain(key, f"{listed}; the nearest is {nearest:g}")
        return nearest

    def take_flag(self, key: str) -> bool:
        value = self._take(key)
        if not isinstance(value, bool):
            self.complain(key, "must be true or false")
            return False
        return value

    def take_if_given(self, key: str, take: Callable[[str], Value]) -> Value | None:
        """Return what `take` makes of the key, or None where it is not given."""
        return take(key) if key in self._table else None

    def take_choice(self, key: str, known: tuple[str, ...]) -> str:
        value = self._take(key)
        if value is not None and value not in known:
            self.complain(key, f"must be one of {', '.join(known)}")
        return str(value)

    def take_names(self, key: str, known: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return a list of names; "all" is all that are known, or None where any name may be given."""
        value = self._take(key)
        if value is None or value == "all":
            return known
        if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
            self.complain(key, 'must be "all" or a list of names')
            return known
        for item in value:
            if known is not None and item not in known:
                self.complain(key, f"{item!r} is none of {', '.join(known)}")
        return tuple(dict.fromkeys(value))

    def take_table(self, key: str) -> "_Reader":
        value = self._table.pop(key)
        if not isinstance(value, dict):
            self.complain(key, f"must be written as [{self._prefix}{key}]")
            value = {}
        return _Reader(value, f"{self._prefix}{key}.", self.problems)

    def take_tables(self, key: str) -> list["_Reader"]:
        value = self._table.pop(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.complain(key, f"must be written as [[{key}]]")
            return []
        return [_Reader(item, f"{key}[{i}].", self.problems) for i, item in enumerate(value, start=1)]

    def _take(self, key: str) -> Any:
        if key not in self._table:
            self.complain(key, "is missing")
        return self._table.pop(key, None)
