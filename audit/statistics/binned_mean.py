"""The mean of one number a patient, bounded from how many patients lie in which bin (docs/methods.md, section 2b).

The mean of a number that is never negative is the area under the share of patients above each value. Owns that sum over
bins. Knows nothing of what is counted, nor of where the ends of a share come from.
"""

from collections.abc import Sequence

from clinaudit.audit.statistics.intervals import clopper_pearson, interval_of

#: Where nobody is seen above it, the last step still reaches up to this: an unseen patient may have one a query.
LEAST_REACH = 1.0
#: Two-sided 95% ends of a share.
Ends = tuple[float, float]


def binned_mean_bounds(
    edges: Sequence[tuple[float, float | None]], used: Sequence[bool], above: Sequence[Ends]
) -> tuple[float, float | None]:
    """Return the ends of a mean's interval; no upper one where somebody lies in a bin without end.

    `edges` are the bins, each a least and a largest number, the first that of nobody's zero; `used` says whether
    anybody lies in a bin, or may; `above` holds the ends of the share of patients in later bins, one a bin. Each step
    is taken at the share's own end. That is wider than the mean's own interval, as the shares do not all err alike.
    """
    lows = [low for low, _ in edges]
    low = sum((upper - lower) * ends[0] for lower, upper, ends in zip(lows, lows[1:], above, strict=False))
    last = max((place for place, some in enumerate(used) if some), default=0)
    high, reached = 0.0, 0.0
    for place, (_, upper) in enumerate(edges[: last + 1]):
        if upper is None:
            return low, None
        if place:
            high += (upper - reached) * above[place - 1][1]
        reached = upper
    return low, high + max(0.0, LEAST_REACH - reached) * above[last][1]


def bounds_of_bins(bins: Sequence[tuple[float, float | None, int]]) -> tuple[float, float | None] | None:
    """Return the ends of the mean of counted patients: each bin's numbers, and how many lie in it; None of nobody.

    Each share has Clopper and Pearson's ends.
    """
    counts = [count for _, _, count in bins]
    patients = sum(counts)
    if not patients:
        return None
    above = [interval_of(clopper_pearson(sum(counts[place + 1 :]), patients)) for place in range(len(counts))]
    return binned_mean_bounds([(low, high) for low, high, _ in bins], [count > 0 for count in counts], above)
