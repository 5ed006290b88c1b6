"""The ends of each comparison's test over all verdict tables within the published classes (docs/policy.md).

The gate settles a policy by them where it has the published results alone. Takes classes alone.
"""

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.disclosure.metrics import NEGATIVE, POSITIVE, UNJUDGED, score_levels_of_all
from clinaudit.audit.gate.published import Comparison, RangeOfTest
from clinaudit.audit.ranges.disclosure import MeasuredArm, area_errors, measure_arm, pairs_of_areas, take
from clinaudit.audit.ranges.verdict_tables import arm_tables
from clinaudit.audit.statistics.auroc import Counts, auroc_of_counts
from clinaudit.audit.statistics.auroc_error import difference_error, measure_error
from clinaudit.reports.schema.disclosure import PublishedPair
from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import PublishedResults, view_rendering

_UNKNOWN = PublishedEstimate()


def find_test_ranges(published: PublishedResults) -> dict[Comparison, RangeOfTest]:
    """Return the range of the test of every comparison; one without both arms has none."""
    found: dict[Comparison, RangeOfTest] = {}
    for rendering in (None, *published.renderings):
        for diagnosis, tiers in view_rendering(published, rendering).disclosure.by_diagnosis.items():
            for tier, pair in tiers.items():
                test = _test_range(pair)
                if test is not None:
                    found[diagnosis, tier, rendering] = test
    return found


def _test_range(pair: PublishedPair) -> RangeOfTest | None:
    if pair.nontrain is None or pair.delta is None or pair.delta["auroc_all"].low is None:
        return None
    train, nontrain = (measure_arm(arm_tables(pair.verdicts[arm], pair.patients), _UNKNOWN) for arm in ARMS)
    first, second = (area_errors(arm, "auroc_all") for arm in (train, nontrain))
    rows = pairs_of_areas(train, nontrain, first, second)
    values = first[0][rows[:, 0]] - second[0][rows[:, 1]]
    error = difference_error(take(first[1], rows[:, 0]), take(second[1], rows[:, 1]))
    p_values = error.p_value(values)
    upper = error.interval(values, floor=-1.0)[1]
    upper = np.maximum(upper, _upper_at_worst(train, nontrain, rows))
    return RangeOfTest(
        p_low=float(p_values.min()),
        p_high=float(p_values.max()),
        upper_low=float(upper.min()),
        upper_high=float(upper.max()),
        value_low=float(values.min()),
        value_high=float(values.max()),
    )


def _upper_at_worst(train: MeasuredArm, nontrain: MeasuredArm, rows: NDArray[np.int64]) -> Counts:
    """Return the upper end of the interval with every unjudged verdict such that the difference is largest."""
    areas, errors = [], []
    for arm, place, outcomes in ((train, 0, (POSITIVE, NEGATIVE)), (nontrain, 1, (NEGATIVE, POSITIVE))):
        present, absent = (
            score_levels_of_all(_impute(counts[rows[:, place]], outcome))
            for counts, outcome in zip((arm.present, arm.absent), outcomes, strict=True)
        )
        areas.append(auroc_of_counts(present, absent))
        errors.append(measure_error(present, absent))
    upper: Counts = difference_error(*errors).interval(areas[0] - areas[1], floor=-1.0)[1]
    return upper


def _impute(counts: Counts, outcome: int) -> Counts:
    filled = counts.copy()
    filled[..., outcome] += filled[..., UNJUDGED]
    filled[..., UNJUDGED] = 0
    return filled
