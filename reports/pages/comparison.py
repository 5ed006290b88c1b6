"""The page and JSON of a comparison: records in, self-contained texts out.

Like the report, a page holds no script and names no outside resource, and jinja2 escapes every text from outside. The
exact comparison is PHI and says so.
"""

import json

from clinaudit.reports.figures.leak_figures import before_and_after_figure
from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.schema.forgetting import Forgetting
from clinaudit.reports.schema.record import Record, round_floats
from clinaudit.reports.tables.comparison import (
    VERDICTS,
    change_tables,
    forgetting_table,
    health_table,
    settings_table,
)
from clinaudit.reports.wording.certificate import MEANINGS, NEXT_STEPS, collapse_sentence
from clinaudit.reports.wording.comparison import FIGURES_READ, verdicts_sentence
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
