"""Counts and estimates as they are published, or exact, for results made by hand."""

import math
from dataclasses import dataclass

from clinaudit.reports.schema.numbers import CountRange, EstimateRange


@dataclass(frozen=True, slots=True)
class Notation:
    """How numbers are written: as classes of ten and ranges, or exactly."""

    exact: bool = False

    def count(self, number: int) -> CountRange:
        """Return 0, the class of ten, or the number itself."""
        if self.exact or number == 0:
            return CountRange(low=number, high=number)
        low = (number - 1) // 10 * 10 + 1
        return CountRange(low=low, high=low + 9)

    def rate(self, part: int, rest: int) -> EstimateRange:
        """Return the share of `part` in `part` and `rest`, over all tables within the classes."""
        some, others = self.count(part), self.count(rest)
        if not part + rest:
            return EstimateRange(reason="nobody to count")
        low, high = (
            0.0 if not part else some.low / (some.low + others.high),
            1.0 if not rest else some.high / (some.high + others.low),
        )
        least = wilson(low, max(1, some.low + others.low))[0]
        most = wilson(high, max(1, some.low + others.low))[1]
        return EstimateRange(
            value=low if self.exact else None, low=low, high=high, confidence_low=least, confidence_high=most
        )

    def mean(self, value: float, patients: int) -> EstimateRange:
        """Return a mean over patients of a share: a whole percent, or exact."""
        shown = value if self.exact else round(value, 2)
        low, high = wilson(value, patients)
        return EstimateRange(
            value=shown,
            low=shown,
            high=shown,
            confidence_low=low if self.exact else math.floor(100 * low) / 100,
            confidence_high=high if self.exact else math.ceil(100 * high) / 100,
        )

    def figure(self, value: float, *, width: float = 0.07, chance: float = 0.2, least: float = 0.0) -> EstimateRange:
        """Return a figure of counts that is no rate (an AUROC, a difference), at most 1."""
        wide = 0.0 if self.exact else width
        low, high = max(least, value - wide), min(1.0, value + wide)
        return EstimateRange(
            value=value if self.exact else None,
            low=low,
            high=high,
            confidence_low=max(least, low - chance),
            confidence_high=min(1.0, high + chance),
        )


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return the ends of the 95% interval of a share (Wilson)."""
    z = 1.959964
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)
