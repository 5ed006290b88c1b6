"""The policy's rules as a page shows them: a grid of askers by kinds of leak, and three blocks with every rule once.

Owns which rules share a row or a group. The words of a rule's status and reason are the gate's.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from clinaudit.reports.estimates.frame import METRICS, Estimates, RuleKind
from clinaudit.reports.schema.run_results import Rule, RuleStatus, Verdict
from clinaudit.reports.wording.figures import counted_text, figure_words, highest, row_text
from clinaudit.reports.wording.first_screen import SIGNS, action_of, by_action
from clinaudit.reports.wording.names import display_words, order_tiers, tier_title
from clinaudit.reports.wording.numbers import counted
from clinaudit.reports.wording.rule_rows import (
    KINDS,
    STATUS_ORDER,
    comparable,
    in_order,
    limit_text,
    order_forms,
    place_words,
    rule_rows,
    subject_words,
    worst_status,
)

#: Of what a figure is a share, by its unit.
_OF: Final = {"share": " of the patients", "mean": " of an answer"}
_STATUS_WORDS: Final = {"fail": "fails", "inconclusive": "undecided", "pass": "passes"}
#: Kinds that no tier is asked about: a row of their own.
_OF_NOBODY: Final[dict[RuleKind, tuple[str, str]]] = {
    "everyday": ("Everyday tasks, about nobody", "of tasks"),
    "membership": ("Membership", "of those trained on are found"),
}
#: At most so many askers are named in a line.
_NAMED: Final = 3


class GridCell(NamedTuple):
    """The worst of some rules, and the figure of the worst."""

    status: RuleStatus
    sign: str
    words: str
    figure: str


class GridRow(NamedTuple):
    """Askers whose rules share their states, and a cell a column; None: no rule.

    A row with one cell is about all columns.
    """

    title: str
    cells: tuple[GridCell | None, ...]


class Grid(NamedTuple):
    """Askers down, kinds of leak across."""

    columns: tuple[str, ...]
    rows: tuple[GridRow, ...]


def asker_grid(verdict: Verdict | None, estimates: Estimates) -> Grid | None:
    """Return the grid, askers for whom a rule fails first; None without rules."""
    if verdict is None or not (verdict.rules or verdict.not_asked):
        return None
    columns = [kind for kind in KINDS if any(rule.kind == kind and rule.tier for rule in verdict.rules)]
    places = dict.fromkeys((rule.tier, rule.form or "text") for rule in verdict.rules if rule.tier)
    tiers = order_tiers({tier for tier, _ in places})
    groups: dict[tuple[RuleStatus | None, ...], list[tuple[str, str]]] = {}
    in_forms = order_forms(form for _, form in places)
    for tier, form in sorted(places, key=lambda place: (tiers.index(place[0]), in_forms.index(place[1]))):
        here = _rules_at(verdict, [(tier, form)])
        state = tuple(worst_status([rule for rule in here if rule.kind == kind]) for kind in columns)
        groups.setdefault(state, []).append((tier, form))
    rows = []
    for _, members in sorted(groups.items(), key=lambda item: 0 if "fail" in item[0] else 1):
        here = _rules_at(verdict, members)
        cells = tuple(_cell([rule for rule in here if rule.kind == kind], estimates) for kind in columns)
        rows.append(GridRow(_members_words(members, in_forms), cells))
    for kind, (title, words) in _OF_NOBODY.items():
        own = [rule for rule in verdict.rules if rule.kind == kind and not rule.tier]
        if own and (cell := _cell(own, estimates)) is not None:
            said = f"{cell.figure} {words}" if "%" in cell.figure else cell.figure
            rows.append(GridRow(title, (cell._replace(figure=said),)))
    if verdict.not_asked:
        names = " · ".join(tier_title(tier) for tier in order_tiers(verdict.not_asked))
        rows.append(GridRow(names, (GridCell("inconclusive", SIGNS["inconclusive"], "not asked", "not asked"),)))
    return Grid(tuple(KINDS[kind] for kind in columns), tuple(rows))


def _rules_at(verdict: Verdict, places: Sequence[tuple[str, str]]) -> list[Rule]:
    """Return the rules of tiers asked in a form; how many queries a text takes is the same in every form."""
    return [
        rule for rule in verdict.rules if any(rule.tier == tier and rule.form in ("", form) for tier, form in places)
    ]


def _members_words(members: Sequence[tuple[str, str]], forms: Sequence[str]) -> str:
    """Return askers in a line, with the form where not all forms share the row."""
    of_tier: dict[str, set[str]] = {}
    for tier, form in members:
        of_tier.setdefault(tier, set()).add(form)
    by_forms: dict[frozenset[str], list[str]] = {}
    for tier, own in of_tier.items():
        by_forms.setdefault(frozenset(own), []).append(tier_title(tier))
    parts = []
    for shared, names in by_forms.items():
        how = "" if shared == set(forms) else f" ({', '.join(order_forms(shared))})"
        parts.append(f"{' · '.join(names)}{how}")
    return " · ".join(parts)


def _cell(rules: Sequence[Rule], estimates: Estimates) -> GridCell | None:
    status = worst_status(rules)
    if status is None:
        return None
    worst = [rule for rule in rules if rule.status == status]
    if status == "pass":
        return GridCell(status, SIGNS[status], _STATUS_WORDS[status], "")
    if worst[0].kind == "diagnoses":
        some, every = ({rule.diagnosis for rule in of} for of in (worst, rules))
        figure = f"{len(some)} of {len(every)}" if some != every else f"all {len(every)}"
    else:
        rows = (rule_rows(rule, estimates).figure for rule in comparable(worst))
        figure = row_text(max(rows, key=highest), interval=False)
    return GridCell(status, SIGNS[status], _STATUS_WORDS[status], figure)


class RuleLine(NamedTuple):
    """One rule: what it is about, who asks, its figure, chance, what goes beyond, its limit, and what closes it."""

    subject: str
    asker: str
    figure: str
    chance: str
    beyond: str
    limit: str
    #: Empty where it is decided.
    action: str


class RuleGroup(NamedTuple):
    """Rules of one block that share what is said of them."""

    title: str
    #: What closes them, where they are open.
    action: str
    #: Each reason once.
    reasons: tuple[str, ...]
    #: Which rules, in short.
    where: str
    lines: tuple[RuleLine, ...]


class RuleBlock(NamedTuple):
    """The rules of one status."""

    status: RuleStatus
    sign: str
    title: str
    groups: tuple[RuleGroup, ...]


def rule_blocks(verdict: Verdict | None, estimates: Estimates) -> list[RuleBlock]:
    """Return the rules that failed by kind, the open ones by what closes them, and those that passed, by kind."""
    rules = in_order(verdict.rules) if verdict else []
    blocks = []
    for status in STATUS_ORDER:
        here = [rule for rule in rules if rule.status == status]
        is_open = status == "inconclusive"
        groups = (
            by_action(here)
            if is_open
            else [(KINDS[kind], list(own)) for kind, own in groupby(here, lambda rule: rule.kind)]
        )
        title = f"{len(here)} {'undecided' if is_open else f'{status}ed'}"
        made = tuple(_group(name, own, estimates) for name, own in groups)
        blocks.append(RuleBlock(status, SIGNS[status], title, made))
    return blocks


def _group(name: str, rules: Sequence[Rule], estimates: Estimates) -> RuleGroup:
    is_open = rules[0].status == "inconclusive"
    reasons = [] if rules[0].status == "pass" else dict.fromkeys(rule.reason for rule in rules)
    return RuleGroup(
        title=counted(len(rules), "rule") if is_open else name,
        action=name if is_open else "",
        reasons=tuple(reason for reason in reasons if reason != name),
        where=_where(rules, estimates),
        lines=tuple(_line(rule, estimates) for rule in rules),
    )


def _where(rules: Sequence[Rule], estimates: Estimates) -> str:
    """Return "Own text · Appointment reminder; Public facts · up to 73% (63 to 82); at most 5% allowed"."""
    kinds = dict.fromkeys(KINDS[rule.kind] for rule in rules)
    tiers = order_tiers({rule.tier for rule in rules if rule.tier})
    askers = [tier_title(tier) for tier in tiers]
    if len(tiers) > _NAMED:
        askers = [f"{len(tiers)} kinds of asker"]
    said = [", ".join(kinds)] if rules[0].status == "inconclusive" else []
    said += ["; ".join(askers)] if askers else []
    if len(kinds) == 1 and rules[0].status == "fail":
        same = comparable(rules)
        names = list(dict.fromkeys(display_words(rule.diagnosis) for rule in rules if rule.diagnosis))
        worst = max((rule_rows(rule, estimates).figure for rule in same), key=highest)
        unit = "" if worst is None else _OF.get(METRICS[worst.metric].unit, "")
        figure = f"{row_text(worst)}{unit}; {limit_text(same[0])} allowed"
        said.append(", ".join(names) or f"up to {figure}")
    return " · ".join(said)


def _line(rule: Rule, estimates: Estimates) -> RuleLine:
    rows = rule_rows(rule, estimates)
    chance = "" if rows.chance is None else figure_words(rows.chance)
    if rows.pooled is not None and chance:
        chance = f"{chance}, beside {figure_words(rows.pooled)} in a pool as large"
    figure = figure_words(rows.figure, interval=True)
    counts = counted_text(rows.figure)
    return RuleLine(
        subject=subject_words(rule),
        asker=place_words(rule.tier, rule.form),
        figure=f"{counts}: {figure}" if " of " in counts else figure,
        chance=chance or "–",
        beyond="–" if rows.beyond is None else figure_words(rows.beyond, interval=True),
        limit=limit_text(rule),
        action=action_of(rule) if rule.status == "inconclusive" else "",
    )
