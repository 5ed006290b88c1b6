"""The annex, `annex.html`: every figure of the run as a table, methods in short, attacks, provenance, glossary.

Owns the order of its parts. What a table shows, the registry of metrics and `tables/estimates.py` decide: a new metric
appears here by itself. The exact annex is the same page, marked as PHI, with each figure linked to its texts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from clinaudit.reports.pages.html import harmless_report, render_html
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.schema.run_results import RunReport
from clinaudit.reports.tables.estimates import EstimateTable, estimate_tables
from clinaudit.reports.tables.run_facts import attacks_table, cohorts_table, provenance_table, training_table
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.annex import GLOSSARY, Terms, judge_sentences, methods
from clinaudit.reports.wording.names import STATUSES, identity_line, model_digest

_PHI: Final = "Contains PHI: exact figures, linked to the texts; stays inside the institution"
_AGGREGATES: Final = "Aggregates only: no note text and no patient ids"


@dataclass(frozen=True, slots=True)
class Part:
    """One folded part: tables of estimates, tables of words, terms, or sentences."""

    id: str
    title: str
    sentences: tuple[str, ...] = ()
    estimates: tuple[EstimateTable, ...] = ()
    tables: tuple[Table, ...] = ()
    terms: Terms = ()


def render_annex(report: RunReport) -> str:
    """Return the page, every text in it without control characters (escapes, marks of direction)."""
    report = harmless_report(report)
    results, verdict = report.results, report.results.verdict
    identity, digest = read_identity(report.provenance), model_digest(report.provenance)
    mark = _PHI if report.is_exact else _AGGREGATES
    context = {
        "phi": mark if report.is_exact else None,
        "running": mark,
        "identity_line": identity_line(identity, digest),
        "verdict": "No verdict" if verdict is None else f"Verdict: {STATUSES[verdict.status][0]}",
        "policy": "" if verdict is None else verdict.policy,
        "parts": [part for part in _parts(report) if part.estimates or part.tables or part.terms],
        "schema_version": results.schema_version,
    }
    return render_html("annex.html.j2", style=("page.css", "annex.css"), context=context)


def _parts(report: RunReport) -> Iterator[Part]:
    results = report.results
    yield Part("methods", "Methods in short", terms=methods(report))
    yield Part("attacks", "Attacks run, and not run", tables=_filled(attacks_table(results)))
    beside = {"Cohorts": _filled(cohorts_table(results))}
    judge = (judge_sentences(report),)
    sentences = {"Diagnoses": judge, "Cohorts": (), "The judge": judge}
    shown = estimate_tables(report.estimates, is_exact=report.is_exact)
    for section, found in groupby(shown, lambda table: table.section):
        told = tuple(filter(None, sentences.get(section, ())))
        yield Part(_id(section), section, told, tuple(found), beside.get(section, ()))
    yield Part("training", "Training log", tables=_filled(training_table(results)))
    about = (
        "The same files, settings and versions give the same figures, as long as the machine or server computes the"
        f" same way. Results schema {results.schema_version}."
    )
    yield Part("provenance", "Provenance", (about,), tables=_filled(provenance_table(report.provenance)))
    yield Part("glossary", "Glossary", terms=GLOSSARY)


def _id(section: str) -> str:
    return "-".join(section.lower().replace("'", "").split())


def _filled(*found: Table) -> tuple[Table, ...]:
    return tuple(table for table in found if table.rows)
