"""The report page: what was found and where it comes from in, one self-contained HTML text out.

Owns the order of the parts, and what each shows; the template of a part bears its name. The annex is in `annex.py`. The
page holds no script and names no outside resource; jinja2 escapes every text from outside. The exact report is the same
page, marked as PHI.

- “Repeated text”: how much of a patient's own text comes back, from which parts of the notes, and whose.
- “Identifiers”: which of HIPAA's 18 the model gives out, of whom, and how surely they are found.
- “Diagnoses”: of whom the model says that they have a diagnosis, rightly, wrongly, and beyond guessing.
- “Can it be trusted?”: the flow of numbers, balance, the judge, limits, and the run's warnings.
"""

from clinaudit.reports.figures.disclosure import answer_bars, bar_arms, excess_figure, stated_figure
from clinaudit.reports.figures.flow import flow_steps
from clinaudit.reports.figures.memorization import (
    groups_figure,
    others_text_figure,
    own_text_figure,
    sections_figure,
    verified_figure,
)
from clinaudit.reports.pages import annex
from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.schema.results import ReportContent, RunResults
from clinaudit.reports.tables.identifiers import hipaa_table
from clinaudit.reports.tables.institution import breach_factors_table, next_steps, signatures_table, subject_table
from clinaudit.reports.tables.judge import judge_caveat_sentences, judge_matrix_table, judge_sentence
from clinaudit.reports.tables.rules import VERDICT_BASIS, asker_rules, rule_groups, rule_matrix
from clinaudit.reports.tables.table import tiers_of_access
from clinaudit.reports.wording.attacks import queries_fail, queries_sentences
from clinaudit.reports.wording.captions import (
    LIMITS,
    balance_sentence,
    judge_quality_sentences,
    others_fail,
    others_text_sentences,
    own_text_sentences,
    refusal_sentences,
    shown_tier,
    spread_sentence,
    stated_sentences,
)
from clinaudit.reports.wording.escaped_text import harmless_document
from clinaudit.reports.wording.findings import key_figures, key_tier, not_tested_words, patients_words
from clinaudit.reports.wording.identifiers import DEFINITION, headline_sentence, identifier_sentences
from clinaudit.reports.wording.names import BLANK, STATUSES, asker_words, identity_line, model_digest
from clinaudit.reports.wording.numbers import RANGE_NOTE
from clinaudit.reports.wording.verdict import (
    asker_counts_text,
    consequence_sentences,
    tally_text,
    verdict_sign,
    verdict_title,
)

_STYLES = ("report.css", "sections.css")
_PHI = "Contains PHI: exact figures; stays inside the institution"
_AGGREGATES = "Aggregates only: no note text and no patient ids"


def render_report(content: ReportContent) -> str:
    """Return the report, every text in it without control characters (escapes, marks of direction)."""
    content = ReportContent(
        RunResults.model_validate(harmless_document(content.results.model_dump(mode="json"))),
        harmless_document(content.provenance),
        is_exact=content.is_exact,
    )
    results = content.results
    decision = results.decision
    identity, digest = read_identity(content.provenance), model_digest(content.provenance)
    tier = key_tier(results)
    context = {
        "phi": _PHI if content.is_exact else None,
        "running": _PHI if content.is_exact else _AGGREGATES,
        "identity": identity,
        "digest": digest,
        "identity_line": identity_line(identity, digest),
        "blank": BLANK,
        "status": "none" if decision is None else decision.status,
        "verdict": verdict_title(decision),
        "verdict_sign": verdict_sign(decision),
        "verdict_word": "No verdict" if decision is None else f"Verdict: {STATUSES[decision.status][0]}",
        "consequences": consequence_sentences(results),
        "next_steps": next_steps(results),
        "policy": None if decision is None else decision.policy,
        "askers": "" if decision is None else asker_counts_text(decision),
        "tally": "" if decision is None else tally_text(decision),
        "patients": patients_words(results),
        "not_tested": not_tested_words(results),
        "key_figures": key_figures(results),
        "identifiers_line": headline_sentence(results),
        "asker": None if tier is None else asker_words(tier),
        "matrix": rule_matrix(decision),
        "bars": answer_bars(results),
        "bar_arms": bar_arms(results),
        "range_note": "" if content.is_exact else RANGE_NOTE,
        "warnings": len(results.warnings) + (len(results.corpus.warnings) if results.corpus else 0),
        "tiers_of_access": tiers_of_access(),
        "rule_groups": rule_groups(results),
        "asker_rules": asker_rules(results),
        "verdicts_rest": "" if content.is_exact or decision is None else VERDICT_BASIS,
        "breach_factors": breach_factors_table(results),
        "subject": subject_table(results, identity, digest),
        "signatures": signatures_table(),
        "schema_version": results.schema_version,
        "repeated_text": repeated_text_part(results),
        "identifiers": identifiers_part(results),
        "diagnoses": diagnoses_part(results),
        "trust": trust_part(results),
        "annex": annex.context(content),
    }
    return render_html("report.html.j2", style=_STYLES, context=context)


def repeated_text_part(results: RunResults) -> dict[str, object]:
    """Return what `repeated_text.html.j2` shows, as `repeated_text`."""
    tier = shown_tier(results.memorization)
    summary = None if tier is None else results.memorization[tier].get("train")
    return {
        # Where they decide nothing, queries stand in the annex alone, with their chart.
        "sentences": [
            *own_text_sentences(results),
            *refusal_sentences(results),
            *queries_sentences(results)[: queries_fail(results)],
        ],
        "by_tier": own_text_figure(results),
        "sections": sections_figure(results),
        "groups": groups_figure(results),
        # Where it decides nothing, it stands in the annex.
        "others": others_text_figure(results) if others_fail(results) else None,
        "others_sentences": others_text_sentences(results),
        "worst_patients": spread_sentence(None if summary is None else summary.evidence),
    }


def identifiers_part(results: RunResults) -> dict[str, object]:
    """Return what `identifiers.html.j2` shows, as `identifiers`."""
    return {
        "definition": DEFINITION,
        "sentences": identifier_sentences(results),
        "by_tier": verified_figure(results),
        "table": hipaa_table(results),
    }


def diagnoses_part(results: RunResults) -> dict[str, object]:
    """Return what `diagnoses.html.j2` shows, as `diagnoses`."""
    stated = stated_figure(results)
    return {
        "sentences": stated_sentences(results),
        "judge": judge_sentence(results.judge_quality) if stated.rows else "",
        "stated": stated,
        "excess": excess_figure(results),
    }


def trust_part(results: RunResults) -> dict[str, object]:
    """Return what `trust.html.j2` shows, as `trust`."""
    judge = (judge_quality_sentences(results.judge_quality), judge_caveat_sentences(results.judge_quality))
    return {
        "flow": flow_steps(results),
        "balance": balance_sentence(results),
        "judge": " ".join(sentence for sentence in judge if sentence),
        "matrix": judge_matrix_table(results),
        "limits": LIMITS,
        "warnings": [*results.warnings, *(results.corpus.warnings if results.corpus else ())],
    }
