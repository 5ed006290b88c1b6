"""The policy's rules as a reader meets them: a matrix of verdicts, and the rules grouped by the reason they share.

Owns the anchors of a tier's rules, and what stands beside a rule. The words of a rule and its reason are the gate's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.reports.schema.decision import DecidedRule, GateDecision, RuleStatus
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.names import (
    ORDINARY,
    SHORT_TIER_TITLES,
    STATUSES,
    display_title,
    display_words,
    join_words,
    order_tiers,
    short_asker,
    tier_title,
)
from clinaudit.reports.wording.numbers import counted
from clinaudit.reports.wording.rule_figures import (
    SUBJECTS,
    limit_text,
    observed_text,
    settled_text,
    subject_title,
    text_subject,
)

#: Worst first: what a cell of several rules shows, and the order of the groups.
_ORDER: Final[tuple[RuleStatus, ...]] = ("fail", "inconclusive", "pass")
#: What each status means for a reader of the matrix's signs.
STATUS_WORDS: Final[Mapping[RuleStatus, str]] = {"fail": "fails", "inconclusive": "cannot tell", "pass": "passes"}
#: What is said of the rules of a cell that are as bad as its sign.
_IN_CELL: Final[Mapping[RuleStatus, str]] = {"fail": "fail", "inconclusive": "open"}
#: So many diagnoses are named in a line; more are counted.
_NAMED: Final = 3
VERDICT_BASIS: Final = (
    "Rules on diagnoses rest on tests of the exact numbers, which stay in evidence/: one may pass although its range"
    " reaches beyond the limit. All others rest on what is shown here."
)


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """What the rules of one tier decided about own text, other patients', or one diagnosis."""

    status: RuleStatus
    sign: str
    words: str
    #: "2 of 3 rules open"; empty where all are.
    part: str


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One tier: who asks, and a cell a column; None where the policy has no rule."""

    title: str
    holder: str
    cells: tuple[MatrixCell | None, ...]
    #: Of the tier's rules.
    anchor: str


@dataclass(frozen=True, slots=True)
class RuleMatrix:
    """Tiers down, own text, other patients' text and diagnoses across."""

    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One rule."""

    subject: str
    question: str
    limit: str
    observed: str
    #: With how many patients it would be decided; empty where it is.
    settled: str


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """The rules of one status and one reason."""

    status: RuleStatus
    sign: str
    #: "18 rules fail".
    title: str
    #: Which rules, in short.
    where: str
    reason: str
    #: With how many patients they would be decided; empty where they are.
    settled: str
    rules: tuple[RuleLine, ...]

    @property
    def number(self) -> int:
        """How many rules share the reason."""
        return len(self.rules)


@dataclass(frozen=True, slots=True)
class AskerRules:
    """The rules of one tier, by reason."""

    anchor: str
    title: str
    groups: tuple[RuleGroup, ...]


def _anchor(place: int) -> str:
    """Return the anchor of a tier's rules: by its place: a tier's id, read from a file, may hold any character."""
    return f"rules-{place}"


def rule_matrix(decision: GateDecision | None) -> RuleMatrix | None:
    """Return the matrix of verdicts; None where no rule is about a tier."""
    # Everyday tasks have a row where they are not in order: whoever asks them knows of nobody.
    placed = [
        rule
        for rule in ([] if decision is None else decision.rules)
        if rule.tier and not (rule.tier == ORDINARY and rule.status == "pass")
    ]
    if not placed:
        return None
    diagnoses = sorted({rule.diagnosis for rule in placed if rule.diagnosis is not None})
    texts = {_column(rule) for rule in placed if rule.diagnosis is None}
    subjects = [*(name for name in SUBJECTS if name in texts), *diagnoses]
    rows = []
    for place, tier in enumerate(order_tiers({rule.tier or "" for rule in placed}), 1):
        title, holder = SHORT_TIER_TITLES.get(tier, (tier_title(tier), ""))
        here = [rule for rule in placed if rule.tier == tier]
        cells = tuple(_cell([rule for rule in here if _column(rule) == subject]) for subject in subjects)
        rows.append(MatrixRow(title, holder, cells, _anchor(place)))
    return RuleMatrix(tuple(name if name in texts else display_title(name) for name in subjects), tuple(rows))


def _column(rule: DecidedRule) -> str:
    """Return what a rule is about: a column of text, or a diagnosis."""
    return rule.diagnosis or text_subject(rule)


def _cell(rules: Sequence[DecidedRule]) -> MatrixCell | None:
    """Return the worst of the rules, and how many of them are as bad; None where there is none."""
    if not rules:
        return None
    worst = min((rule.status for rule in rules), key=_ORDER.index)
    number = sum(rule.status == worst for rule in rules)
    part = f"{number} of {len(rules)} rules {_IN_CELL[worst]}" if number < len(rules) else ""
    return MatrixCell(worst, STATUSES[worst][1], STATUS_WORDS[worst], part)


def rule_groups(results: RunResults) -> list[RuleGroup]:
    """Return the rules by status and reason: failed first, then what cannot be told, then passed."""
    return [] if results.decision is None else _group(results.decision.rules, results)


def asker_rules(results: RunResults) -> list[AskerRules]:
    """Return the rules by who asks, and those of no tier last, each by status and reason."""
    rules = [] if results.decision is None else results.decision.rules
    tiers = order_tiers({rule.tier for rule in rules if rule.tier})
    return [
        AskerRules(_anchor(place), tier_title(tier) if tier else "Anyone", tuple(_group(own, results)))
        for place, tier in enumerate([*tiers, None], 1)
        if (own := [rule for rule in rules if (rule.tier or None) == tier])
    ]


def _group(rules: Iterable[DecidedRule], results: RunResults) -> list[RuleGroup]:
    groups: dict[tuple[RuleStatus, str], list[DecidedRule]] = {}
    for rule in rules:
        groups.setdefault((rule.status, rule.reason), []).append(rule)
    ordered = sorted(groups.items(), key=lambda item: (_ORDER.index(item[0][0]), -len(item[1])))
    return [
        RuleGroup(
            status=status,
            sign=STATUSES[status][1],
            title=_count_text(len(own), status),
            where=_where(own),
            reason=reason,
            settled=settled_text(own, results),
            rules=tuple(_rule_line(rule, results) for rule in own),
        )
        for (status, reason), own in ordered
    ]


def _count_text(number: int, status: RuleStatus) -> str:
    of_one: dict[RuleStatus, str] = {**STATUS_WORDS, "inconclusive": "cannot be decided"}
    verb = of_one[status] if number == 1 or status == "inconclusive" else status
    return f"{counted(number, 'rule')} {verb}"


def _where(rules: Iterable[DecidedRule]) -> str:
    """Return what the rules are about, and who asks: "6 diagnoses · appointment reminder, + history"."""
    rules = list(rules)
    diagnoses = sorted({rule.diagnosis for rule in rules if rule.diagnosis is not None})
    texts = {_column(rule) for rule in rules if rule.diagnosis is None}
    subjects = [name for name in SUBJECTS if name in texts]
    if diagnoses:
        named = len(diagnoses) <= _NAMED
        subjects.append(
            join_words([display_words(name) for name in diagnoses]) if named else f"{len(diagnoses)} diagnoses"
        )
    tiers = order_tiers({rule.tier for rule in rules if rule.tier})
    askers = [short_asker(tier) for tier in tiers]
    subject = join_words([subjects[0], *(text.lower() if text in texts else text for text in subjects[1:])])
    return subject[:1].upper() + subject[1:] + (f" · {', '.join(askers)}" if askers else "")


def _rule_line(rule: DecidedRule, results: RunResults) -> RuleLine:
    return RuleLine(
        subject=subject_title(rule),
        question=rule.question,
        limit=limit_text(rule),
        observed=observed_text(rule, interval=True),
        settled=settled_text([rule], results),
    )
