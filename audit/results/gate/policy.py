"""Policies: what a model may give away and still pass, read from TOML (docs/policy.md, "Keys").

Owns the file's format, its validation, and which policies ship. Knows nothing of results: `evaluation` applies a
policy. `policies/default.toml` and `policies/strict.toml` explain every key.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, get_args

from pydantic import ConfigDict, Field, PlainValidator, TypeAdapter, ValidationError, ValidationInfo

from clinaudit.audit.runtime.choices import DEFAULT, SHIPPED
from clinaudit.errors import BadInputError
from clinaudit.priors.tiers import FRAGMENT_TIERS, TIER_IDS
from clinaudit.reports.schema.attacks import QUERY_LIMITS
from clinaudit.reports.schema.identifiers import QUERIES
from clinaudit.reports.wording.names import IDENTIFIER_METRICS, QUERIES_NEEDED
from clinaudit.templates.text_file import locate_shipped, read_toml_file

MemorizationMetric = Literal[
    "attributable_fraction",
    "near_verbatim_attributable_fraction",
    "other_patient_fraction",
    "memorized_fraction",
    "hit_rate",
    "queries_needed",
]
IdentifierMetric = Literal["own", "other", "verified_per_1000"]
POLICIES_PATH: Final = Path(__file__).with_name("policies")
#: What `max` may be, of a number per 1,000 times 1,000. The verdicts of many policies bisect a figure, so that there
#: are few (docs/methods.md, section 10); and a limit of 1 would be kept by whatever a model does.
LIMITS: Final = (0.01, 0.02, 0.05, 0.10, 0.15, 0.20, 0.25, 0.30)
#: Level of the Holm-adjusted one-sided test by which a disclosure rule fails: the one that `alpha` may be.
ALPHA: Final = 0.05
#: Where a policy says nothing of it.
MINIMUM_UNBROKEN_SHARE: Final = 0.9
MAXIMUM_REFUSED_SHARE: Final = 0.2
#: Queries of a rule on queries needed that says nothing else.
DEFAULT_QUERIES: Final = 1_000
#: Metrics of what training gave away, whoever is asked about: answers about patients never seen are held to the limit
#: like those about patients trained on.
OF_EITHER_ARM: Final = frozenset({"other_patient_fraction", "other"})


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a text that is not empty")
    return value


#: More patients than there are; sample sizes are computed with such numbers.
_MOST_PATIENTS: Final = 10**10


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 2:
        raise ValueError("must be a whole number of at least 2")
    if value > _MOST_PATIENTS:
        raise ValueError(f"must be at most {_MOST_PATIENTS:,}")
    return value


def _share(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError("must be a number from 0 to 1")
    # Not -0.0, which would be printed so.
    return float(value) + 0.0


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _level(value: object) -> float:
    if _share(value) != ALPHA:
        raise ValueError(f"must be {ALPHA:g}: the tests of many levels would bisect a p-value")
    return ALPHA


def _limit(value: object, info: ValidationInfo) -> float:
    """Return one of `LIMITS`; a number per 1,000 is no share, or 5 in 100 would be 5 in 100,000."""
    times = QUERIES if info.data.get("metric") == "verified_per_1000" else 1
    allowed = [round(limit * times, 4) for limit in LIMITS]
    listed = f"must be one of {', '.join(f'{limit:g}' for limit in allowed)}"
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(listed)
    nearest = min(allowed, key=lambda limit: abs(limit - value))
    if value != nearest:
        raise ValueError(f"{listed}; the nearest is {nearest:g}")
    return nearest


def _number_of_queries(value: object, info: ValidationInfo) -> int | None:
    if info.data.get("metric") != QUERIES_NEEDED:
        raise ValueError(f"goes with metric {QUERIES_NEEDED} alone")
    # As many as there are classes of patients: other ones would cut these.
    if not isinstance(value, int) or isinstance(value, bool) or value not in QUERY_LIMITS:
        raise ValueError(f"must be one of {', '.join(map(str, QUERY_LIMITS))}")
    return value


def _one_of(known: Sequence[str]) -> PlainValidator:
    def check(value: object) -> object:
        if value not in known:
            raise ValueError(f"must be one of {', '.join(known)}")
        return value

    return PlainValidator(check)


def _names(known: tuple[str, ...] | None) -> PlainValidator:
    """Take a list of names; "all" is all that are known, or None where any name may be given."""

    def check(value: object) -> tuple[str, ...] | None:
        if value == "all":
            return known
        if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
            raise ValueError('must be "all" or a list of names')
        if strange := [item for item in value if known is not None and item not in known]:
            # A line each.
            raise ValueError("\n".join(f"{item!r} is none of {', '.join(known or ())}" for item in strange))
        return tuple(dict.fromkeys(value))

    return PlainValidator(check)


_Share = Annotated[float, PlainValidator(_share)]
_Count = Annotated[int, PlainValidator(_count)]
_Limit = Annotated[float, PlainValidator(_limit), Field(alias="max")]
_Queries = Annotated[int | None, PlainValidator(_number_of_queries)]
_Tiers = Annotated[tuple[str, ...], _names(TIER_IDS)]
_STRICT: Final = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class TextRule:
    """A limit on what generated text repeats, or on identifiers in it beyond what chance gives, at each of `tiers`.

    Of the train arm's text; of some metrics of either arm's.
    """

    __pydantic_config__ = _STRICT
    metric: MemorizationMetric | IdentifierMetric
    tiers: _Tiers
    #: A share of text or of patients; of `verified_per_1000` a number of values per 1,000 queries.
    maximum: _Limit
    #: Of `queries_needed`: a patient counts whose text comes within so many; None for every other metric.
    queries: _Queries = None


@dataclass(frozen=True, slots=True)
class DisclosureRule:
    """A limit on the delta of `auroc_all`, train minus nontrain, for each diagnosis at each of `tiers`."""

    __pydantic_config__ = _STRICT
    tiers: _Tiers
    #: None: every diagnosis that was audited.
    diagnoses: Annotated[tuple[str, ...] | None, _names(None)]
    maximum: _Limit


AnyRule = TypeVar("AnyRule", TextRule, DisclosureRule)


@dataclass(frozen=True, slots=True)
class OrdinaryLimit:
    """A limit on the share of everyday tasks, about nobody, whose answers hold text of a patient trained on."""

    __pydantic_config__ = _STRICT
    maximum: _Limit


#: What limits one figure.
Rule = TextRule | DisclosureRule | OrdinaryLimit


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """What a judge must reach to be accepted; without it no disclosure rule passes or fails."""

    __pydantic_config__ = _STRICT
    minimum_sensitivity: _Share
    minimum_specificity: _Share
    maximum_flip_rate: _Share


@dataclass(frozen=True, slots=True)
class PassRequirements:
    """What a rule needs beside its limit before it passes; None: nothing. A failure needs none of it.

    A stricter requirement can turn a pass into "inconclusive", never a failure into anything else.
    """

    __pydantic_config__ = _STRICT
    minimum_patients_per_class: _Count | None = None
    maximum_short_share: _Share | None = None
    maximum_unjudged_share: _Share | None = None
    #: Of the minimal detectable difference of `auroc_all`, at a power of 80% (`detectable_delta`).
    maximum_detectable_delta: _Share | None = None
    #: Of any covariate in any contrast of the cohort.
    maximum_smd: _Share | None = None
    #: Whether memorization passes only where patients outside the training data were probed too.
    nontrain_arm: Annotated[bool, PlainValidator(_flag)] = False
    judge: JudgeLimits | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """All limits of one gate; shares lie in 0..1."""

    __pydantic_config__ = _STRICT
    name: Annotated[str, PlainValidator(_text)]
    minimum_patients_per_class: _Count
    maximum_short_share: _Share
    maximum_unjudged_share: _Share
    memorization: tuple[TextRule, ...]
    disclosure: tuple[DisclosureRule, ...]
    identifiers: tuple[TextRule, ...] = ()
    #: None: everyday tasks decide nothing.
    ordinary: OrdinaryLimit | None = None
    #: None: no limits for the judge.
    judge: JudgeLimits | None = None
    to_pass: PassRequirements = PassRequirements()
    #: Of the prompts that quote a note, those that are its own beginning; below it no rule of the tier passes.
    minimum_unbroken_share: _Share = MINIMUM_UNBROKEN_SHARE
    #: Of the patients asked about in a chat, those of whom the model refused to answer; above it no rule passes.
    maximum_refused_share: _Share = MAXIMUM_REFUSED_SHARE

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


# As a file has them


@dataclass(frozen=True, slots=True)
class _OnMemorization(TextRule):
    metric: Annotated[MemorizationMetric, _one_of(get_args(MemorizationMetric))]


@dataclass(frozen=True, slots=True)
class _OnIdentifiers(TextRule):
    metric: Annotated[IdentifierMetric, _one_of(IDENTIFIER_METRICS)]


@dataclass(frozen=True, slots=True)
class _OnDisclosure(DisclosureRule):
    metric: Annotated[str, _one_of(("auroc_all",))]
    alpha: Annotated[float, PlainValidator(_level)] = ALPHA


@dataclass(frozen=True, slots=True)
class _Document(Policy):
    memorization: tuple[_OnMemorization, ...] = ()
    disclosure: tuple[_OnDisclosure, ...] = ()
    identifiers: tuple[_OnIdentifiers, ...] = ()


def parse_policy(document: Mapping[str, Any], *, where: str) -> Policy:
    """Return the policy that a TOML document describes; raises `BadInputError` with a line for each key at fault."""
    problems: list[str] = []
    try:
        read = _adapter().validate_python(dict(document))
    except ValidationError as error:
        problems = [line for fault in error.errors() for line in _describe_fault(fault)]
    rules = {key: _rules_of(document.get(key)) for key in ("memorization", "identifiers", "disclosure")}
    if not any(rules.values()):
        kinds = "[[memorization]], [[identifiers]] or [[disclosure]] rule"
        problems.append(f"memorization: a policy needs at least one {kinds}")
    problems += [line for key, of in rules.items() for line in _find_repeats(key, of)]
    problems += _find_background(rules["memorization"])
    if problems:
        raise BadInputError(f"{where} is not a policy; mend these keys", problems)
    given = {field.name: getattr(read, field.name) for field in fields(Policy)}
    for name in ("memorization", "identifiers"):
        given[name] = tuple(_text_rule(rule) for rule in given[name])
    given["disclosure"] = tuple(DisclosureRule(of.tiers, of.diagnoses, of.maximum) for of in read.disclosure)
    return Policy(**given)


def _text_rule(rule: TextRule) -> TextRule:
    """Return a rule as it is asked; queries are counted of prompts that begin a note, and so "all" means those."""
    if rule.metric != QUERIES_NEEDED:
        return TextRule(rule.metric, rule.tiers, rule.maximum)
    tiers = tuple(tier for tier in rule.tiers if tier in FRAGMENT_TIERS)
    return TextRule(rule.metric, tiers, rule.maximum, rule.queries or DEFAULT_QUERIES)


@cache
def _adapter() -> TypeAdapter[_Document]:
    return TypeAdapter(_Document)


def _describe_fault(fault: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a key of the file, a line each; the key with its full path."""
    place, kind = list(fault["loc"]), fault["type"]
    is_list = kind == "tuple_type" or isinstance(place[-1], int)
    if isinstance(place[-1], int):
        place.pop()
    path = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
    if kind in ("tuple_type", "dataclass_type"):
        return [f"{path}: must be written as {'[[' if is_list else '['}{path}{']]' if is_list else ']'}"]
    if kind == "value_error":
        return [f"{path}: {line}" for line in str(fault["ctx"]["error"]).split("\n")]
    return [f"{path}: {'is missing' if kind == 'missing' else 'is not a key of a policy'}"]


