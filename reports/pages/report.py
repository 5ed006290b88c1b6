"""The two pages of a run: `report.html`, read in a minute, and its annex, `annex.html`, with every figure.

Owns the order of the parts: from a `RunReport` alone to one self-contained HTML text. A page holds no script and names
no outside resource; jinja2 escapes every text from outside. The exact pages are the same, marked as PHI.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from clinaudit.reports.figures.leak_figures import diagnosis_tables, judge_errors, text_figures
from clinaudit.reports.pages.html import harmless_report, render_html
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.schema.run_results import RunReport
from clinaudit.reports.tables.estimates import EstimateTable, Table, estimate_tables
from clinaudit.reports.tables.rule_blocks import asker_grid, rule_blocks
from clinaudit.reports.tables.run_facts import (
    WORDS,
    attacks_table,
    breach_factors_table,
    cohorts_table,
    guards_table,
    limits_table,
    measured_items,
    power_table,
    provenance_table,
    signatures_table,
    subject_table,
    training_table,
)
from clinaudit.reports.wording.annex import GLOSSARY, Terms, judge_sentences, methods
from clinaudit.reports.wording.first_screen import (
    SIGNS,
    UNDECIDED,
    closing,
    found_sentences,
    identifier_sentences,
    less_knowledge_sentence,
    next_steps,
    own_text_sentences,
    verdict_title,
)
from clinaudit.reports.wording.names import BLANK, STATUSES, identity_line, model_digest

_PHI: Final = "Contains PHI: exact figures; stays inside the institution"
_AGGREGATES: Final = "Aggregates only: no note text and no patient ids"


def render_report(report: RunReport) -> str:
    """Return the report, every text in it without control characters (escapes, marks of direction).

    The first screen says verdict, use, who gets what, what to do and what closes open rules; then the grid; then what
    comes out, the rules, how it was measured, and the sign-off sheet. All other tables are in the annex.
    """
    report = harmless_report(report)
    results, estimates, verdict = report.results, report.estimates, report.results.verdict
    identity, digest = read_identity(report.provenance), model_digest(report.provenance)
    version = str(report.provenance.get("clinaudit") or BLANK)
    title, found = verdict_title(verdict), found_sentences(report)
    less = less_knowledge_sentence(verdict)
    context = {
        "phi": _PHI if report.is_exact else None,
        "running": _PHI if report.is_exact else _AGGREGATES,
        "identity": identity,
        "digest": digest,
        "identity_line": identity_line(identity, digest),
        "blank": BLANK,
        "version": version,
        "policy": verdict.policy if verdict else "none was applied",
        "status": verdict.status if verdict else "none",
        "sign": SIGNS[verdict.status if verdict else ""],
        "verdict": title,
        "verdict_word": f"Verdict: {STATUSES[verdict.status][0]}" if verdict else "No verdict",
        "found": [*found, *([less] if less else [])],
        "steps": next_steps(report),
        "closing": closing(verdict),
        "grid": asker_grid(verdict, estimates),
        "text_figures": text_figures(report),
        "own_text": own_text_sentences(report),
        "identifiers": identifier_sentences(report),
        "diagnoses": diagnosis_tables(report),
        "judge_errors": judge_errors(estimates),
        "blocks": rule_blocks(verdict, estimates),
        "undecided": UNDECIDED,
        "limits": limits_table(report),
        "measured": measured_items(report),
        "guards": guards_table(estimates),
        "power": power_table(),
        "not_seen": WORDS["not_seen"],
        "warnings": [*results.warnings, *(results.corpus.warnings if results.corpus else ())],
        "breach_factors": breach_factors_table(found),
        "subject": subject_table(
            identity, digest, version=version, verdict=title, policy=verdict.policy if verdict else "none"
        ),
        "signatures": signatures_table(),
        "schema_version": results.schema_version,
    }
    return render_html("report.html.j2", style=("page.css",), context=context)


_ANNEX_PHI: Final = "Contains PHI: exact figures, linked to the texts; stays inside the institution"


class Part(NamedTuple):
    """One folded part: tables of estimates, tables of words, terms, or sentences."""

    id: str
    title: str
    sentences: tuple[str, ...] = ()
    estimates: tuple[EstimateTable, ...] = ()
    tables: tuple[Table, ...] = ()
    terms: Terms = ()


def render_annex(report: RunReport) -> str:
    """Return the annex, every text in it without control characters (escapes, marks of direction).

    Every figure of the run as a table, methods in short, attacks, provenance, glossary. What a table shows, the
    registry of metrics and `tables/estimates.py` decide: a new metric appears here by itself. In the exact annex each
    figure is linked to its texts.
    """
    report = harmless_report(report)
    results, verdict = report.results, report.results.verdict
    identity, digest = read_identity(report.provenance), model_digest(report.provenance)
    mark = _ANNEX_PHI if report.is_exact else _AGGREGATES
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
    yield Part("methods", "Methods in short", terms=methods(results))
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
