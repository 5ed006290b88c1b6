"""The results in plain text, for `clinaudit show` and the end of an audit: 24 lines and 100 columns at most.

Owns their order: verdict, what was found, what to do next, the rules as a matrix. Works on published results, or on the
exact ones in the same form.
"""

import textwrap
from collections.abc import Sequence
from typing import Final, get_args

from clinaudit.reports.schema.decision import RuleStatus
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.institution import next_step_sentences
from clinaudit.reports.tables.rules import STATUS_WORDS, RuleMatrix, rule_matrix
from clinaudit.reports.terminal.layout import WIDTH, align_rows, paint, wrap
from clinaudit.reports.wording.captions import refusal_sentences
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.identifiers import headline_in_short
from clinaudit.reports.wording.names import STATUSES
from clinaudit.reports.wording.verdict import consequence_sentences, tally_text, verdict_title

#: Lines that each part may take, so that the whole stays within 24.
_TITLE_LINES, _FOUND_LINES, _NEXT_LINES, _TALLY_LINES = 2, 4, 3, 2
_HEAD_LINES: Final = 3
_STATUSES: Final[tuple[RuleStatus, ...]] = get_args(RuleStatus)
_SIGNS: Final = ", ".join(f"{STATUSES[status][1]} {words}" for status, words in STATUS_WORDS.items())
_LEGEND: Final = f"{_SIGNS}: a cell shows its worst rule."
_READ_PUBLISHED: Final = "From the published figures (results.json); --exact reads those of the evidence."
_READ_EXACT: Final = "From the exact figures (evidence/results.json). They are PHI: do not pass this on."


def summary_text(results: RunResults, *, exact: bool = False, colour: bool = False) -> str:
    """Return the results in short; `exact`: they are the exact ones, with ranges of no width."""
    parts = [
        "\n".join(
            [
                _verdict_line(results, colour=colour, most_lines=_TITLE_LINES),
                wrap(" ".join(consequence_sentences(results)), indent="  ", most_lines=_FOUND_LINES),
                wrap(f"Next: {' '.join(next_step_sentences(results))}", indent="  ", most_lines=_NEXT_LINES),
            ]
        )
    ]
    matrix = rule_matrix(results.decision)
    if results.decision is not None and matrix is not None:
        tally = tally_text(results.decision)
        legend = wrap(f"{tally[:1].upper()}{tally[1:]}. {_LEGEND}", indent="  ", most_lines=_TALLY_LINES)
        parts.append("\n".join([legend, *_matrix(matrix, colour=colour)]))
    read = _READ_EXACT if exact else _READ_PUBLISHED
    notes = [wrap(f"{read} {headline_in_short(results)}".rstrip(), indent="  ", most_lines=2)]
    refused = refusal_sentences(results)
    if len(refused) > 1:
        notes.append(wrap(" ".join(refused), indent="  ", most_lines=2))
    warnings = len(results.warnings) + (len(results.corpus.warnings) if results.corpus else 0)
    if warnings:
        notes.append(f"{warnings} {'warning stands' if warnings == 1 else 'warnings stand'} in the report.")
    # Directly beneath the matrix, without an empty line: the whole stays within its 24 lines.
    parts[-1] = "\n".join([parts[-1], *notes])
    return "\n\n".join(parts)


def verdict_text(results: RunResults, *, colour: bool = False) -> str:
    """Return the verdict alone, wrapped."""
    return _verdict_line(results, colour=colour, most_lines=None)


def _verdict_line(results: RunResults, *, colour: bool, most_lines: int | None) -> str:
    title = verdict_title(results.decision)
    if results.decision is None:
        return wrap(title, indent="  ", most_lines=most_lines)
    status = results.decision.status
    word = STATUSES[status][0].upper()
    # The title may open with the status itself.
    said = title.removeprefix(f"{STATUSES[status][0]}: ")
    line = wrap(f"Verdict: {word} (policy {results.decision.policy}): {said}", indent="  ", most_lines=most_lines)
    # After wrapping: the signs of a colour take no width.
    return line.replace(word, paint(word, status, colour=colour), 1)


def _matrix(matrix: RuleMatrix, *, colour: bool) -> list[str]:
    """Return the rules as signs, tiers down, own text and diagnoses across; heads over several lines."""
    titles = max(len(row.title) for row in matrix.rows)
    heads = _wrap_heads(matrix.columns, WIDTH - titles)
    height = max(map(len, heads))
    # Heads stand on their last line.
    head_rows = [
        ["", *(head[line - height + len(head)] if line >= height - len(head) else "" for head in heads)]
        for line in range(height)
    ]
    rows = [[row.title, *(" " if cell is None else cell.sign for cell in row.cells)] for row in matrix.rows]
    lines = align_rows([*head_rows, *rows], cut=(0,))
    if not colour:
        return lines
    return [*lines[:height], *(line[:titles] + _paint_signs(line[titles:]) for line in lines[height:])]


def _wrap_heads(heads: Sequence[str], room: int) -> list[list[str]]:
    """Return heads in lines, as wide as they may be together, with two signs between columns."""
    for width in range(max(map(len, heads)), 0, -1):
        wrapped = [
            textwrap.wrap(_hyphenate(harmless_text(head), width), width, max_lines=_HEAD_LINES, placeholder="…")
            for head in heads
        ]
        if sum(2 + max(map(len, head), default=0) for head in wrapped) <= room:
            return wrapped
    return [[head[:1]] for head in heads]


def _hyphenate(head: str, width: int) -> str:
    """Return a head whose words fit a width of two or more: a longer one is cut once, with a hyphen."""
    return " ".join(
        f"{word[: width - 1]}- {word[width - 1 :]}" if 1 < width < len(word) else word for word in head.split()
    )


def _paint_signs(signs: str) -> str:
    for status in _STATUSES:
        sign = STATUSES[status][1]
        signs = signs.replace(sign, paint(sign, status, colour=True))
    return signs
