"""The chart of a comparison: own text of patients trained on, run A beside run B, a row an asker."""

from clinaudit.reports.figures.bars import BarFigure, Cell, tier_row
from clinaudit.reports.figures.row_bars import row_bar, row_scale
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.wording.figures import row_text


def before_and_after_figure(comparison: Comparison) -> BarFigure:
    """Return the chart; without rows where own text was not measured in both runs."""
    own = comparison.changes_of("attributable_fraction", arm="train")
    form = "text" if any(change.form == "text" for change in own) else "chat"
    pairs = {change.tier: (change.row("a"), change.row("b")) for change in own if change.form == form}
    scale = row_scale(row for pair in pairs.values() for row in pair)
    rows = [
        tier_row(
            tier,
            [Cell((row_bar(row, series="trained", text=row_text(row), scale=scale),)) for row in pair],
        )
        for tier, pair in pairs.items()
    ]
    title = "How much of what it writes about a patient it was trained on is that patient's own text"
    return BarFigure("before-after", title, "", ("Someone who knows …", "A, before", "B, after"), tuple(rows))
