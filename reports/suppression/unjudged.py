"""Rates of which few verdicts or matched sets are missing: the ranges that are published in their place.

Where 1 to 10 of `asked` patients are unjudged, or of the sets dropped, a rate over the judged would count them, even to
two decimals: 0.32 of about 45 is 14 of 44. Every range here follows from numbers that are published (the matched sets,
a numerator of more than ten), for any number of missing ones that a reader must think possible.
"""

from typing import NamedTuple

from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.suppression.outcome_table import OutcomeTable
from clinaudit.reports.suppression.small_cells import LARGEST_HIDDEN, band, blur, is_small, rate_of_none


class JudgedRange(NamedTuple):
    """How many of `asked` patients may have been judged."""

    asked: int
    least: int


def judged_of_class(table: OutcomeTable, *, sets: int, few_dropped: bool) -> JudgedRange:
    """Return the range for patients of one status; `sets` were matched, and dropped for some reason in small number.

    Arms of fewer than 11 are not published, so that there are as many at least.
    """
    asked, least = _kept_sets(table, sets, few_dropped=few_dropped)
    if table.unjudged:
        least -= max(LARGEST_HIDDEN, table.unjudged)
    return JudgedRange(asked, max(LARGEST_HIDDEN + 1, least))


def judged_of_both(table: OutcomeTable, *, sets: int, few_dropped: bool) -> JudgedRange:
    """Return the range for all patients of the matched sets."""
    asked, least = (2 * kept for kept in _kept_sets(table, sets, few_dropped=few_dropped))
    if is_small(table.unjudged):
        least -= LARGEST_HIDDEN
    else:
        asked, least = asked - table.unjudged, least - table.unjudged
    return JudgedRange(asked, max(2 * (LARGEST_HIDDEN + 1), least))


def _kept_sets(table: OutcomeTable, sets: int, *, few_dropped: bool) -> JudgedRange:
    kept = table.generations // 2
    if not few_dropped:
        return JudgedRange(kept, kept)
    tens = -(-(sets - kept) // LARGEST_HIDDEN)
    return JudgedRange(sets - max(0, tens - 1) * LARGEST_HIDDEN, sets - max(1, tens) * LARGEST_HIDDEN)


def count_range(count: int, judged: int, of: JudgedRange) -> tuple[int, int]:
    """Return the counts that a reader must think possible, in place of `count` among `judged` patients."""
    if 0 < count < judged and of.asked <= 2 * LARGEST_HIDDEN:
        return 1, of.asked - 1
    if is_small(count):
        return 1, LARGEST_HIDDEN
    if is_small(judged - count):
        return max(0, of.least - LARGEST_HIDDEN), of.asked - 1
    if count and count == judged:
        return of.least, of.asked
    return count, count


def rate_over_judged(rate: Estimate, count: int, judged: int, of: JudgedRange) -> Estimate:
    """Return the range of a rate; none and all tell of nobody and stay, with the bounds of the fewest that may be."""
    if rate.value is None:
        return blur(rate)
    if count == 0:
        return rate_of_none(of.least)
    if count == judged:
        none = rate_of_none(of.least)
        return Estimate(value=1.0, low=1 - (none.high or 0.0), high=1.0)
    if 0 < count < judged and of.asked <= 2 * LARGEST_HIDDEN:
        return band(1 / of.asked, 1 - 1 / of.asked)
    if is_small(judged - count) and not is_small(count):
        return band(max(0.0, 1 - LARGEST_HIDDEN / of.least), 1 - 1 / of.asked)
    low, high = count_range(count, judged, of)
    return band(low / of.asked, min(1.0, high / of.least))
