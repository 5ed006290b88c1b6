"""The pages and JSON of a comparison: publishable records in, self-contained texts out.

Owns the order of the parts. Like the report, a page holds no script and names no outside resource, and jinja2
escapes every text from outside. The certificate by patient is PHI and says so.
"""

import json

from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.comparison import Certificate, CertificateRow, Comparison
from clinaudit.reports.schema.estimate import Record
from clinaudit.reports.schema.results import round_floats
from clinaudit.reports.tables.comparison import (
    BASES,
    VERDICTS,
    changes_table,
    disclosure_tables,
    forgetting_table,
    health_table,
    memorization_tables,
    settings_table,
)
from clinaudit.reports.tables.table import Table, numbered_tier_title
from clinaudit.reports.wording.escaped_text import escape_in_json, harmless_document
from clinaudit.reports.wording.numbers import number_text, short_estimate_text

_STYLE = "report.css"


def comparison_json(comparison: Comparison) -> str:
    """Return the text of compare.json: sorted keys, rounded floats, no times."""
    return _to_json(comparison)


def certificate_json(certificate: Certificate) -> str:
    """Return the text of certificate.json (PHI)."""
    return _to_json(certificate)


def render_comparison(comparison: Comparison) -> str:
    """Return compare.html for a comparison that is already suppressed."""
    comparison = Comparison.model_validate(harmless_document(comparison.model_dump(mode="json")))
    forgetting = comparison.forgetting
    return render_html(
        "comparison.html.j2",
        style=_STYLE,
        context={
            "comparison": comparison,
            "basis": BASES[comparison.basis],
            "settings": settings_table(comparison),
            "memorization": memorization_tables(comparison),
            "changes": changes_table(comparison),
            "disclosure": disclosure_tables(comparison),
            "forgetting": forgetting,
            "verdict": None if forgetting is None else VERDICTS[forgetting.verdict],
            "forgetting_table": None if forgetting is None else forgetting_table(forgetting),
            "health": None if forgetting is None else health_table(forgetting.health),
        },
    )


def render_certificate(certificate: Certificate) -> str:
    """Return certificate.html (PHI): one section a named patient."""
    certificate = Certificate.model_validate(harmless_document(certificate.model_dump(mode="json")))
    return render_html(
        "certificate.html.j2",
        style=_STYLE,
        context={
            "verdict": VERDICTS[certificate.verdict],
            "collapsed": certificate.collapsed,
            "above": short_estimate_text(certificate.controls_above_level, share=True, interval=True),
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
        "Before, after, and what 95 in 100 held-out patients are at or below",
        ("Tier", "Figure", "Before", "After", "Level", "Held-out", "Verdict", "Why"),
        tuple(
            (
                numbered_tier_title(row.tier),
                row.measure,
                _value_text(row.before),
                _value_text(row.after),
                _value_text(row.level),
                str(row.controls),
                " ".join(reversed(VERDICTS[row.status])),
                row.reason or "",
            )
            for row in rows
        ),
    )


def _value_text(value: float | None) -> str:
    return "none" if value is None else f"{value:.0f}" if value == int(value) else number_text(value)


def _to_json(record: Record) -> str:
    document = round_floats(record.model_dump(mode="json"))
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return escape_in_json(text) + "\n"
