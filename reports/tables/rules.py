"""The policy's rules as a reader meets them: a matrix of verdicts, and the rules grouped by the reason they share.

Owns the anchors of the rules, and what stands beside a rule. The words of a rule and its reason are the gate's.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.reports.schema.decision import PublishedDecision, PublishedRule, RuleStatus
from clinaudit.reports.tables.table import order_tiers
from clinaudit.reports.wording.names import (
    SHORT_TIER_TITLES,
    STATUSES,
    display_title,
    display_words,
    join_words,
    short_asker,
    tier_title,
)
from clinaudit.reports.wording.numbers import counted
from clinaudit.reports.wording.rule_figures import (
    SUBJECTS,
    limit_text,
    observed_text,
    subject_title,
    text_subject,
)

#: Worst first: what a cell of several rules shows, and the order of the groups.
_ORDER: Final[tuple[RuleStatus, ...]] = ("fail", "inconclusive", "pass")
#: What each status means for a reader of the matrix's signs.
STATUS_WORDS: Final[Mapping[RuleStatus, str]] = {"fail": "fails", "inconclusive": "cannot tell", "pass": "passes"}
#: So many diagnoses are named in a line; more are counted.
_NAMED: Final = 3
VERDICTS_REST: Final = (
    "Verdicts rest on the exact numbers, which stay in evidence/; what you see is widened so that nobody can be"
    " counted. So a rule may pass although its range reaches beyond the limit."
)


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """What the rules of one tier decided about own text, other patients', or one diagnosis."""

    status: RuleStatus
    sign: str
    words: str
    #: Of the rule that decided so.
    anchor: str


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One tier: who asks, and a cell a column; None where the policy has no rule."""

    title: str
    holder: str
    cells: tuple[MatrixCell | None, ...]


@dataclass(frozen=True, slots=True)
class RuleMatrix:
    """Tiers down, own text, other patients' text and diagnoses across."""

    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One rule."""

    anchor: str
    asker: str
    subject: str
    question: str
    limit: str
    observed: str


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
    rules: tuple[RuleLine, ...]

    @property
    def number(self) -> int:
        """How many rules share the reason."""
        return len(self.rules)


def rule_anchors(decision: PublishedDecision) -> list[str]:
    """Return the anchor of each rule, in the policy's order: `rule-` and its id, distinct."""
    anchors: list[str] = []
    for rule in decision.rules:
        anchor = "rule-" + re.sub(r"[^A-Za-z0-9_]+", "-", rule.id).strip("-")
        repeated = sum(re.fullmatch(re.escape(anchor) + r"(--\d+)?", other) is not None for other in anchors)
        anchors.append(f"{anchor}--{repeated + 1}" if repeated else anchor)
    return anchors


def rule_matrix(decision: PublishedDecision | None) -> RuleMatrix | None:
    """Return the matrix of verdicts; None where no rule is about a tier."""
    if decision is None:
        return None
    placed = [pair for pair in zip(decision.rules, rule_anchors(decision), strict=True) if pair[0].tier]
    if not placed:
        return None
    diagnoses = sorted({rule.diagnosis for rule, _ in placed if rule.diagnosis is not None})
    texts = {_column(rule) for rule, _ in placed if rule.diagnosis is None}
    subjects = [*(name for name in SUBJECTS if name in texts), *diagnoses]
    rows = []
    for tier in order_tiers({rule.tier or "" for rule, _ in placed}):
        title, holder = SHORT_TIER_TITLES.get(tier, (tier_title(tier), ""))
        here = [pair for pair in placed if pair[0].tier == tier]
        cells = tuple(_cell([pair for pair in here if _column(pair[0]) == subject]) for subject in subjects)
        rows.append(MatrixRow(title, holder, cells))
    return RuleMatrix(tuple(name if name in texts else display_title(name) for name in subjects), tuple(rows))


def shared_cells_sentence(decision: PublishedDecision, matrix: RuleMatrix) -> str:
    """Return where the rules stand that the matrix does not show one by one; empty where each has a cell of its own."""
    cells = sum(cell is not None for row in matrix.rows for cell in row.cells)
    beside = sum(not rule.tier for rule in decision.rules)
    if len(decision.rules) == cells:
        return ""
    without = f" ({beside} in none)" if beside else ""
    rules = counted(len(decision.rules), "rule")
    return f"{counted(cells, 'cell')} for {rules}{without}: a cell shows its worst rule; the report lists them all."


def _column(rule: PublishedRule) -> str:
    """Return what a rule is about: a column of text, or a diagnosis."""
    return rule.diagnosis or text_subject(rule)


def _cell(rules: Sequence[tuple[PublishedRule, str]]) -> MatrixCell | None:
    """Return the worst of the rules; None where there is none."""
    if not rules:
        return None
    rule, anchor = min(rules, key=lambda pair: _ORDER.index(pair[0].status))
    return MatrixCell(rule.status, STATUSES[rule.status][1], STATUS_WORDS[rule.status], anchor)


def rule_groups(decision: PublishedDecision | None) -> list[RuleGroup]:
    """Return the rules by status and reason: failed first, then what cannot be told, then passed."""
    if decision is None:
        return []
    groups: dict[tuple[RuleStatus, str], list[tuple[PublishedRule, str]]] = {}
    for rule, anchor in zip(decision.rules, rule_anchors(decision), strict=True):
        groups.setdefault((rule.status, rule.reason), []).append((rule, anchor))
    ordered = sorted(groups.items(), key=lambda item: (_ORDER.index(item[0][0]), -len(item[1])))
    return [
        RuleGroup(
            status=status,
            sign=STATUSES[status][1],
            title=_count_text(len(rules), status),
            where=_where(rule for rule, _ in rules),
            reason=reason,
            rules=tuple(_rule_line(rule, anchor) for rule, anchor in rules),
        )
        for (status, reason), rules in ordered
    ]


def _count_text(number: int, status: RuleStatus) -> str:
    of_one: dict[RuleStatus, str] = {**STATUS_WORDS, "inconclusive": "cannot be decided"}
    verb = of_one[status] if number == 1 or status == "inconclusive" else status
    return f"{counted(number, 'rule')} {verb}"


def _where(rules: Iterable[PublishedRule]) -> str:
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


def _rule_line(rule: PublishedRule, anchor: str) -> RuleLine:
    return RuleLine(
        anchor=anchor,
        asker=tier_title(rule.tier) if rule.tier else "Anyone",
        subject=subject_title(rule),
        question=rule.question,
        limit=limit_text(rule) or "no limit",
        observed=observed_text(rule, interval=True),
    )
