"""The leaves of a tally: each kind of number, and what of it may be published (docs/methods.md, section 10).

A tally is a tree of records. `coarsen` walks it and asks each leaf: it never goes by the name of a field. A number that
is no leaf raises `TypeError`, so that nothing can be published without a kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, Generic, Self, TypeVar

from clinaudit.reports.schema.numbers import CountRange, exactly
from clinaudit.reports.tally.classes import (
    ARM_STEP,
    COHORT_STEP,
    MOST_CELLS,
    MOST_SUB_CELLS,
    OTHERS,
    Interval,
    MeanClass,
    class_of,
    class_of_alone,
    class_of_mean,
    class_of_sum,
    is_enough,
    pool_cells,
    two_digits,
)

T = TypeVar("T")
_PERCENT: Final = 0.01


def coarsen(node: T) -> T:
    """Return what may be published of a tally, or of a part of it; raises `TypeError` at a number without a kind."""
    coarse: T = _coarsen(node)
    return coarse


def _coarsen(node: Any) -> Any:
    if isinstance(node, Leaf):
        return node._coarse()
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **{field.name: _coarsen(getattr(node, field.name)) for field in fields(node)})
    if isinstance(node, Mapping):
        return {name: _coarsen(of) for name, of in node.items()}
    if isinstance(node, tuple):
        return tuple(map(_coarsen, node))
    if node is None or isinstance(node, str | bool):
        return node
    raise TypeError("a number of a tally must be a leaf")


class Leaf(ABC):
    """One kind of number, exact as it is counted; coarsened, what may be published of it."""

    __slots__ = ()

    @abstractmethod
    def _coarse(self) -> Self: ...


@dataclass(frozen=True, slots=True)
class Setting(Leaf, Generic[T]):
    """What tells of nobody: an option, a number of an invented text."""

    value: T

    def _coarse(self) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class Inside(Leaf, Generic[T]):
    """What stays in the evidence; with `is_public` a part of the tally that is published, coarsened."""

    value: T | None
    is_public: bool = False

    def _coarse(self) -> Self:
        return replace(self, value=_coarsen(self.value) if self.is_public else None)


@dataclass(frozen=True, slots=True)
class Exactness(Leaf):
    """Whether a tally is exact: a coarse one is not."""

    is_exact: bool = True

    def _coarse(self) -> Self:
        return replace(self, is_exact=False)


@dataclass(frozen=True, slots=True)
class Count(Leaf):
    """A count of patients, or of texts about them, in classes of `step` numbers; None: of invented ones, nobody's."""

    range: CountRange
    step: int | None = ARM_STEP

    @classmethod
    def of(cls, count: int, *, step: int | None = ARM_STEP) -> Self:
        """Return an exact count."""
        return cls(exactly(count), step)

    def _coarse(self) -> Self:
        return self if self.step is None else replace(self, range=class_of(_number(self.range), step=self.step))


class Alone(Count):
    """A count whose complement is not published."""

    __slots__ = ()

    def _coarse(self) -> Self:
        return replace(self, range=class_of_alone(_number(self.range)))


class OfBothSplits(Count):
    """A count of patients of both splits: published from 1 to the end of its class."""

    __slots__ = ()

    def _coarse(self) -> Self:
        count = _number(self.range)
        return replace(
            self, range=CountRange(low=1, high=class_of(count, step=COHORT_STEP).high) if count else self.range
        )


@dataclass(frozen=True, slots=True)
class CountWithPart(Leaf):
    """A count that stands alone, and a part of it of which no more is published: both would add up."""

    range: CountRange
    part: CountRange

    @classmethod
    def of(cls, count: int, part: int) -> Self:
        """Return exact counts."""
        return cls(exactly(count), exactly(part))

    def _coarse(self) -> Self:
        whole = class_of_alone(_number(self.range))
        return replace(self, range=whole, part=CountRange(low=0, high=whole.high))


@dataclass(frozen=True, slots=True)
class Partition(Leaf):
    """Patients by cell, in classes of `step` numbers; the last cells are one where there are too many."""

    cells: Mapping[str, CountRange]
    step: int = ARM_STEP

    @classmethod
    def of(cls, cells: Mapping[str, int], *, step: int = ARM_STEP) -> Self:
        """Return an exact partition."""
        return cls({name: exactly(count) for name, count in cells.items()}, step)

    @classmethod
    def halves(cls, name: str, count: int, patients: int, *, rest: str = "rest") -> Self:
        """Return an exact partition of `patients` in two."""
        return cls.of({name: count, rest: patients - count})

    def _coarse(self) -> Self:
        pooled = pool_cells({name: _number(count) for name, count in self.cells.items()})
        return replace(self, cells={name: class_of(count, step=self.step) for name, count in pooled.items()})

    def __getitem__(self, name: str) -> CountRange:
        return self.cells[name]


@dataclass(frozen=True, slots=True)
class PartitionWithMean(Leaf):
    """A partition by a number of each patient, and its mean over those whose number is known, to a whole unit.

    `edges` has the least and the largest number of a cell; none of a cell of unknown ones. The mean is None where no
    number is known.
    """

    cells: Mapping[str, CountRange]
    edges: Mapping[str, Interval]
    mean: MeanClass | None
    step: int = ARM_STEP

    @classmethod
    def of(
        cls, cells: Mapping[str, int], edges: Mapping[str, Interval], mean: float | None, *, step: int = ARM_STEP
    ) -> Self:
        """Return an exact partition and its exact mean."""
        return cls(Partition.of(cells).cells, edges, None if mean is None else MeanClass(mean, mean, mean), step)

    def _coarse(self) -> Self:
        cells = coarsen(Partition(self.cells, self.step)).cells
        bins = [(self.edges[name], count) for name, count in cells.items() if name in self.edges]
        mean = None if self.mean is None else class_of_mean(self.mean.low, bins, unit=1.0)
        return replace(self, cells=cells, mean=mean)


