"""`requests.html`: several deletion requests on one page, published or with their legal triggers (PHI).

Owns the order of the parts. Like every page of a comparison it holds no script and names no outside resource, and
jinja2 escapes every text from outside.
"""

from collections.abc import Mapping

from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.certificate import Trigger
from clinaudit.reports.schema.requests import CertifiedRequests
from clinaudit.reports.tables.requests import (
    costs_table,
    patients_table,
    reasons_table,
    requests_table,
    verdicts_sentence,
)
from clinaudit.reports.wording.escaped_text import harmless_document, harmless_text
from clinaudit.reports.wording.numbers import RANGE_NOTE


def render_requests(requests: CertifiedRequests, triggers: Mapping[str, Trigger | None] | None = None) -> str:
    """Return the page; with `triggers`, by name of the request, it is PHI and says so on every screen and sheet."""
    shown = CertifiedRequests.model_validate(harmless_document(requests.model_dump(mode="json"))).requests
    if triggers is not None:
        triggers = {harmless_text(name): trigger for name, trigger in triggers.items()}
    models = {request.model.b for request in shown if request.model is not None}
    return render_html(
        "requests.html.j2",
        style="report.css",
        context={
            "is_phi": triggers is not None,
            "heading": verdicts_sentence(shown),
            "range_note": RANGE_NOTE,
            "several_models": len(models) > 1,
            "requests": requests_table(shown, triggers),
            "patients": patients_table(shown),
            "costs": costs_table(shown),
            "reasons": reasons_table(shown),
            "schema_version": requests.schema_version,
        },
    )
