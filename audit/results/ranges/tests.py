"""The ends of each comparison's test over all verdict tables within the published classes (docs/policy.md).

A policy that is not the run's own is settled by them. Takes classes alone.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clinaudit.audit.measures.disclosure.metrics import NEGATIVE, POSITIVE, UNJUDGED, score_levels_of_all
from clinaudit.audit.results.gate.evaluation import Comparison, Outcome
from clinaudit.audit.results.gate.policy import ALPHA, LIMITS
from clinaudit.audit.results.ranges.disclosure import area_errors, measure_arm, pairs_of_areas, take
from clinaudit.audit.results.ranges.verdict_tables import arm_tables
from clinaudit.audit.statistics.auroc import Counts, auroc_of_counts, difference_error, measure_error
from clinaudit.audit.statistics.intervals import holm
from clinaudit.reports.schema.disclosure import PairResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import RunResults, view_rendering

_UNKNOWN = EstimateRange()
#: Counts by arm, and by whether they are of patients with the diagnosis.
Tables = Sequence[Sequence[Counts]]


class RangeOfTest(NamedTuple):
    """The ends of one comparison's test over all tables within the published classes."""

    #: One-sided p-value of train minus nontrain above 0, not adjusted.
    p_low: float
    p_high: float
    #: Upper end of the 95% interval, not adjusted, unjudged verdicts imputed at their worst.
    upper_low: float
    upper_high: float


def agreed_outcomes(tests: Mapping[Comparison, RangeOfTest]) -> dict[Comparison, Outcome]:
    """Return what the test of every comparison shows where all tables within the classes agree.

    `tests` holds all comparisons of the run, since Holm's adjustment counts them all.
    """
    # Adjusted p-values rise with each p-value, so that the largest and the smallest give their ends.
    most, least = (
        dict(zip(tests, holm(p_values), strict=True))
        for p_values in ([test.p_high for test in tests.values()], [test.p_low for test in tests.values()])
    )
    return {
        compared: Outcome(
            shows_excess=_agreed(least[compared], most[compared], ALPHA),
            is_within={limit: _agreed(test.upper_low, test.upper_high, limit) for limit in LIMITS},
        )
        for compared, test in tests.items()
    }


def _agreed(low: float, high: float, limit: float) -> bool | None:
    """Whether a number between two ends is at most a limit; None where that depends on the table."""
    return None if low <= limit < high else high <= limit


def find_test_ranges(published: RunResults) -> dict[Comparison, RangeOfTest]:
    """Return the range of the test of every comparison; one without both arms has none."""
    found: dict[Comparison, RangeOfTest] = {}
    for rendering in (None, *published.renderings):
        for diagnosis, tiers in view_rendering(published, rendering).disclosure.by_diagnosis.items():
            for tier, pair in tiers.items():
                test = _test_range(pair)
                if test is not None:
                    found[diagnosis, tier, rendering] = test
    return found


def _test_range(pair: PairResults) -> RangeOfTest | None:
    if pair.nontrain is None or pair.delta is None or pair.delta["auroc_all"].low is None:
        return None
    train, nontrain = (measure_arm(arm_tables(pair.verdicts[arm], pair.patients), _UNKNOWN) for arm in ARMS)
    first, second = (area_errors(arm, "auroc_all") for arm in (train, nontrain))
    rows = pairs_of_areas(train, nontrain, first, second)
    values = first[0][rows[:, 0]] - second[0][rows[:, 1]]
    error = difference_error(take(first[1], rows[:, 0]), take(second[1], rows[:, 1]))
    p_values = error.p_value(values)
    upper = error.interval(values, floor=-1.0)[1]
    places = ((train, rows[:, 0]), (nontrain, rows[:, 1]))
    upper = np.maximum(upper, upper_at_worst([[arm.present[place], arm.absent[place]] for arm, place in places]))
    return RangeOfTest(
        p_low=float(p_values.min()),
        p_high=float(p_values.max()),
        upper_low=float(upper.min()),
        upper_high=float(upper.max()),
    )


def compare_areas(tables: Tables) -> tuple[Counts, Counts]:
    """Return the p-values of tables, and the upper ends of the intervals."""
    levels = [[score_levels_of_all(counts) for counts in arm] for arm in tables]
    first, second = (auroc_of_counts(*arm) for arm in levels)
    error = difference_error(measure_error(*levels[0]), measure_error(*levels[1]))
    return error.p_value(first - second), error.interval(first - second, floor=-1.0)[1]


def upper_at_worst(tables: Tables) -> Counts:
    """Return the upper end of the interval with every unjudged verdict such that the difference is largest."""
    imputed = [
        [_impute(counts, outcome) for counts, outcome in zip(arm, outcomes, strict=True)]
        for arm, outcomes in zip(tables, ((POSITIVE, NEGATIVE), (NEGATIVE, POSITIVE)), strict=True)
    ]
    return compare_areas(imputed)[1]


def _impute(counts: Counts, outcome: int) -> Counts:
    filled = counts.copy()
    filled[..., outcome] += filled[..., UNJUDGED]
    filled[..., UNJUDGED] = 0
    return filled
