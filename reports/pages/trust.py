"""The part “Can it be trusted?”: the flow of numbers, balance, the judge, limits, and the run's warnings.

Owns what the part shows and in which order.
"""

from clinaudit.reports.figures.flow import flow_steps
from clinaudit.reports.schema.report_content import ReportContent
from clinaudit.reports.tables.judge import judge_caveat_sentences, judge_matrix_table
from clinaudit.reports.wording.trust import LIMITS, balance_sentence, judge_quality_sentences


def context(content: ReportContent) -> dict[str, object]:
    """Return what `trust.html.j2` shows, as `trust`."""
    results = content.results
    judge = (judge_quality_sentences(results.judge_quality), judge_caveat_sentences(results.judge_quality))
    return {
        "flow": flow_steps(results),
        "balance": balance_sentence(results),
        "judge": " ".join(sentence for sentence in judge if sentence),
        "matrix": judge_matrix_table(results),
        "limits": LIMITS,
        "warnings": [*results.warnings, *(results.corpus.warnings if results.corpus else ())],
    }