@dataclass(frozen=True, slots=True)
class Fraction(Leaf):
    """A fraction of each patient's text: patients by bin, and the mean over patients, a whole percent.

    A mean that is the `sum_of` others is published no closer than these are.
    """

    edges: tuple[Interval, ...]
    bins: tuple[CountRange, ...]
    mean: MeanClass
    sum_of: tuple["Fraction", ...] = ()

    @classmethod
    def of(cls, bins: Iterable[tuple[Interval, int]], mean: float, *, sum_of: tuple["Fraction", ...] = ()) -> Self:
        """Return an exact fraction; `bins` are ascending."""
        listed = tuple(bins)
        counts = tuple(exactly(count) for _, count in listed)
        return cls(tuple(edge for edge, _ in listed), counts, MeanClass(mean, mean, mean), sum_of)

    def _coarse(self) -> Self:
        counts = tuple(class_of(_number(count), step=ARM_STEP) for count in self.bins)
        bins = list(zip(self.edges, counts, strict=True))
        if self.sum_of:
            mean = class_of_sum([coarsen(part).mean for part in self.sum_of], bins)
        else:
            mean = class_of_mean(self.mean.low, bins, unit=_PERCENT)
        return replace(self, bins=counts, mean=mean, sum_of=())


@dataclass(frozen=True, slots=True)
class Rate(Leaf):
    """Values a query: patients by bin, those with none left out, and how many patients have `any`, who stand alone."""

    #: Least and largest number of each bin, the last possibly without end.
    edges: tuple[Interval, ...]
    bins: tuple[CountRange, ...]
    any: CountRange

    @classmethod
    def of(cls, bins: Iterable[tuple[Interval, int]]) -> Self:
        """Return an exact rate; `bins` are ascending, those with none left out."""
        listed = tuple(bins)
        counts = tuple(exactly(count) for _, count in listed)
        return cls(tuple(edge for edge, _ in listed), counts, exactly(sum(count for _, count in listed)))

    def _coarse(self) -> Self:
        merged = _merge_uppermost([(edge, _number(count)) for edge, count in zip(self.edges, self.bins, strict=True)])
        return replace(
            self,
            edges=tuple(edge for edge, _ in merged),
            bins=tuple(class_of(count, step=ARM_STEP) for _, count in merged),
            any=class_of_alone(_number(self.any)),
        )


def _merge_uppermost(bins: Sequence[tuple[Interval, int]]) -> list[tuple[Interval, int]]:
    """Return at most as many bins with somebody as a count that stands alone may have: the uppermost are one."""
    used = [place for place, (_, count) in enumerate(bins) if count]
    if len(used) <= MOST_SUB_CELLS:
        return list(bins)
    first, last = used[MOST_SUB_CELLS - 1], used[-1]
    inside = bins[first : last + 1]
    merged = Interval(inside[0][0].low, inside[-1][0].high), sum(count for _, count in inside)
    return [*bins[:first], merged, *bins[last + 1 :]]


@dataclass(frozen=True, slots=True)
class OfText(Leaf):
    """A figure of text, and the patients behind it and behind what it leaves out: two digits, or none of few."""

    value: float | None
    behind: tuple[int, ...] = ()

    def _coarse(self) -> Self:
        shown = self.value is not None and any(self.behind) and is_enough(*self.behind, step=ARM_STEP)
        return replace(self, value=two_digits(self.value) if shown and self.value is not None else None, behind=())


@dataclass(frozen=True, slots=True)
class SharesOfText(Leaf):
    """Shares of text by part; those of the parts shown, whole percents, where enough patients are behind them.

    `units` are (units, patients behind them) by part, in the evidence alone.
    """

    shares: Mapping[str, float | None]
    units: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, units: Mapping[str, tuple[int, int]]) -> Self:
        """Return exact shares."""
        total = sum(count for count, _ in units.values())
        return cls({name: count / total if total else None for name, (count, _) in units.items()}, dict(units))

    def _coarse(self) -> Self:
        shown = {name: count for name, (count, behind) in self.units.items() if is_enough(behind, step=ARM_STEP)}
        total = sum(shown.values())
        shares = {name: round(shown[name] / total, 2) if name in shown and total else None for name in self.units}
        return replace(self, shares=shares, units={})


@dataclass(frozen=True, slots=True)
class StandardizedDifference(Leaf):
    """A difference in standard deviations, to one decimal: to six it would fit one count alone."""

    value: float | None

    def _coarse(self) -> Self:
        return replace(self, value=None if self.value is None else round(self.value, 1) + 0.0)


@dataclass(frozen=True, slots=True)
class Groups(Leaf):
    """The groups of one partition, each as (group, affected, others); the last are one where there are many."""

    rows: tuple[tuple[str, CountRange, CountRange], ...]
    step: int = ARM_STEP

    @classmethod
    def of(cls, rows: Iterable[tuple[str, int, int]], *, step: int = ARM_STEP) -> Self:
        """Return exact groups."""
        return cls(tuple((group, exactly(affected), exactly(others)) for group, affected, others in rows), step)

    def _coarse(self) -> Self:
        pooled = _pool_groups([(group, _number(affected), _number(others)) for group, affected, others in self.rows])
        return replace(
            self,
            rows=tuple(
                (group, class_of(affected, step=self.step), class_of(others, step=self.step))
                for group, affected, others in pooled
            ),
        )


def _pool_groups(groups: Sequence[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Pool the last named groups, where the partition has too many cells."""
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


def _number(count: CountRange) -> int:
    if count.low != count.high:
        raise ValueError("a class cannot be coarsened again")
    return count.low
