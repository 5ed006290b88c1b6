"""The page and JSON of a comparison: records in, self-contained texts out.

Like the report, a page holds no script and names no outside resource, and jinja2 escapes every text from outside. The
exact comparison is PHI and says so.
"""

import json

from clinaudit.reports.figures.memorization import before_and_after_figure
from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.results import round_floats
from clinaudit.reports.tables.comparison import (
    VERDICTS,
    changes_table,
    cost_table,
    disclosure_tables,
    forgetting_table,
    health_table,
    memorization_tables,
    settings_table,
)
from clinaudit.reports.wording.certificate import MEANINGS, NEXT_STEPS, collapse_sentence
from clinaudit.reports.wording.comparison import FIGURES_READ, verdicts_sentence
from clinaudit.reports.wording.escaped_text import escape_in_json, harmless_document
from clinaudit.reports.wording.numbers import RANGE_NOTE

_STYLE = ("report.css", "sections.css")


def comparison_json(comparison: Record) -> str:
    """Return the text of compare.json, published or exact, or of certificate.json: sorted keys, rounded floats."""
    document = round_floats(comparison.model_dump(mode="json"))
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return escape_in_json(text) + "\n"


def render_comparison(comparison: Comparison) -> str:
    """Return compare.html; of exact figures it is PHI, and says so on every screen and printed page."""
    comparison = Comparison.model_validate(harmless_document(comparison.model_dump(mode="json")))
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
            "verdicts": None if comparison.rules is None else verdicts_sentence(comparison.rules),
            "chart": before_and_after_figure(comparison),
            "memorization": memorization_tables(comparison, changed=True),
            "changes": changes_table(comparison),
            "disclosure": disclosure_tables(comparison, changed=True),
            "unmeasured": [
                *memorization_tables(comparison, changed=None),
                *disclosure_tables(comparison, changed=None),
            ],
            "unchanged": [
                *memorization_tables(comparison, changed=False),
                *disclosure_tables(comparison, changed=False),
            ],
            "forgetting": forgetting,
            "verdict": None if forgetting is None else VERDICTS[forgetting.verdict],
            "meaning": None if forgetting is None else MEANINGS[forgetting.verdict],
            "next_step": None if forgetting is None else NEXT_STEPS[forgetting.verdict],
            "collapse": None
            if forgetting is None
            else collapse_sentence(
                forgetting.verdict, forgetting.collapsed, is_trained_again=forgetting.is_trained_again
            ),
            "forgetting_table": None if forgetting is None else forgetting_table(forgetting),
            "cost": cost_table(forgetting) if forgetting is not None and forgetting.collateral else None,
            "health": None if forgetting is None else health_table(forgetting.health),
        },
    )
