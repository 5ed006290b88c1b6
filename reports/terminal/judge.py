"""How well a judge reads, in plain text, for `clinaudit judge-check`. At most 100 columns."""

from clinaudit.reports.schema.judge import JudgeResults
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.judge import judge_caveat_sentences, judge_matrix_table, judge_metrics_table
from clinaudit.reports.terminal.layout import align_columns, wrap


def judge_text(quality: JudgeResults) -> str:
    """Return the judge's confusion matrix and metrics, and what they are worth."""
    results = RunResults(judge_quality=quality)
    matrix, metrics = judge_matrix_table(results), judge_metrics_table(results)
    lines = "\n".join(wrap(f"{title}: {value}", indent="  ") for title, value in metrics.rows)
    caveat = wrap(judge_caveat_sentences(quality), indent="")
    table = align_columns([matrix.columns, *matrix.rows])
    return f"{matrix.caption}\n\n{table}\n\n{metrics.caption}\n\n{lines}\n\n{caveat}\n"
