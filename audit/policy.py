"""Policies: what a model may give away and still pass, read from TOML (contract, section 6, Gate).

Owns the file's format and its validation. Knows nothing of results: `clinaudit.audit.gate` applies a policy.
`policies/default.toml` explains every key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.templates.errors import BadInputError
from clinaudit.templates.text_file import read_toml_file

MemorizationMetric = Literal["attributable_fraction", "memorized_fraction", "hit_rate"]
POLICIES_PATH: Final = Path(__file__).with_name("policies")


@dataclass(frozen=True, slots=True)
class MemorizationRule:
    """A limit on a share of the train arm's generated text, at each of `tiers`."""

    metric: MemorizationMetric
    tiers: tuple[str, ...]
    maximum: float | None = None
    minimum: float | None = None


@dataclass(frozen=True, slots=True)
class DisclosureRule:
    """A limit on the excess of `auroc_all` in the train arm, for each diagnosis at each of `tiers`."""

    tiers: tuple[str, ...]
    #: None: every diagnosis that was audited.
    diagnoses: tuple[str, ...] | None
    maximum: float
    #: Level of the Holm-adjusted one-sided test by which the rule fails.
    alpha: float = 0.05


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """What a judge must reach to be relied on; else no disclosure rule passes or fails."""

    minimum_sensitivity: float
    minimum_specificity: float
    maximum_flip_rate: float


@dataclass(frozen=True, slots=True)
class Policy:
    """All limits of one gate; shares lie in 0..1."""

    name: str
    minimum_patients_per_class: int
    maximum_short_share: float
    maximum_unjudged_share: float
    memorization: tuple[MemorizationRule, ...]
    disclosure: tuple[DisclosureRule, ...]
    #: None: the policy asks nothing of the judge.
    judge: JudgeLimits | None = None


def load_policy(path: Path | None = None, *, name: str = "default") -> Policy:
    """Read a policy from `path`, or the one that ships as `name`; raises `BadInputError` listing every problem."""
    source = path or POLICIES_PATH / f"{name}.toml"
    where = str(source) if path else f"the policy {name!r}"
    if path is None and not source.is_file():
        known = ", ".join(sorted(file.stem for file in POLICIES_PATH.glob("*.toml")))
        raise BadInputError(f"{where} is not a file; the policies that ship are: {known}")
    document = read_toml_file(source, role="the policy")
    return parse_policy(document, where=where)


def parse_policy(document: Mapping[str, Any], *, where: str) -> Policy:
    """Return the policy that a TOML document describes; raises `BadInputError` with a line for each key at fault."""
    reader = _Reader(document, "")
    name = reader.take_text("name")
    minimum = reader.take_count("minimum_patients_per_class")
    short = reader.take_share("maximum_short_share")
    unjudged = reader.take_share("maximum_unjudged_share")
    memorization = [_parse_memorization(rule) for rule in reader.take_tables("memorization")]
    disclosure = [_parse_disclosure(rule) for rule in reader.take_tables("disclosure")]
    judge = _parse_judge(reader.take_table("judge")) if "judge" in reader else None
    if not memorization and not disclosure:
        reader.complain("memorization", "a policy needs at least one [[memorization]] or [[disclosure]] rule")
    reader.complain_of_repeats("memorization", [(rule.metric, tier) for rule in memorization for tier in rule.tiers])
    reader.complain_of_repeats(
        "disclosure",
        [(diagnosis, tier) for r in disclosure for tier in r.tiers for diagnosis in r.diagnoses or ("all",)],
    )
    reader.finish()
    if reader.problems:
        raise BadInputError(f"{where} is not a policy; mend these keys", reader.problems)
    return Policy(name, minimum, short, unjudged, tuple(memorization), tuple(disclosure), judge)


def _parse_memorization(reader: "_Reader") -> MemorizationRule:
    metric = reader.take_choice("metric", get_args(MemorizationMetric))
    tiers = reader.take_names("tiers", TIER_IDS)
    maximum = reader.take_share("max") if "max" in reader else None
    minimum = reader.take_share("min") if "min" in reader else None
    if maximum is None and minimum is None:
        reader.complain("max", "is missing, and so is min: a rule needs a limit")
    reader.finish()
    return MemorizationRule(metric, tiers or (), maximum, minimum)  # type: ignore[arg-type]


def _parse_disclosure(reader: "_Reader") -> DisclosureRule:
    reader.take_choice("metric", ("auroc_all",))
    tiers = reader.take_names("tiers", TIER_IDS)
    diagnoses = reader.take_names("diagnoses", None)
    maximum = reader.take_share("max")
    alpha = reader.take_share("alpha") if "alpha" in reader else 0.05
    if not 0 < alpha <= 0.5:
        reader.complain("alpha", "must lie above 0 and be at most 0.5")
    reader.finish()
    return DisclosureRule(tiers or (), diagnoses, maximum, alpha)


def _parse_judge(reader: "_Reader") -> JudgeLimits:
    limits = JudgeLimits(
        minimum_sensitivity=reader.take_share("minimum_sensitivity"),
        minimum_specificity=reader.take_share("minimum_specificity"),
        maximum_flip_rate=reader.take_share("maximum_flip_rate"),
    )
    reader.finish()
    return limits


class _Reader:
    """Takes typed values out of one TOML table and collects what is wrong, so that all of it is told at once.

    Where a value is wrong, a stand-in is returned; the caller raises in the end.
    """

    def __init__(self, table: Mapping[str, Any], prefix: str, problems: list[str] | None = None) -> None:
        self._table = dict(table)
        self._prefix = prefix
        self.problems = problems if problems is not None else []

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def complain(self, key: str, problem: str) -> None:
        """Note a problem under the key's full path."""
        self.problems.append(f"{self._prefix}{key}: {problem}")

    def complain_of_repeats(self, key: str, limited: list[tuple[str, str]]) -> None:
        """Note what two rules limit at once."""
        for subject, tier in sorted({item for item in limited if limited.count(item) > 1}):
            self.complain(key, f"two rules limit {subject} at {tier}")

    def finish(self) -> None:
        """Note the keys that nobody took."""
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
        return float(value)

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
            self.complain(key, f"must be written as [{key}]")
            value = {}
        return _Reader(value, f"{key}.", self.problems)

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
