"""The pages and JSON of a comparison and of the deletion certificate by patient: records in, self-contained texts out.

Owns the order of the parts. Like the report, a page holds no script and names no outside resource, and jinja2 escapes
every text from outside. The certificate and the exact comparison are PHI, and say so on every screen and printed page.
"""

import json
from typing import Final

from clinaudit.reports.pages.html import harmless, render_html
from clinaudit.reports.schema.certificate import EXIT_STATUS, Certificate, Forgetting
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.schema.record import Record, round_floats
from clinaudit.reports.tables import comparison as tables
from clinaudit.reports.wording import certificate as wording
from clinaudit.reports.wording.escaped_text import escape_in_json

_STYLE: Final = ("page.css",)
_PREDICTED: Final = "Others: with which probability a token of their notes is predicted"
_ANSWERS: Final = "Do answers still read as before? Noise and silence are no forgetting"
_UTILITY: Final = "Others trained on: model utility (MU) of answers"


def comparison_json(comparison: Record) -> str:
    """Return the text of compare.json, published or exact, or of certificate.json: sorted keys, rounded floats."""
    document = round_floats(comparison.model_dump(mode="json"))
    return escape_in_json(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def render_comparison(comparison: Comparison) -> str:
    """Return compare.html; of exact figures it is PHI, and says so on every screen and printed page."""
    comparison = harmless(comparison)
    forgetting = comparison.forgetting
    return render_html(
        "comparison.html.j2",
        style=_STYLE,
        context={
            "comparison": comparison,
            "is_exact": comparison.figures == "exact",
            "read": wording.FIGURES_READ[comparison.figures],
            "settings": tables.settings_table(comparison),
            "verdicts": None if comparison.rules is None else wording.verdicts_sentence(comparison.rules),
            "changed": tables.change_tables(comparison, direction=(1, -1)),
            "unmeasured": tables.change_tables(comparison, direction=(None,)),
            "unchanged": tables.change_tables(comparison, direction=(0,)),
            "forgetting": forgetting,
            **({} if forgetting is None else _forgetting_context(forgetting)),
        },
    )


def _forgetting_context(forgetting: Forgetting) -> dict[str, object]:
    """Return what the page shows of a deletion certificate without names."""
    return {
        "verdict": wording.VERDICTS[forgetting.verdict],
        "collapse": wording.collapse_sentence(forgetting.collapsed, is_trained_again=forgetting.is_trained_again),
        "forgetting_table": tables.forgetting_table(forgetting),
        "health": tables.health_table(forgetting.health),
    }


def render_certificate(certificate: Certificate) -> str:
    """Return certificate.html (PHI): one section a named patient."""
    certificate = harmless(certificate)
    verdict, quality, bench = certificate.verdict, certificate.forget_quality, certificate.bench
    is_trained_again = certificate.training_record is not None
    return render_html(
        "certificate.html.j2",
        style=_STYLE,
        context={
            "verdict": wording.VERDICTS[verdict],
            "title": "Deletion request: not fulfilled" if EXIT_STATUS[verdict] else "Deletion certificate",
            "first": wording.first_screen(certificate),
            "reasons": certificate.reasons,
            "identity": tables.identity_table(certificate),
            "overview": tables.overview_table(certificate.patients),
            "not_said": wording.NOT_SAID,
            "joint": tables.joint_table(certificate.joint),
            "joint_sentence": wording.joint_sentence(certificate.joint),
            "quality": None if quality is None else wording.quality_sentence(quality),
            "collapse": wording.collapse_sentence(certificate.collapsed, is_trained_again=is_trained_again),
            "is_trained_again": is_trained_again,
            "health": tables.health_table(certificate.health),
            "price": tables.price_table(_PREDICTED, certificate.price) if certificate.price else None,
            "bench": bench,
            "answers": tables.health_table(bench.health, _ANSWERS) if bench and bench.health else None,
            "collateral": tables.price_table(_UTILITY, bench.collateral) if bench and bench.collateral else None,
            "patients": [
                {
                    "id": patient.patient_id,
                    "found": wording.FOUND_AFTER[patient.stands_out_after],
                    "figures": wording.figures_sentence(patient),
                    "is_clear": patient.stands_out_after is False,
                    "reasons": patient.reasons,
                    "table": tables.figures_table(patient.figures),
                }
                for patient in certificate.patients
            ],
        },
    )
