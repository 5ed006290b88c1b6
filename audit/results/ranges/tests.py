"""The ends of each comparison's test over all verdict tables within the published classes (docs/policy.md).

A policy that is not the run's own is settled by them. Takes classes alone.

And where the verdict on a diagnosis may turn, so that its word gives no count away (docs/methods.md, section 10). A
comparison is decided on exact counts. Where hardly any table within the published classes is decided as the run's own
was, the word itself tells which table it is. So a threshold is moved, always towards "inconclusive", to the nearest
place at which the tables on either side leave every count of 1 to 10 at least three values; and that with the words
under every limit that a policy may have. Where it lies depends on the published classes alone: on tables drawn within
them.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.measures.disclosure.metrics import NEGATIVE, NOT_MENTIONED, POSITIVE, UNJUDGED, score_levels_of_all
from clinaudit.audit.results.gate.evaluation import Comparison, Outcome
from clinaudit.audit.results.gate.policy import ALPHA, LIMITS
from clinaudit.audit.results.ranges.disclosure import area_errors, measure_arm, pairs_of_areas, take
from clinaudit.audit.results.ranges.verdict_tables import arm_tables, cell_bounds, cells_of
from clinaudit.audit.statistics.auroc import Counts, auroc_of_counts, difference_error, measure_error
from clinaudit.audit.statistics.intervals import holm
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, PairResults, VerdictCounts
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.results import RunResults, view_rendering
from clinaudit.reports.tally.classes import STEP

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
    """Return the range of the test of every comparison; one without anybody beside those trained on has none."""
    found: dict[Comparison, RangeOfTest] = {}
    for rendering in (None, *published.renderings):
        for diagnosis, tiers in view_rendering(published, rendering).disclosure.by_diagnosis.items():
            for tier, pair in tiers.items():
                test = _test_range(pair)
                if test is not None:
                    found[diagnosis, tier, rendering] = test
    return found


def _test_range(pair: PairResults) -> RangeOfTest | None:
    if pair.delta is None or pair.delta["auroc_all"].low is None:
        return None
    train, nontrain = (measure_arm(arm_tables(pair.verdicts[arm], pair.patients), _UNKNOWN) for arm in pair.compared)
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


#: Values that every count of 1 to 10 keeps.
_ENOUGH: Final = 3
#: Tables drawn; half of their cells lie at an end of their class, where a test has its extremes.
_TABLES: Final = 4096
_SEED: Final = 0
#: The cells of a row, by place in `disclosure.metrics.OUTCOMES`: the undecided are one cell.
_CELLS: Final = (NEGATIVE, NOT_MENTIONED, POSITIVE, UNJUDGED)

Values = NDArray[np.float64]


class DrawnTables(NamedTuple):
    """Tables within the classes of one comparison, with their tests."""

    #: Over all tables.
    ends: RangeOfTest
    p_values: Values
    #: Upper end of the 95% interval, unjudged verdicts imputed at their worst.
    upper: Values
    #: `(tables, counts)`: the counts of 1 to 10, which must keep some values.
    small: Values


def safe_level(drawn: DrawnTables, level: float) -> float:
    """Return the largest level up to `level` at which the test may be decided; below 0 where none may be.

    `level` is what Holm's adjustment leaves of the policy's.
    """
    return _turn(drawn.p_values, drawn.small, level, most=drawn.ends.p_high)


def safe_limits(drawn: DrawnTables, level: float) -> dict[float, float]:
    """Return for each of `LIMITS` the largest upper end up to it at which a comparison may pass, whatever others say.

    Of the tables that do not fail at `level`, as `safe_level` gave it. Two limits may turn at one place.
    """
    rest = drawn.p_values > level
    upper, small = drawn.upper[rest], drawn.small[rest]
    found, passed = {}, -np.inf
    for limit in LIMITS:
        passed = max(passed, _turn(upper, small, limit, most=drawn.ends.upper_high))
        found[limit] = passed
        upper, small = upper[upper > passed], small[upper > passed]
    return found


def _turn(statistic: Values, small: Values, threshold: float, *, most: float) -> float:
    """Return the largest place up to `threshold` with enough values of every count on either side; -1 without one.

    `most` is the largest statistic of any table.
    """
    order = np.argsort(statistic, kind="stable")
    statistic, small = statistic[order], small[order]
    below = int(np.searchsorted(statistic, threshold, side="right"))
    if most <= threshold or not small.shape[1]:
        return threshold
    if not below:
        return -1.0
    first = max(_needed(column) for column in small.T)
    last = len(statistic) - max(_needed(column) for column in small[::-1].T)
    place = min(below, last)
    if place < first:
        return -1.0
    if place == below:
        return threshold
    # Equal statistics stay on one side.
    return float(np.nextafter(statistic[place], -np.inf))


def _needed(column: Values) -> int:
    """Return how many leading tables hold enough values of one count; more than there are where all do not."""
    _, firsts = np.unique(column, return_index=True)
    return len(column) + 1 if len(firsts) < _ENOUGH else int(np.sort(firsts)[_ENOUGH - 1]) + 1


def draw_tables(pair: PairResults, ends: RangeOfTest) -> DrawnTables:
    """Draw tables within the classes of a comparison that has a difference; the same for the same classes."""
    rng = np.random.default_rng(_SEED)
    sizes = rng.integers(pair.patients.low, pair.patients.high + 1, _TABLES)
    rows = {
        (arm, status): _draw_row(pair.verdicts[arm][status], sizes, rng)
        for arm in pair.compared
        for status in DIAGNOSIS_STATUSES
    }
    # A size that one row cannot have is none of the table's.
    fits = np.all([counts.sum(axis=-1) == sizes for counts in rows.values()], axis=0)
    tables = [[rows[arm, status][fits] for status in DIAGNOSIS_STATUSES] for arm in pair.compared]
    p_values, upper = compare_areas(tables)
    upper = np.maximum(upper, upper_at_worst(tables))
    cells = [
        (rows[arm, status][fits][:, place], count)
        for arm in pair.compared
        for status in DIAGNOSIS_STATUSES
        for place, count in zip(_CELLS, cells_of(pair.verdicts[arm][status]), strict=True)
    ]
    hidden = [drawn for drawn, count in [*cells, (sizes[fits], pair.patients)] if 0 < count.high <= STEP]
    return DrawnTables(ends, p_values, upper, np.stack(hidden, axis=1) if hidden else np.empty((int(fits.sum()), 0)))


def _draw_row(row: VerdictCounts, sizes: NDArray[np.int64], rng: np.random.Generator) -> Counts:
    """Return rows of the given sizes, `(sizes, 5)`; one that cannot have its size has another."""
    lows, highs = map(np.array, cell_bounds(row))
    room = highs - lows
    counts = np.tile(lows, (len(sizes), 1))
    left = np.clip(sizes - lows.sum(), 0, room.sum())
    # Cells are filled in an order of their own in each table; each leaves what the later ones can take.
    orders = rng.permuted(np.tile(np.arange(len(lows)), (len(sizes), 1)), axis=1)
    each = np.arange(len(sizes))
    later = np.full(len(sizes), room.sum())
    for step in range(len(lows)):
        cell = orders[:, step]
        later = later - room[cell]
        least, most = np.maximum(0, left - later), np.minimum(room[cell], left)
        share = rng.uniform(size=len(sizes))
        share = np.where(rng.uniform(size=len(sizes)) < 0.5, share.round(), share)
        added = least + np.floor(share * (most - least) + 0.5).astype(np.int64)
        counts[each, cell] += added
        left = left - added
    filled = np.zeros((len(sizes), 5))
    filled[:, _CELLS] = counts
    return filled
