"""The verdict in plain text, for `audit`, `show` and `gate`: some 40 lines of 100 columns at most.

Owns their order: the verdict as a sentence, failed rules with their figures, open ones with what closes each, passed
ones as a count, who could ask by kind of leak. What a rule or a cell says is what the report's page says of it.
"""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.run_results import RunReport
from clinaudit.reports.schema.verdict import Verdict
from clinaudit.reports.tables.rule_blocks import Grid, RuleBlock, asker_grid, rule_blocks
from clinaudit.reports.terminal.layout import align_rows, paint, wrap
from clinaudit.reports.wording.names import STATUSES
from clinaudit.reports.wording.numbers import counted
from clinaudit.reports.wording.rule_rows import KINDS, STATUS_ORDER

_LEGEND: Final = "✗ fails, ? undecided (not a pass), ✓ passes: the highest figure of a cell's worst rules."
#: Lines of failed and of open rules; what goes beyond stands in the report.
_MOST_LINES: Final = 12
#: Columns of the names of askers.
_ASKERS_WIDTH: Final = 34
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
    parts = ["\n".join([verdict_line(verdict, colour=colour), *(wrap(one, indent="  ") for one in verdict.remarks)])]
    for block in rule_blocks(verdict, estimates):
        rules = counted(sum(len(group.lines) for group in block.groups), "rule")
        if block.groups:
            parts.append(
                f"Passed: {rules}."
                if block.status == "pass"
                else _listed(f"{'Failed' if block.status == 'fail' else 'Open'}, {rules}:", list(_lines(block)))
            )
    grid = asker_grid(verdict, estimates)
    if grid is not None:
        parts.append("\n".join([*_paint(_grid(grid), colour=colour), _LEGEND]))
    return "\n\n".join(parts)


def verdict_line(verdict: Verdict, *, colour: bool = False) -> str:
    """Return the verdict as a sentence, wrapped."""
    word = STATUSES[verdict.status][0].upper()
    line = wrap(f"{word} (policy {verdict.policy}): {verdict.reason}", indent="  ")
    # After wrapping: the signs of a colour take no width.
    return line.replace(word, paint(word, verdict.status, colour=colour), 1)


def _lines(block: RuleBlock) -> Iterator[str]:
    """Yield what closes open rules, and which; of failed rules each thing that is limited, with every figure."""
    if block.status == "inconclusive":
        for group in block.groups:
            yield f"  {group.action.rstrip('.')} ({group.title}): {group.where}"
        return
    found: dict[str, list[str]] = {}
    for group in block.groups:
        for line in group.lines:
            # Of diagnoses there are as many subjects as diagnoses.
            is_one = group.title == KINDS["diagnoses"]
            subject, place = (group.title, f"{line.subject} · {line.asker}") if is_one else (line.subject, line.asker)
            beyond = "" if line.beyond == "–" else f", beyond chance {line.beyond}"
            found.setdefault(f"  {subject} ({line.limit}): ", []).append(f"{place} {line.figure}{beyond}")
    for subject, figures in found.items():
        yield subject + "; ".join(figures)


def _listed(title: str, lines: Sequence[str]) -> str:
    shown: list[str] = []
    for place, line in enumerate(lines):
        wrapped = wrap(line, indent="    ", most_lines=2).splitlines()
        if len(shown) + len(wrapped) > _MOST_LINES:
            shown.append(f"  … and {counted(len(lines) - place, 'line')} more in the report.")
            break
        shown += wrapped
    return "\n".join([title, *shown])


def _grid(grid: Grid) -> list[str]:
    """Return the lines of the page's grid; names that are too long for one go on in the next."""
    rows, whole = [["", *grid.columns]], []
    for row in grid.rows:
        cells = ["" if cell is None else f"{cell.sign} {cell.figure}".rstrip() for cell in row.cells]
        if len(cells) < len(grid.columns):
            whole.append(wrap(f"{row.title}: {' '.join(cells)}", indent="  "))
            continue
        first, *more = textwrap.wrap(row.title, _ASKERS_WIDTH)
        rows += [[first, *cells], *([name, *[""] * len(cells)] for name in more)]
    return [*align_rows(rows, cut=(0,)), *whole] if len(rows) > 1 else whole


def _paint(lines: Sequence[str], *, colour: bool) -> list[str]:
    painted = list(lines)
    for status in STATUS_ORDER if colour else ():
        sign = STATUSES[status][1]
        painted = [line.replace(sign, paint(sign, status, colour=True)) for line in painted]
    return painted
