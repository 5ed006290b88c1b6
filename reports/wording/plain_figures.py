"""A row of the table of estimates within a sentence: "23 of 130", "fewer than 11 of 59", "below 8%".

Owns the words in place of the signs that tables have (`figures`), and by which figure places compare.
"""

from typing import Final

from clinaudit.reports.estimates.frame import Row
from clinaudit.reports.estimates.registry import METRICS
from clinaudit.reports.wording.figures import counts_text, row_text
from clinaudit.reports.wording.numbers import NOT_MEASURED

_WHOLE: Final = {"count", "design"}


def count_text(row: Row | None) -> str:
    """Return of how many patients, of how many: "59 of 59", "fewer than 11 of 59", "none of 59"."""
    text = "" if row is None else counts_text(row)
    words = text.replace("<", "fewer than ").replace(">", "more than ")
    return f"none{words[1:]}" if words.startswith("0 of ") else words or NOT_MEASURED


def figure_words(row: Row | None, *, interval: bool = False) -> str:
    """Return the figure, with `interval` its 95% interval: "73% (63 to 82)", "+0.41 (0.32 to 0.50)"; or why none is."""
    if row is not None and row.value is not None and METRICS[row.metric].unit in _WHOLE:
        return f"{row.value:,.0f}"
    return row_text(row, interval=interval).replace("<", "below ").replace(">", "above ")


def counted_text(row: Row | None) -> str:
    """Return the count of a share of patients where there is one, else the figure."""
    is_counted = row is not None and METRICS[row.metric].unit == "share" and counts_text(row) and "-" not in row.arm
    return count_text(row) if is_counted else figure_words(row)


def highest(row: Row | None) -> float:
    """Return a figure to compare places by: its value, else its upper end; −1 where there is none."""
    if row is None:
        return -1.0
    return next((end for end in (row.value, row.high) if end is not None), -1.0)
