"""The page and JSON of the deletion certificate by patient (PHI): the record in, self-contained texts out.

Owns the order of the parts, and says PHI on every screen and printed page. Like the report, the page holds no script
and names no outside resource, and jinja2 escapes every text from outside.
"""

from typing import Final

from clinaudit.reports.pages.comparison import comparison_json
from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.certificate import Certificate
from clinaudit.reports.schema.forgetting import EXIT_STATUS
from clinaudit.reports.tables.certificate import (
    figures_table,
    identity_table,
    joint_table,
    overview_table,
    price_table,
)
from clinaudit.reports.tables.comparison import VERDICTS, health_table
from clinaudit.reports.wording.certificate import (
    FOUND_AFTER,
    MEANINGS,
    NOT_SAID,
    collapse_sentence,
    figures_sentence,
    first_screen,
    joint_sentence,
    quality_sentence,
)
from clinaudit.reports.wording.escaped_text import harmless_document

_STYLE: Final = "page.css"
_PREDICTED: Final = "Others: with which probability a token of their notes is predicted"
_ANSWERS: Final = "Do answers still read as before? Noise and silence are no forgetting"
_UTILITY: Final = "Others trained on: model utility (MU) of answers"


def certificate_json(certificate: Certificate) -> str:
    """Return the text of certificate.json (PHI)."""
    return comparison_json(certificate)


def render_certificate(certificate: Certificate) -> str:
    """Return certificate.html (PHI): one section a named patient."""
    certificate = Certificate.model_validate(harmless_document(certificate.model_dump(mode="json")))
    is_trained_again, bench = certificate.training_record is not None, certificate.bench
    return render_html(
        "certificate.html.j2",
        style=_STYLE,
        context={
            "verdict": VERDICTS[certificate.verdict],
            "title": "Deletion certificate"
            if EXIT_STATUS[certificate.verdict] == 0
            else "Deletion request: not fulfilled",
            "meaning": MEANINGS[certificate.verdict],
            "first": first_screen(certificate),
            "reasons": certificate.reasons,
            "identity": identity_table(certificate),
            "overview": overview_table(certificate.patients),
            "not_said": NOT_SAID,
            "joint": joint_table(certificate.joint),
            "joint_sentence": joint_sentence(certificate.joint),
            "quality": None if certificate.forget_quality is None else quality_sentence(certificate.forget_quality),
            "collapse": collapse_sentence(
                certificate.verdict, certificate.collapsed, is_trained_again=is_trained_again
            ),
            "is_trained_again": is_trained_again,
            "health": health_table(certificate.health),
            "price": price_table(_PREDICTED, certificate.price) if certificate.price else None,
            "bench": bench,
            "answers": health_table(bench.health, _ANSWERS) if bench and bench.health else None,
            "collateral": price_table(_UTILITY, bench.collateral) if bench and bench.collateral else None,
            "patients": [
                {
                    "id": patient.patient_id,
                    "found": FOUND_AFTER[patient.stands_out_after],
                    "figures": figures_sentence(patient),
                    "reasons": patient.reasons,
                    "table": figures_table(patient.figures),
                }
                for patient in certificate.patients
            ],
        },
    )
