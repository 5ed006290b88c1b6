"""Sums and shares of classes of counts, and how a range is written (docs/methods.md, section 10)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from clinaudit.audit.statistics.intervals import clopper_pearson, clopper_pearson_of_mean, interval_of, wilson
from clinaudit.reports.schema.numbers import NOBODY, CountRange, Estimate, EstimateRange, add

#: Ends of ranges are rounded outwards to this many decimals.
_PLACES: Final = 4
#: Ends that differ by less are one number.
_SAME: Final = 1e-12
#: Of a float before it is rounded outwards: a number that lies on the grid stays there.
_ON_GRID: Final = 1e-9
_NOTHING: Final = "there was nothing to count"


def common_total(partitions: Iterable[Sequence[CountRange]]) -> CountRange:
    """Return the range of a total that several partitions share; nobody where there is no partition."""
    totals = [add(partition) for partition in partitions if partition]
    if not totals:
        return NOBODY
    return CountRange(low=max(total.low for total in totals), high=min(total.high for total in totals))


def share_range(
    part: CountRange, rest: CountRange, *, total: CountRange | None = None, by_wilson: bool = False
) -> EstimateRange:
    """Return the range of part / (part + rest), with the widest ends of its interval (Clopper-Pearson's or Wilson's).

    Both ends of an interval rise with the part and fall with the rest. With `total`, which other partitions may know
    better, tables of another size are left out.
    """
    if total is not None:
        part, rest = _of_total(part, rest, total), _of_total(rest, part, total)
    if not part.high and not rest.high:
        return EstimateRange(reason=_NOTHING)
    interval = wilson if by_wilson else clopper_pearson
    least, most = interval(part.low, part.low + rest.high), interval(part.high, part.high + rest.low)
    if least.value is None or most.value is None:
        # The part or the rest may be empty; the other is not.
        return ranged(0.0, 1.0)
    return ranged(least.value, most.value, (interval_of(least)[0], interval_of(most)[1]))


def share_of(part: CountRange, total: CountRange) -> EstimateRange:
    """Return the range of part / total of a count that stands alone, with the widest Clopper-Pearson ends."""
    if not total.high:
        return EstimateRange(reason=_NOTHING)
    least, most = clopper_pearson(part.low, total.high), clopper_pearson(part.high, max(total.low, part.high))
    return ranged(least.value or 0.0, most.value or 0.0, (interval_of(least)[0], interval_of(most)[1]))


def shares_up_to(limits: Iterable[int], cells: Mapping[Any, CountRange], total: CountRange) -> dict[str, EstimateRange]:
    """Return by limit the share of a total that lies in the cells up to it; the first cells are the limits'."""
    counts = list(cells.values())
    return {
        str(limit): share_range(add(counts[:place]), add(counts[place:]), total=total)
        for place, limit in enumerate(limits, start=1)
    }


def _of_total(count: CountRange, others: CountRange, total: CountRange) -> CountRange:
    """Return the values of a count that leave the others a value of theirs."""
    low, high = max(count.low, total.low - others.high), min(count.high, total.high - others.low)
    return CountRange(low=min(low, high), high=high)


def mean_range(low: float, high: float, whole: float | None, patients: CountRange) -> EstimateRange:
    """Return a mean over patients of values in [0, 1] with the gate's interval (Beta quantiles) at its widest."""
    sizes = {max(1, patients.low), max(1, patients.high)}
    lows = [interval_of(_mean_of(low, size))[0] for size in sizes]
    highs = [interval_of(_mean_of(high, size))[1] for size in sizes]
    estimate = ranged(low, high, (min(lows), max(highs)))
    if whole is None or estimate.low is None or estimate.high is None:
        return estimate
    # Where few stand behind it, the range ends before the whole percent.
    return estimate.model_copy(update={"value": min(max(whole, estimate.low), estimate.high)})


def _mean_of(mean: float, patients: int) -> Estimate:
    return clopper_pearson_of_mean(min(1.0, max(0.0, mean)) * patients, patients)


def ranged(low: float, high: float, confidence: tuple[float, float] | None = None) -> EstimateRange:
    """Return a range with its ends rounded outwards, or a number where it has no width."""
    outer = (None, None) if confidence is None else (_floor(confidence[0]), _ceil(confidence[1]))
    if high - low < _SAME:
        return EstimateRange(value=low, low=low, high=low, confidence_low=outer[0], confidence_high=outer[1])
    return EstimateRange(low=_floor(low), high=_ceil(high), confidence_low=outer[0], confidence_high=outer[1])


def _floor(value: float) -> float:
    return math.floor(value * 10**_PLACES + _ON_GRID) / 10**_PLACES


def _ceil(value: float) -> float:
    return math.ceil(value * 10**_PLACES - _ON_GRID) / 10**_PLACES


def average(estimates: Sequence[EstimateRange]) -> EstimateRange | None:
    """Return the mean of ranges, with the mean ends of their intervals, which is conservative; None of none."""
    known = [one for one in estimates if one.low is not None]
    if not known:
        return None
    low, high = (float(np.mean([getattr(one, end) for one in known])) for end in ("low", "high"))
    ends = [[getattr(one, end) for one in known] for end in ("confidence_low", "confidence_high")]
    has_ends = not any(end is None for of_end in ends for end in of_end)
    return ranged(low, high, (float(np.mean(ends[0])), float(np.mean(ends[1]))) if has_ends else None)
