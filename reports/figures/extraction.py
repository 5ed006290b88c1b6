"""The chart of queries needed: patients whose text an insider gets in 1, 10, 100, 1,000 and 10,000 queries."""

from collections.abc import Mapping
from typing import get_args

from clinaudit.reports.figures.bars import SERIES, BarFigure, BarRow, Cell, Series, share_bar
from clinaudit.reports.schema.attacks import QueriesResults, QueryLimit
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.attacks import limits_of
from clinaudit.reports.wording.names import ARM_WORDS, BEFORE_TRAINING, order_tiers, short_asker
from clinaudit.reports.wording.numbers import counted, estimate_text, is_measured

_KEY = "Pale: a range. Thin line: 95% interval."
_LIMIT = " Upright line: the most by which the policy lets this share exceed the one in the column beside it."
_BEFORE = BEFORE_TRAINING.capitalize()
_ORDER = (*(ARM_WORDS[arm].capitalize() for arm in ARMS), _BEFORE)
#: Colour, and the shares by number of queries.
_Column = tuple[Series, Mapping[QueryLimit, EstimateRange]]


def queries_figure(results: RunResults) -> BarFigure:
    """Return the share of patients by number of queries, tier by tier, and by the control model where there is one."""
    shown = {head for arms in results.queries.values() for head in _columns(arms)}
    heads = [head for head in _ORDER if head in shown]
    rows: list[BarRow] = []
    has_limit = False
    for tier in order_tiers(results.queries):
        columns = _columns(results.queries[tier])
        limits = limits_of(results, tier)
        has_limit |= bool(limits)
        rows.append(BarRow(short_asker(tier), ()))
        for most in get_args(QueryLimit):
            limit = limits.get(int(most))
            cells = [_cell(columns.get(head), most, limit if head == _ORDER[0] else None) for head in heads]
            rows.append(BarRow(counted(int(most), "query", "queries"), tuple(cells)))
    key = _KEY + (_LIMIT if has_limit else "")
    title = "Patients whose own text comes, with an even chance, within so many queries"
    return BarFigure("queries-needed", title, "", ("Asked", *heads), tuple(rows), key if rows else "")


def _columns(arms: Mapping[Arm, QueriesResults]) -> dict[str, _Column]:
    columns: dict[str, _Column] = {
        ARM_WORDS[arm].capitalize(): (SERIES[arm], arms[arm].within) for arm in ARMS if arm in arms
    }
    if "train" in arms and arms["train"].control_within is not None:
        columns[_BEFORE] = ("plain", arms["train"].control_within)
    return columns


def _cell(column: _Column | None, most: QueryLimit, limit: float | None) -> Cell:
    if column is None:
        return Cell(())
    series, within = column
    estimate = within.get(most)
    text = estimate_text(estimate, share=True)
    if not is_measured(estimate):
        return Cell((), text)
    return Cell((share_bar(estimate, series=series, text=text, limit=limit),))