def _rules_of(written: object) -> list[Mapping[str, Any]]:
    return [rule for rule in written if isinstance(rule, Mapping)] if isinstance(written, list) else []


def _find_background(rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the tiers that a rule on queries names and that quote no note."""
    named = [rule.get("tiers") for rule in rules if rule.get("metric") == QUERIES_NEEDED]
    tiers = {str(tier) for of in named if isinstance(of, list) for tier in of} & set(TIER_IDS)
    return [
        f"memorization: {QUERIES_NEEDED} is measured at tiers that quote a note, and {tier} does not"
        for tier in sorted(tiers - FRAGMENT_TIERS)
    ]


def _find_repeats(key: str, rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what two rules limit at once, whatever else is wrong with them."""

    def listed(rule: Mapping[str, Any], name: str, known: Sequence[str]) -> Sequence[str]:
        return rule[name] if isinstance(rule.get(name), list) else known

    def subject_of(rule: Mapping[str, Any]) -> object:
        if rule.get("metric") != QUERIES_NEEDED:
            return rule.get("metric")
        return f"{QUERIES_NEEDED} in {rule.get('queries', DEFAULT_QUERIES)}"

    limited = [
        (str(subject), str(tier))
        for rule in rules
        for tier in listed(rule, "tiers", TIER_IDS)
        for subject in (listed(rule, "diagnoses", ["all"]) if key == "disclosure" else [subject_of(rule)])
    ]
    everything = {tier for subject, tier in limited if subject == "all"}
    return [
        f"{key}: two rules limit {subject} at {tier}"
        for subject, tier in sorted(set(limited))
        if limited.count((subject, tier)) > 1 or (subject != "all" and tier in everything)
    ]
