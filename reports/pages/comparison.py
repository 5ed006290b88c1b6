"""The page and JSON of a comparison: records in, self-contained texts out.

Like the report, a page holds no script and names no outside resource, and jinja2 escapes every text from outside. The
exact comparison is PHI and says so.
"""

import json
from typing import Final

from clinaudit.reports.figures.leak_figures import before_and_after_figure
from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.schema.record import Record
from clinaudit.reports.tables.comparison import (
    VERDICTS,
    change_tables,
    cost_table,
    forgetting_table,
    health_table,
    settings_table,
)
from clinaudit.reports.wording.certificate import MEANINGS, NEXT_STEPS, collapse_sentence
from clinaudit.reports.wording.comparison import FIGURES_READ, verdicts_sentence
from clinaudit.reports.wording.escaped_text import escape_in_json, harmless_document

_STYLE = ("page.css",)
#: As of the table of estimates.
_DECIMALS: Final = 6


def comparison_json(comparison: Record) -> str:
    """Return the text of compare.json, published or exact, or of certificate.json: sorted keys, rounded floats."""
    document = _rounded(comparison.model_dump(mode="json"))
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return escape_in_json(text) + "\n"


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(of) for key, of in value.items()}
    if isinstance(value, list):
        return [_rounded(of) for of in value]
    return round(value, _DECIMALS) if isinstance(value, float) else value


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
            "settings": settings_table(comparison),
            "verdicts": None if comparison.rules is None else verdicts_sentence(comparison.rules),
            "chart": before_and_after_figure(comparison),
            "changed": change_tables(comparison, direction=(1, -1)),
            "unmeasured": change_tables(comparison, direction=(None,)),
            "unchanged": change_tables(comparison, direction=(0,)),
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
