"""The part “Repeated text”: how much of a patient's own text comes back, from which parts of the notes, and whose.

Owns what the part shows and in which order.
"""

from clinaudit.reports.figures.groups import groups_figure
from clinaudit.reports.figures.memorization import others_text_figure, own_text_figure, sections_figure
from clinaudit.reports.schema.report_content import ReportContent
from clinaudit.reports.wording.captions import (
    others_fail,
    others_text_sentences,
    own_text_sentences,
    shown_tier,
    spread_sentence,
)
from clinaudit.reports.wording.refusals import refusal_sentences


def context(content: ReportContent) -> dict[str, object]:
    """Return what `repeated_text.html.j2` shows, as `repeated_text`."""
    results = content.results
    tier = shown_tier(results.memorization)
    spread = None if content.exact is None or tier is None else content.exact.spread.get(tier, {}).get("train")
    return {
        "sentences": [*own_text_sentences(results), *refusal_sentences(results)],
        "by_tier": own_text_figure(results),
        "sections": sections_figure(results),
        "groups": groups_figure(results),
        # Where it decides nothing, it stands in the annex.
        "others": others_text_figure(results) if others_fail(results) else None,
        "others_sentences": others_text_sentences(results),
        "worst_patients": spread_sentence(spread),
    }
