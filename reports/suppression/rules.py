"""The rules of publication as one object; the exact report applies none of them (docs/methods.md, section 10).

Owns how each kind of number is coarsened. Knows nothing of results.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.suppression.classes import (
    ARM_STEP,
    COHORT_STEP,
    MOST_CELLS,
    OTHERS,
    STEP,
    SUB_STEP,
    Interval,
    MeanClass,
    class_of,
    class_of_mean,
    class_of_sum,
    exactly,
    is_enough,
    pool_cells,
    two_digits,
)

_OLDEST: Final = 90


@dataclass(frozen=True, slots=True)
class Rules:
    """How numbers are coarsened; with `exact`, not at all."""

    exact: bool

    def count(self, count: int, *, step: int = STEP) -> CountRange:
        """Return the class of a count."""
        return exactly(count) if self.exact else class_of(count, step=step)

    def alone(self, count: int) -> CountRange:
        """Return the sub-class of a count that stands alone: no complement stands beside it, and no total."""
        return self.count(count, step=SUB_STEP)

    def cells(self, cells: Mapping[str, int], *, step: int = STEP) -> dict[str, CountRange]:
        """Return the classes of a partition's cells, pooled where there are too many."""
        pooled = cells if self.exact else pool_cells(cells)
        return {name: self.count(count, step=step) for name, count in pooled.items()}

    def mean(self, mean: float, bins: Sequence[tuple[Interval, CountRange]], *, unit: float) -> MeanClass:
        """Return the class of a mean over patients who lie in `bins`."""
        return MeanClass(mean, mean, mean) if self.exact else class_of_mean(mean, bins, unit=unit)

    def sum_of_means(
        self, mean: float, parts: Sequence[MeanClass], bins: Sequence[tuple[Interval, CountRange]]
    ) -> MeanClass:
        """Return the class of a mean over patients that is the sum of other published ones."""
        return MeanClass(mean, mean, mean) if self.exact else class_of_sum(parts, bins)

    def at_most(self, count: int) -> CountRange:
        """Return the range from 1 to the end of the class, of a count of patients of both splits."""
        return (
            exactly(count)
            if self.exact or not count
            else CountRange(low=1, high=class_of(count, step=COHORT_STEP).high)
        )

    def text(self, value: float | None, *patients: int) -> float | None:
        """Return a figure of text to two digits; None where too few are behind it, or behind what it leaves out."""
        if value is None or self.exact:
            return value
        return two_digits(value) if is_enough(*patients, step=ARM_STEP) and any(patients) else None

    def shares(self, units: Mapping[str, tuple[int, int]]) -> tuple[tuple[str, float | None], ...]:
        """Return the shares of what is shown, by name; `units` are (units, patients behind them)."""
        shown = {
            name: count for name, (count, behind) in units.items() if self.exact or is_enough(behind, step=ARM_STEP)
        }
        total = sum(shown.values())
        return tuple((name, self.share(shown.get(name), total)) for name in units)

    def share(self, part: int | None, total: int) -> float | None:
        """Return a share of what is shown, a whole percent."""
        if part is None or not total:
            return None
        return part / total if self.exact else round(part / total, 2)

    def smd(self, smd: float | None) -> float | None:
        """Return a difference to one decimal: to six it would fit one count alone."""
        return smd if smd is None or self.exact else round(smd, 1) + 0.0


def pool_groups(groups: Sequence[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Pool the last named groups, where the partition has too many cells; rows are (group, affected, others)."""
    kept = list(groups)
    pooled: tuple[int, int] | None = None
    while (
        len(kept) > 1
        and sum(bool(count) for row in kept for count in row[1:]) + (0 if pooled is None else sum(map(bool, pooled)))
        > MOST_CELLS
    ):
        _, affected, others = kept.pop()
        pooled = (affected, others) if pooled is None else (pooled[0] + affected, pooled[1] + others)
    return kept if pooled is None else [*kept, (OTHERS, *pooled)]


def has_ages(band: str) -> bool:
    """Return whether a band is one of ages, and not of unknown ones."""
    return any(sign.isdigit() for sign in band)


def ages_of(band: str) -> Interval:
    """Return the ages of a band named "<18", "18-34" or "80+"."""
    if band.startswith("<"):
        return Interval(0, int(band[1:]) - 1)
    if band.endswith("+"):
        return Interval(int(band[:-1]), _OLDEST)
    first, last = band.split("-")
    return Interval(int(first), int(last))
