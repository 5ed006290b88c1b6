"""How well a judge reads, in plain text, for `judge-check`: its figures, over all texts and by diagnosis."""

from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.estimates.registry import METRICS
from clinaudit.reports.schema.judge import LabelSource
from clinaudit.reports.terminal.layout import align_columns
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.figures import row_text
from clinaudit.reports.wording.names import display_title


def judge_text(name: str, labels: LabelSource, figures: Estimates) -> str:
    """Return a table of the judge's figures; `labels`: whose texts it was scored on."""
    texts = "the synthetic texts that ship" if labels == "shipped" else "the labelled texts given"
    rows = [("Figure", "95% interval in brackets")]
    rows += [
        (METRICS[row.metric].title + (f", {display_title(row.diagnosis)}" if row.diagnosis else ""), row_text(row))
        for row in figures
    ]
    return f"The judge {harmless_text(name)}, scored on {texts}\n\n{align_columns(rows)}"
