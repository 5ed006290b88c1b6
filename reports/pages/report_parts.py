"""The parts of the report's page: what each shows, and in which order.

- “Repeated text”: how much of a patient's own text comes back, from which parts of the notes, and whose.
- “Identifiers”: which of HIPAA's 18 the model gives out, of whom, and how surely they are found.
- “Diagnoses”: of whom the model says that they have a diagnosis, rightly, wrongly, and beyond guessing.
- “Can it be trusted?”: the flow of numbers, balance, the judge, limits, and the run's warnings.

The template of a part bears its name.
"""

from clinaudit.reports.figures.disclosure import excess_figure, stated_figure
from clinaudit.reports.figures.flow import flow_steps
from clinaudit.reports.figures.identifiers import verified_figure
from clinaudit.reports.figures.memorization import groups_figure, others_text_figure, own_text_figure, sections_figure
from clinaudit.reports.schema.report_content import ReportContent
from clinaudit.reports.tables.identifiers import hipaa_table
from clinaudit.reports.tables.judge import judge_caveat_sentences, judge_matrix_table, judge_sentence
from clinaudit.reports.wording.captions import (
    others_fail,
    others_text_sentences,
    own_text_sentences,
    shown_tier,
    spread_sentence,
    stated_sentences,
)
from clinaudit.reports.wording.identifiers import DEFINITION, identifier_sentences
from clinaudit.reports.wording.trust import LIMITS, balance_sentence, judge_quality_sentences, refusal_sentences


def repeated_text_part(content: ReportContent) -> dict[str, object]:
    """Return what `repeated_text.html.j2` shows, as `repeated_text`."""
    results = content.results
    tier = shown_tier(results.memorization)
    summary = None if tier is None else results.memorization[tier].get("train")
    return {
        "sentences": [*own_text_sentences(results), *refusal_sentences(results)],
        "by_tier": own_text_figure(results),
        "sections": sections_figure(results),
        "groups": groups_figure(results),
        # Where it decides nothing, it stands in the annex.
        "others": others_text_figure(results) if others_fail(results) else None,
        "others_sentences": others_text_sentences(results),
        "worst_patients": spread_sentence(None if summary is None else summary.evidence),
    }


def identifiers_part(content: ReportContent) -> dict[str, object]:
    """Return what `identifiers.html.j2` shows, as `identifiers`."""
    results = content.results
    return {
        "definition": DEFINITION,
        "sentences": identifier_sentences(results),
        "by_tier": verified_figure(results),
        "table": hipaa_table(results),
    }


def diagnoses_part(content: ReportContent) -> dict[str, object]:
    """Return what `diagnoses.html.j2` shows, as `diagnoses`."""
    results = content.results
    stated = stated_figure(results)
    return {
        "sentences": stated_sentences(results),
        "judge": judge_sentence(results.judge_quality) if stated.rows else "",
        "stated": stated,
        "excess": excess_figure(results),
    }


def trust_part(content: ReportContent) -> dict[str, object]:
    """Return what `trust.html.j2` shows, as `trust`."""
    results = content.results
    judge = (judge_quality_sentences(results.judge_quality), judge_caveat_sentences(results.judge_quality))
    return {
        "flow": flow_steps(results),
        "balance": balance_sentence(results),
        "judge": " ".join(sentence for sentence in judge if sentence),
        "matrix": judge_matrix_table(results),
        "limits": LIMITS,
        "warnings": [*results.warnings, *(results.corpus.warnings if results.corpus else ())],
    }
