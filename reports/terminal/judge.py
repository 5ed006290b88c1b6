"""How well a judge reads, in plain text, for `judge-check`: over all texts, by diagnosis and by kind of sentence."""

from collections.abc import Sequence

from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.estimates.registry import METRICS
from clinaudit.reports.schema.judge import LabelSource
from clinaudit.reports.terminal.layout import align_columns
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.figures import row_text
from clinaudit.reports.wording.names import display_title


def judge_text(
    name: str, labels: LabelSource, figures: Estimates, kinds: Sequence[tuple[str, int, int, int, int]]
) -> str:
    """Return a table of the judge's figures, and one by kind of sentence; `labels`: whose texts it was scored on.

    A row of `kinds` is a kind, the texts read rightly, of how many, those taken for positive, and of how many others.
    """
    texts = "the synthetic texts that ship" if labels == "shipped" else "the labelled texts given"
    rows = [("Figure", "95% interval in brackets")]
    rows += [
        (METRICS[row.metric].title + (f", {display_title(row.diagnosis)}" if row.diagnosis else ""), row_text(row))
        for row in figures
    ]
    text = f"The judge {harmless_text(name)}, scored on {texts}\n\n{align_columns(rows)}"
    if not kinds:
        return text
    by_kind = [("Kind of sentence", "Read rightly", "Taken for positive")]
    by_kind += [
        (harmless_text(kind), f"{right} of {of}", f"{taken} of {others}" if others else "")
        for kind, right, of, taken, others in kinds
    ]
    return f"{text}\n\n{align_columns(by_kind)}"
