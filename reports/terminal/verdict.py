"""The verdict in plain text, for `audit`, `show` and `gate`: at most 40 lines of 100 columns.

Owns their order: the verdict as a sentence, failed rules with their figures, open ones with what closes each, passed
ones as a count, who could ask by kind of leak. Reads a report, published or exact, and computes nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Final, get_args

from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.run_results import RunReport
from clinaudit.reports.schema.verdict import Rule, RuleKind, RuleStatus, Verdict
from clinaudit.reports.terminal.layout import align_rows, paint, wrap
from clinaudit.reports.wording.first_screen import by_action
from clinaudit.reports.wording.names import STATUSES, order_tiers, short_asker
from clinaudit.reports.wording.numbers import counted
from clinaudit.reports.wording.rule_rows import (
    STATUS_ORDER,
    limit_text,
    rule_figure,
    rule_place,
    rule_subject,
    worst_status,
)

_KINDS: Final[dict[RuleKind, str]] = {
    "text": "Text",
    "identifiers": "Identifiers",
    "queries": "Queries",
    "diagnoses": "Diagnoses",
    "everyday": "Everyday tasks",
    "membership": "Membership",
}
_LEGEND: Final = "✗ fails, ? open, ✓ passes: how many of a cell's rules have its worst status."
#: Lines of failed and of open rules; what goes beyond stands in the report.
_MOST_LINES: Final = 12
_NO_VERDICT: Final = "No verdict: no policy was applied. Every figure stands in results.csv."
_EXACT: Final = "Exact figures. They are PHI: do not pass this on."


def report_text(report: RunReport, *, colour: bool = False) -> str:
    """Return what `audit` and `show` print of a run."""
    verdict = report.results.verdict
    text = _NO_VERDICT if verdict is None else verdict_text(verdict, report.estimates, colour=colour)
    notes = [_EXACT] if report.is_exact else []
    warnings = len(report.results.warnings) + len(report.results.corpus.warnings if report.results.corpus else ())
    if warnings:
        notes.append(f"{counted(warnings, 'warning')} in the report.")
    return "\n\n".join([text, " ".join(notes)] if notes else [text])


def verdict_text(verdict: Verdict, estimates: Estimates, *, colour: bool = False) -> str:
    """Return a verdict with its rules; `estimates` hold their figures."""
    of = {status: [rule for rule in verdict.rules if rule.status == status] for status in get_args(RuleStatus)}
    parts = ["\n".join([verdict_line(verdict, colour=colour), *(wrap(one, indent="  ") for one in verdict.remarks)])]
    if of["fail"]:
        parts.append(_listed("Failed", of["fail"], _by_subject(of["fail"], estimates)))
    if of["inconclusive"]:
        parts.append(_listed("Open", of["inconclusive"], _by_action(of["inconclusive"])))
    if of["pass"]:
        parts.append(f"Passed: {counted(len(of['pass']), 'rule')}.")
    if verdict.rules:
        parts.append("\n".join([*_paint(_grid(verdict.rules), colour=colour), _LEGEND]))
    return "\n\n".join(parts)


def verdict_line(verdict: Verdict, *, colour: bool = False) -> str:
    """Return the verdict as a sentence, wrapped."""
    word = STATUSES[verdict.status][0].upper()
    line = wrap(f"{word} (policy {verdict.policy}): {verdict.reason}", indent="  ")
    # After wrapping: the signs of a colour take no width.
    return line.replace(word, paint(word, verdict.status, colour=colour), 1)


def _listed(title: str, rules: Sequence[Rule], lines: Sequence[str]) -> str:
    shown: list[str] = []
    for place, line in enumerate(lines):
        wrapped = wrap(line, indent="    ", most_lines=3).splitlines()
        if len(shown) + len(wrapped) > _MOST_LINES:
            shown.append(f"  … and {counted(len(lines) - place, 'line')} more in the report.")
            break
        shown += wrapped
    return "\n".join([f"{title}, {counted(len(rules), 'rule')}:", *shown])


def _by_subject(rules: Sequence[Rule], estimates: Estimates) -> list[str]:
    """Return a line for each thing that is limited: every place with its figure."""
    return [
        f"  {subject} ({limit_text(own[0])}): "
        + "; ".join(f"{rule_place(rule)} {rule_figure(rule, estimates)}" for rule in own)
        for subject, own in _grouped(rules, lambda rule: f"{rule_subject(rule)}\0{rule.limit}")
    ]


def _by_action(rules: Sequence[Rule]) -> list[str]:
    """Return a line for each action that closes rules, or reason where there is none, with those rules."""
    return [
        f"  {action.rstrip('.')} ({counted(len(own), 'rule')}): "
        + "; ".join(f"{subject} · {', '.join(map(rule_place, of))}" for subject, of in _grouped(own, rule_subject))
        for action, own in by_action(rules)
    ]


def _grouped(rules: Iterable[Rule], key: Callable[[Rule], str]) -> list[tuple[str, list[Rule]]]:
    """Return rules by a key, most first."""
    found = [(name.split("\0")[0], list(own)) for name, own in groupby(sorted(rules, key=key), key)]
    return sorted(found, key=lambda item: -len(item[1]))


def _grid(rules: Sequence[Rule]) -> list[str]:
    kinds = [kind for kind in _KINDS if any(rule.kind == kind for rule in rules)]
    tiers = [*order_tiers(rule.tier for rule in rules if rule.tier), *([""] if any(not r.tier for r in rules) else [])]
    rows = [["", *(_KINDS[kind] for kind in kinds)]]
    for tier in tiers:
        cells = ([rule for rule in rules if (rule.tier, rule.kind) == (tier, kind)] for kind in kinds)
        rows.append([short_asker(tier) if tier else "Anyone", *map(_cell, cells)])
    return align_rows(rows, cut=(0,))


def _cell(rules: Sequence[Rule]) -> str:
    if not rules:
        return ""
    worst = worst_status(rules)
    number = sum(rule.status == worst for rule in rules)
    return f"{STATUSES[worst][1]} {number} of {len(rules)}" if number < len(rules) else STATUSES[worst][1]


def _paint(lines: Sequence[str], *, colour: bool) -> list[str]:
    painted = list(lines)
    for status in STATUS_ORDER if colour else ():
        sign = STATUSES[status][1]
        painted = [line.replace(sign, paint(sign, status, colour=True)) for line in painted]
    return painted
