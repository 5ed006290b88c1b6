"""The part “Diagnoses”: of whom the model says that they have a diagnosis, rightly, wrongly, and beyond guessing.

Owns what the part shows and in which order.
"""

from clinaudit.reports.figures.disclosure import excess_figure, stated_figure
from clinaudit.reports.schema.report_content import ReportContent
from clinaudit.reports.tables.judge import judge_sentence
from clinaudit.reports.wording.captions import stated_sentences


def context(content: ReportContent) -> dict[str, object]:
    """Return what `diagnoses.html.j2` shows, as `diagnoses`."""
    results = content.results
    stated = stated_figure(results)
    return {
        "sentences": stated_sentences(results),
        "judge": judge_sentence(results.judge_quality) if stated.rows else "",
        "stated": stated,
        "excess": excess_figure(results),
    }
