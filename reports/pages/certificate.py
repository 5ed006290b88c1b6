"""The pages and JSON of a comparison and of the deletion certificate by patient: records in, self-contained texts out.

Owns the order of the parts. Like the report, a page holds no script and names no outside resource, and jinja2 escapes
every text from outside. The certificate and the exact comparison are PHI, and say so on every screen and printed page.
"""

import json
from typing import Final

from clinaudit.reports.figures.leak_figures import before_and_after_figure
from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.certificate import EXIT_STATUS, Certificate, Forgetting
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.schema.record import Record, round_floats
from clinaudit.reports.tables.comparison import (
    VERDICTS,
    change_tables,
    figures_table,
    forgetting_table,
    health_table,
    identity_table,
    joint_table,
    overview_table,
    price_table,
    settings_table,
)
from clinaudit.reports.wording.certificate import (
    FIGURES_READ,
    FOUND_AFTER,
    MEANINGS,
    NEXT_STEPS,
    NOT_SAID,
    collapse_sentence,
    figures_sentence,
    first_screen,
    joint_sentence,
    quality_sentence,
    verdicts_sentence,
)
from clinaudit.reports.wording.escaped_text import escape_in_json, harmless_document


def comparison_json(comparison: Record) -> str:
    """Return the text of compare.json, published or exact, or of certificate.json: sorted keys, rounded floats."""
    document = round_floats(comparison.model_dump(mode="json"))
    return escape_in_json(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def render_comparison(comparison: Comparison) -> str:
    """Return compare.html; of exact figures it is PHI, and says so on every screen and printed page."""
    comparison = Comparison.model_validate(harmless_document(comparison.model_dump(mode="json")))
    forgetting = comparison.forgetting
    return render_html(
        "comparison.html.j2",
        style="page.css",
        context={
            "comparison": comparison,
            "is_exact": comparison.figures == "exact",
            "read": FIGURES_READ[comparison.figures],
            "settings": settings_table(comparison),
            "verdicts": None if comparison.rules is None else verdicts_sentence(comparison.rules),
            "chart": before_and_after_figure(comparison),
            "changed": change_tables(comparison, direction=(1, -1)),
            "unmeasured": change_tables(comparison, direction=(None,)),
            "unchanged": change_tables(comparison, direction=(0,)),
            "forgetting": forgetting,
            **(_forgetting_context(forgetting) if forgetting is not None else {}),
        },
    )


def _forgetting_context(forgetting: Forgetting) -> dict[str, object]:
    """Return what the page shows of a deletion certificate without names."""
    verdict = forgetting.verdict
    return {
        "verdict": VERDICTS[verdict],
        "meaning": MEANINGS[verdict],
        "next_step": NEXT_STEPS[verdict],
        "collapse": collapse_sentence(verdict, forgetting.collapsed, is_trained_again=forgetting.is_trained_again),
        "forgetting_table": forgetting_table(forgetting),
        "health": health_table(forgetting.health),
    }


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
