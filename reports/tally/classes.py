"""Classes of counts and of means: the three rules of publication (docs/methods.md, "Statistical disclosure control").

Owns how a count, a partition, a mean and a figure of text are coarsened. A class of counts is 0, or ten numbers: 1-10,
11-20, ... Their lower ends are alike modulo ten. Hence a total that is known only through sums of classes of at most
seven cells keeps at least four values for each cell of 1 to 10, however many partitions share it. A matched set has two
patients of an arm, so that an arm holds at least twice its sets: there classes have twenty numbers, since half of their
ends are ends of ten again. A count that stands alone is told in two parts of such a class, the first five numbers and
the others: an arm is at least what its patients are counted for, and the lower end of that has to lie well below the
upper one of the arm's class. Rounding of frequency counts with zero kept is common practice (OpenSAFELY; CMS' cell size
policy); why the steps, and why seven, is derived in the docs.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from clinaudit.reports.schema.numbers import NOBODY, CountRange

#: Numbers in a class of counts; no count from 1 to 10 is told from its neighbours.
STEP: Final = 10
#: Of counts of patients of a split, or of an arm's targets: a matched set has two.
ARM_STEP: Final = 2 * STEP
#: Of counts of patients of a cohort, or of texts about them: a matched set has four.
COHORT_STEP: Final = 4 * STEP
#: Of a count that stands alone, its complement not being published: so many of an arm's class are told from the others.
SUB_STEP: Final = 5
#: Non-empty cells of such a count, in an arm's steps. That there are more tells of one more; of two more, three of its
#: first five values would not be left.
MOST_SUB_CELLS: Final = 2
#: Non-empty cells that a partition may have: more would leave fewer than four values.
MOST_CELLS: Final = 7
#: Of a float's comparison with the edge of a unit.
_ROUNDING: Final = 1e-9
#: The cell that pools the others.
OTHERS: Final = "others"


class MeanClass(NamedTuple):
    """What is said of a mean: `whole` to the whole unit (a percent, a year), else the range `low` to `high` alone."""

    low: float
    high: float
    whole: float | None


class Interval(NamedTuple):
    """The least and the largest value of a number in one bin."""

    low: float
    high: float


def class_of(count: int, *, step: int = STEP) -> CountRange:
    """Return the class of a count: 0, or `step` numbers that begin one above a multiple of `step`."""
    if count < 0:
        raise ValueError("a count below 0")
    if not count:
        return NOBODY
    first = (count - 1) // step * step
    return CountRange(low=first + 1, high=first + step)


def class_of_alone(count: int) -> CountRange:
    """Return the class of a count that stands alone: 0, the first numbers of an arm's class, or its others."""
    whole = class_of(count, step=ARM_STEP)
    if not count:
        return whole
    last = whole.low + SUB_STEP - 1
    return CountRange(low=whole.low, high=last) if count <= last else CountRange(low=last + 1, high=whole.high)


def pool_cells(cells: Mapping[str, int], *, most: int = MOST_CELLS) -> dict[str, int]:
    """Return the cells of a partition, the last named pooled as `others` where more than `most` are not empty."""
    used = [name for name, count in cells.items() if count]
    if len(used) <= most:
        return dict(cells)
    kept = set(used[: most - 1])
    pooled = {name: count for name, count in cells.items() if name in kept or not count}
    # A cell may have the name already.
    pooled[OTHERS] = pooled.get(OTHERS, 0) + sum(cells[name] for name in used if name not in kept)
    return pooled


def class_of_mean(mean: float, bins: Sequence[tuple[Interval, CountRange]], *, unit: float) -> MeanClass:
    """Return the class of a mean over patients: to the whole `unit`, or merged with what lies towards an end.

    `bins` say between which values the patients of each class lie, in ascending order. A unit is published only where
    every table within the classes could have it: so the mean excludes no table. The others are merged with the nearest
    unit that every table could have. Where there is none, the range is all that any table could have.
    """
    if not any(count.high for _, count in bins):
        return MeanClass(mean, mean, None)
    lows, highs = [interval.low for interval, _ in bins], [interval.high for interval, _ in bins]
    counts = [count for _, count in bins]
    least, most_of_least = extreme_means(lows, counts)
    # How long a match and a text can be is known from the settings: nobody above 0 can have next to nothing. So that no
    # table is ruled out by that, the least above 0 is taken to be a whole unit.
    _, most_above_nothing = extreme_means([min(max(interval.low, unit), interval.high) for interval, _ in bins], counts)
    least_of_most, most = extreme_means(highs, counts)
    if least == most:
        return MeanClass(least, most, least)
    if most_of_least > least_of_most:
        return MeanClass(least, most, None)
    half = unit / 2
    # Smallest and largest unit that every table within the classes could have.
    first = math.floor((most_above_nothing - half) / unit + _ROUNDING) + 1
    last = math.ceil((least_of_most + half) / unit - _ROUNDING) - 1
    place = round(mean / unit)
    if first > last:
        return MeanClass(least, most, None)
    if place <= first and round(least / unit) < first:
        return MeanClass(least, min(most, first * unit + half), None)
    if place >= last and round(most / unit) > last:
        return MeanClass(max(least, last * unit - half), most, None)
    return MeanClass(max(least, place * unit - half), min(most, place * unit + half), place * unit)


def class_of_sum(parts: Sequence[MeanClass], bins: Sequence[tuple[Interval, CountRange]]) -> MeanClass:
    """Return the class of a mean that is the sum of others: what these and its own bins leave, and no more.

    To a whole unit of its own, three means would be an equation: where two are nearly alike, nobody has much of the
    third.
    """
    lows, highs = [interval.low for interval, _ in bins], [interval.high for interval, _ in bins]
    counts = [count for _, count in bins]
    if not any(count.high for count in counts):
        return MeanClass(0.0, 0.0, None)
    low, high = sum(part.low for part in parts), sum(part.high for part in parts)
    least, most = extreme_means(lows, counts)[0], extreme_means(highs, counts)[1]
    low, high = max(low, least), min(high, most)
    return MeanClass(low, high, low if low == high else None)


def is_enough(*patients: int, step: int = STEP) -> bool:
    """Whether a figure of text may be shown: nobody or more than `step` behind it, and behind what it leaves out.

    `step` is that of the patients' classes: a limit within one would be a class of its own.
    """
    return all(count == 0 or count > step for count in patients)


def two_digits(value: float) -> float:
    """Return a number to two significant digits."""
    return float(f"{value:.1e}")


def extreme_means(values: Sequence[float], counts: Sequence[CountRange]) -> tuple[float, float]:
    """Return the least and the largest weighted mean of ascending values, over all weights within the classes.

    A ratio of linear functions of the weights: its extremes have the weights on one side of some value largest, and
    those on the other side smallest.
    """
    means = []
    for upwards in (False, True):
        for cut in range(len(values) + 1):
            weights = [count.high if (place >= cut) is upwards else count.low for place, count in enumerate(counts)]
            total = sum(weights)
            if total:
                means.append(sum(weight * value for weight, value in zip(weights, values, strict=True)) / total)
    return min(means), max(means)
