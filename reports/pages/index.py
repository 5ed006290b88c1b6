"""`index.html`: one page over many runs, with the verdict and the rules of each, and a link to its report.

Owns the order of the runs and what is said of each. Holds published figures alone, no script and no outside resource;
knows nothing of where the runs lie. A run that is not what its audit wrote is named, and nothing in it is believed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.decision import GateDecision
from clinaudit.reports.schema.identity import INVENTED, read_identity
from clinaudit.reports.schema.results import ReportContent
from clinaudit.reports.tables.rules import MatrixCell, rule_matrix
from clinaudit.reports.wording.escaped_text import harmless_document, harmless_text
from clinaudit.reports.wording.names import SHORT_TIER_TITLES, STATUSES, join_words, model_digest, tier_number
from clinaudit.reports.wording.numbers import counted

#: The tiers by the titles of the matrix.
_NUMBERS: Final = {title: tier_number(tier) for tier, (title, _) in SHORT_TIER_TITLES.items()}
_CHANGED: Final = "Changed since the audit"
_NO_VERDICT: Final = "No verdict"
#: In the order of the summary: what needs attention first.
_WORDS: Final = {
    "changed": _CHANGED,
    **{name: STATUSES[name][0] for name in ("fail", "incomplete", "inconclusive")},
    "none": _NO_VERDICT,
    "pass": STATUSES["pass"][0],
}


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """A finished run: where it lies, and what it published, or why that cannot be believed."""

    #: The run's folder as seen from the page, for readers.
    place: str
    #: Its report as seen from the page, as the address of a link; None where there is none to trust.
    link: str | None
    content: ReportContent | None
    #: Why it is not what the audit wrote; None where it is.
    changed: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedFolder:
    """A folder that looks like a run and is not shown as one."""

    place: str
    reason: str


def render_index(runs: Sequence[IndexedRun], skipped: Sequence[SkippedFolder]) -> str:
    """Return the HTML."""
    rows = sorted((_row(run) for run in runs), key=_order)
    counts = Counter(str(row["status"]) for row in rows)
    return render_html(
        "index.html.j2",
        style="index.css",
        context={
            "rows": rows,
            "summary": _summary_sentence(len(rows), counts),
            "tiers": [(number, title) for title, number in _NUMBERS.items()],
            "skipped": [(harmless_text(folder.place), harmless_text(folder.reason)) for folder in skipped],
        },
    )


def _row(run: IndexedRun) -> dict[str, Any]:
    """Return what the template shows of a run; every text in it is harmless, and still to be escaped."""
    row: dict[str, Any] = {
        "place": run.place,
        "link": run.link,
        "changed": run.changed,
        "status": "changed",
        "verdict": _CHANGED,
        "sign": "!",
        "title": run.place,
        "institution": None,
        "date": None,
        "policy": None,
        "reason": "",
        "matrix": None,
    }
    if run.content is not None and run.changed is None:
        identity, digest = read_identity(run.content.provenance), model_digest(run.content.provenance)
        decision = run.content.results.decision
        status = "none" if decision is None else decision.status
        row |= {
            "status": status,
            "verdict": _WORDS[status],
            "sign": STATUSES[status][1] if status in STATUSES else "–",
            "title": identity.model_name or (f"Model {digest}" if digest else "Unnamed model"),
            "institution": identity.institution,
            "date": identity.date,
            "policy": None if decision is None else decision.policy,
            "reason": "No policy was applied to this run." if decision is None else decision.reason,
            "matrix": None if decision is None else _matrix(decision),
        }
    harmless: dict[str, Any] = harmless_document(row)
    return harmless


def _order(row: dict[str, Any]) -> tuple[bool, list[int], str, str]:
    """Newest first, those without a date last; then by name."""
    date = row["date"] if row["date"] and row["date"] != INVENTED else ""
    return not date, [-ord(sign) for sign in date], row["title"], row["place"]


def _summary_sentence(runs: int, counts: Counter[str]) -> str:
    if not runs:
        return "No finished run was found."
    parts = [f"{counts[status]} {word.lower()}" for status, word in _WORDS.items() if counts[status]]
    return f"{counted(runs, 'run')}: {join_words(parts)}."


def _matrix(decision: GateDecision) -> dict[str, Any] | None:
    """Return the rules with a column a tier, which fits beside the rest, and a row a subject; None without rules."""
    matrix = rule_matrix(decision)
    if matrix is None:
        return None
    columns = [
        {"number": _NUMBERS.get(row.title, row.title), "title": f"{row.title}: {row.holder}"} for row in matrix.rows
    ]
    lines = [
        {"subject": subject, "cells": [_cell(row.cells[at]) for row in matrix.rows]}
        for at, subject in enumerate(matrix.columns)
    ]
    return {"columns": columns, "lines": lines}


def _cell(cell: MatrixCell | None) -> dict[str, str]:
    if cell is None:
        return {"status": "none", "sign": "–", "words": "no rule"}
    return {"status": cell.status, "sign": cell.sign, "words": cell.words}
