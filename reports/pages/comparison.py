"""The pages and JSON of a comparison and of the deletion certificate: records in, self-contained texts out.

Owns the order of the parts. Like the report, a page holds no script and names no outside resource, and jinja2
escapes every text from outside. The exact comparison and the certificate by patient are PHI and say so.
"""

import json

from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.certificate import TRIGGER_WORDS, Certificate, CertificateRow
from clinaudit.reports.schema.comparison import ComparisonContent, ExactComparison, PublishedComparison
from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.results import round_floats
from clinaudit.reports.tables.comparison import (
    VERDICTS,
    changes_table,
    disclosure_tables,
    forgetting_table,
    health_table,
    memorization_tables,
    settings_table,
)
from clinaudit.reports.tables.table import Table, numbered_tier_title
from clinaudit.reports.wording.comparison import FIGURES_READ
from clinaudit.reports.wording.escaped_text import escape_in_json, harmless_document
from clinaudit.reports.wording.numbers import RANGE_NOTE, estimate_text

_STYLE = "report.css"


def comparison_json(comparison: Record) -> str:
    """Return the text of compare.json, published or exact: sorted keys, rounded floats, no times."""
    return _to_json(comparison)


def certificate_json(certificate: Certificate) -> str:
    """Return the text of certificate.json (PHI)."""
    return _to_json(certificate)


def render_comparison(content: ComparisonContent) -> str:
    """Return compare.html; with exact parts it is PHI, and says so on every screen and printed page."""
    content = _harmless(content)
    comparison = content.comparison
    forgetting = comparison.forgetting
    return render_html(
        "comparison.html.j2",
        style=_STYLE,
        context={
            "comparison": comparison,
            "is_exact": comparison.figures == "exact",
            "read": FIGURES_READ[comparison.figures],
            "range_note": RANGE_NOTE,
            "settings": settings_table(comparison),
            "memorization": memorization_tables(comparison),
            "changes": changes_table(content),
            "disclosure": disclosure_tables(comparison),
            "forgetting": forgetting,
            "verdict": None if forgetting is None else VERDICTS[forgetting.verdict],
            "forgetting_table": None if forgetting is None else forgetting_table(forgetting),
            "health": None if forgetting is None else health_table(forgetting.health),
        },
    )


def _harmless(content: ComparisonContent) -> ComparisonContent:
    shown = PublishedComparison.model_validate(harmless_document(content.comparison.model_dump(mode="json")))
    if content.exact is None:
        return ComparisonContent(shown)
    exact = ExactComparison.model_validate(harmless_document(content.exact.model_dump(mode="json")))
    return ComparisonContent(shown, exact)


def render_certificate(certificate: Certificate) -> str:
    """Return certificate.html (PHI): one section a named patient."""
    certificate = Certificate.model_validate(harmless_document(certificate.model_dump(mode="json")))
    return render_html(
        "certificate.html.j2",
        style=_STYLE,
        context={
            "verdict": VERDICTS[certificate.verdict],
            "collapsed": certificate.collapsed,
            "trigger": None if certificate.trigger is None else TRIGGER_WORDS[certificate.trigger],
            "has_reference": certificate.has_reference,
            "above": estimate_text(certificate.controls_above_level, share=True, interval=True),
            "health": health_table(certificate.health),
            "patients": [
                {
                    "id": patient.patient_id,
                    "verdict": VERDICTS[patient.verdict],
                    "leaked_before": patient.leaked_before,
                    "reasons": patient.reasons,
                    "table": _certificate_table(patient.measures),
                }
                for patient in certificate.patients
            ],
        },
    )


def _certificate_table(rows: list[CertificateRow]) -> Table:
    return Table(
        "Before, after, and the level: what 95 in 100 never seen are at or below, or the retrained model writes",
        ("Someone who knows", "Figure", "Before", "After", "Level", "Never seen", "Retrained", "Verdict", "Why"),
        tuple(
            (
                numbered_tier_title(row.tier),
                row.measure,
                _value_text(row.before),
                _value_text(row.after),
                _value_text(row.level),
                str(row.controls),
                _value_text(row.reference),
                " ".join(reversed(VERDICTS[row.status])),
                row.reason or "",
            )
            for row in rows
        ),
    )


def _value_text(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}" if value < 10_000 else f"{value:.0f}"


def _to_json(record: Record) -> str:
    document = round_floats(record.model_dump(mode="json"))
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return escape_in_json(text) + "\n"
