"""Bands in place of AUROCs and mention rates that rest on a hidden count.

These figures depend on every cell of the status × outcome table. A band is made in two steps. First the hidden exposed
counts are taken out: the figure is moved to where it would stand with each at the middle of its range, so the band does
not depend on them (without this step a reader who knows that no verdict was ambiguous or negative could tell a hidden
10 from a hidden 9 at the edge of a grid cell: tried, and found by test). Then the grid cell that holds the result, wide
enough for ten patients to change their outcome, is widened by what was moved. Width and slack are those of the smallest
class that there may be, so that they do not tell a hidden size either. Rounding the interval outwards instead was
rejected: bounds rounded at two phases pin the value down.
"""

from clinaudit.reports.schema.disclosure import Disclosure, DisclosurePair, TestedDelta
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.suppression.outcome_table import OutcomeTable, read_table
from clinaudit.reports.suppression.small_cells import (
    grid_cell,
    grid_width,
    hidden_range,
    is_small,
    published_range,
    withhold,
)
from clinaudit.reports.suppression.tier_sizes import has_few_dropped, has_few_unjudged
from clinaudit.reports.suppression.unjudged import judged_of_class


def least_class_size(arm: Disclosure, table: OutcomeTable, *, set_count: int, few_dropped: bool) -> int:
    """Return the least size that the smaller class has for all that is known: bands must not tell a hidden one."""
    few_dropped = few_dropped or is_small(set_count - table.generations // 2)
    if few_dropped or has_few_unjudged(arm, table):
        return judged_of_class(table, sets=set_count, few_dropped=few_dropped).least
    return min(table.positives, table.negatives)


def auroc_bands(arm: Disclosure, table: OutcomeTable, class_size: int) -> dict[str, Estimate]:
    """Return both AUROCs as bands; the smaller class has `class_size` patients or more."""
    smaller_class = min(class_size, table.mentioned // 2)
    return {
        "auroc": withhold(arm.auroc) if is_small(table.mentioned) else _on_grid(arm.auroc, smaller_class, centre=0.5),
        "auroc_all": _auroc_all_band(arm.auroc_all, table, class_size),
    }


def mention_band(rate: Estimate, table: OutcomeTable, least_judged: int) -> Estimate:
    """Return the band of a mention rate over `least_judged` patients or more."""
    width = grid_width(least_judged)
    if rate.value is None or width is None:
        return withhold(rate)
    judged = table.generations - table.unjudged
    hidden = _hidden_exposures(table)
    value = rate.value - sum(distance for distance, *_ in hidden) / judged
    slack = sum(half for _, half, *_ in hidden) / least_judged
    return grid_cell(value, width=width, centre=0.5, floor=0.0, ceiling=1.0, slack=slack)


def auroc_delta(
    delta: TestedDelta, metric: str, pair: DisclosurePair, arms: tuple[Estimate, Estimate], set_count: int
) -> Estimate:
    """Return the band of a difference whose two sides are published as `arms`; `set_count` sets were matched."""
    tables = (read_table(pair.train), None if pair.nontrain is None else read_table(pair.nontrain))
    train, nontrain = tables
    if delta.value is None or train is None or nontrain is None or any(published_range(arm) is None for arm in arms):
        return withhold(delta)
    smallest = min(
        least_class_size(arm, table, set_count=set_count, few_dropped=has_few_dropped(pair))
        for arm, table in ((pair.train, train), (pair.nontrain, nontrain))
        if arm is not None
    )
    if metric == "auroc":
        smallest = min(smallest, train.mentioned // 2, nontrain.mentioned // 2)
        return _on_grid(delta, smallest, centre=0.0, floor=-1.0)
    width = grid_width(smallest, per_patient=0.5)
    if width is None:
        return withhold(delta)
    moved_train, slack_train = _without_hidden_exposures(0.0, train, smallest)
    moved_nontrain, slack_nontrain = _without_hidden_exposures(0.0, nontrain, smallest)
    value = delta.value + moved_train - moved_nontrain
    slack = slack_train + slack_nontrain
    return grid_cell(value, width=width, centre=0.0, floor=-1.0, ceiling=1.0, slack=slack)


def _auroc_all_band(auroc_all: Estimate, table: OutcomeTable, class_size: int) -> Estimate:
    width = grid_width(class_size, per_patient=0.5)
    if auroc_all.value is None or width is None:
        return withhold(auroc_all)
    value, slack = _without_hidden_exposures(auroc_all.value, table, class_size)
    return grid_cell(value, width=width, centre=0.5, floor=0.0, ceiling=1.0, slack=slack)


def _on_grid(estimate: Estimate, smaller_class: int, *, centre: float, floor: float = 0.0) -> Estimate:
    width = grid_width(smaller_class)
    if estimate.value is None or width is None:
        return withhold(estimate)
    return grid_cell(estimate.value, width=width, centre=centre, floor=floor, ceiling=1.0)


def _without_hidden_exposures(auroc_all: float, table: OutcomeTable, class_size: int) -> tuple[float, float]:
    """Return `auroc_all` with hidden exposed counts at their middles, and how far that may be from the figure.

    Moving one of n patients from no mention (½) to positive (1) changes it by at most ½/n; `class_size` is the least
    that n may be.
    """
    slack = 0.0
    for distance, half, size, sign in _hidden_exposures(table):
        auroc_all -= sign * 0.5 * distance / size
        slack += 0.5 * half / min(size, class_size)
    return auroc_all, slack


def _hidden_exposures(table: OutcomeTable) -> list[tuple[float, float, int, int]]:
    """Return, for each exposed count that is hidden: its distance from the middle of its range, half that range,
    the size of its class, and the sign with which it enters an AUROC.
    """
    hidden = []
    for count, size, sign in ((table.exposed, table.positives, 1), (table.false_alarms, table.negatives, -1)):
        range_ = hidden_range(count, size)
        if range_ is not None:
            low, high = range_
            hidden.append((count - (low + high) / 2, (high - low) / 2, size, sign))
    return hidden
