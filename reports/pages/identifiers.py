"""The part “Identifiers”: which of HIPAA's 18 the model gives out, of whom, and how surely they are found.

Owns what the part shows and in which order.
"""

from clinaudit.reports.figures.identifiers import verified_figure
from clinaudit.reports.schema.report_content import ReportContent
from clinaudit.reports.tables.identifiers import hipaa_table
from clinaudit.reports.wording.identifiers import DEFINITION, identifier_sentences


def context(content: ReportContent) -> dict[str, object]:
    """Return what `identifiers.html.j2` shows, as `identifiers`."""
    results = content.results
    return {
        "definition": DEFINITION,
        "sentences": identifier_sentences(results),
        "by_tier": verified_figure(results),
        "table": hipaa_table(results),
    }
