"""The chart of queries needed: patients whose text an insider gets in 1, 10, 100, 1,000 and 10,000 queries."""

from collections.abc import Mapping

from clinaudit.reports.figures.bars import SERIES, BarFigure, BarRow, Cell, Series, share_bar
from clinaudit.reports.schema.extraction import QUERY_LIMITS, QueriesResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.extraction import limits_of
from clinaudit.reports.wording.names import ARM_WORDS, BEFORE_TRAINING, order_tiers, short_asker
from clinaudit.reports.wording.numbers import estimate_text, is_measured

_KEY = "Pale: a range. Thin line: 95% interval. Upright line: the policy's limit on what is beyond the never seen."


def queries_figure(results: RunResults) -> BarFigure:
    """Return the share of patients by number of queries, tier by tier, and by the control model where there is one."""
    shown = [_columns(arms) for arms in results.queries.values()]
    heads = list(dict.fromkeys(head for columns in shown for head in columns))
    rows: list[BarRow] = []
    for tier in order_tiers(results.queries):
        columns = _columns(results.queries[tier])
        limits = limits_of(results, tier)
        rows.append(BarRow(short_asker(tier), ()))
        for most in map(str, QUERY_LIMITS):
            cells = [
                _cell(columns[head], most, limits.get(most) if head == ARM_WORDS["train"].capitalize() else None)
                if head in columns
                else Cell(())
                for head in heads
            ]
            rows.append(BarRow(f"{int(most):,} {'query' if most == '1' else 'queries'}", tuple(cells)))
    title = "Patients whose own text comes within so many queries"
    return BarFigure("queries-needed", title, "", ("Asked", *heads), tuple(rows), _KEY if rows else "")


_Column = tuple[Series, Mapping[str, EstimateRange]]


def _columns(arms: Mapping[Arm, QueriesResults]) -> dict[str, _Column]:
    columns: dict[str, _Column] = {
        ARM_WORDS[arm].capitalize(): (SERIES[arm], arms[arm].within) for arm in ARMS if arm in arms
    }
    train = arms.get("train")
    if train is not None and train.control_within is not None:
        columns[BEFORE_TRAINING.capitalize()] = ("plain", train.control_within)
    return columns


def _cell(column: _Column, most: str, limit: float | None) -> Cell:
    series, within = column
    estimate = within.get(most)
    text = estimate_text(estimate, share=True)
    if not is_measured(estimate):
        return Cell((), text)
    return Cell((share_bar(estimate, series=series, text=text, limit=limit),))
