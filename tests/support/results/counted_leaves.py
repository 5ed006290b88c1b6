"""Leaves of a tally made from the counts of a world, and what a reader learns of these counts from each of them.

A leaf is made of sums of counts; with it is kept how its coarse twin reads: classes, means and text as linear
inequalities. So no leaf can be published that the attacks do not read. Knows nothing of which leaves a tally has.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from support.results import random_worlds as shape
from support.results.random_worlds import Law, Sum, World, add, minus, times

from clinaudit.audit.statistics.patient_distribution import THRESHOLDS
from clinaudit.reports.schema.numbers import NOBODY, CountRange
from clinaudit.reports.tally.classes import ARM_STEP, COHORT_STEP, OTHERS, Interval, MeanClass
from clinaudit.reports.tally.leaves import (
    Alone,
    Count,
    CountWithPart,
    Exactness,
    Fraction,
    Groups,
    Inside,
    Leaf,
    OfBothSplits,
    OfText,
    Partition,
    PartitionWithMean,
    Rate,
    Setting,
    SharesOfText,
    StandardizedDifference,
)

#: Share of a range at its ends that is left out: a number there may be rounded either way.
_EDGE = 1e-3
_FRACTION_EDGES = [Interval(0.0, 0.0), *map(Interval, THRESHOLDS, (*THRESHOLDS[1:], 1.0))]
AnyLeaf = TypeVar("AnyLeaf", bound=Leaf)


def pair_leaves(exact: Any, coarse: Any, path: str = "") -> Iterator[tuple[str, Leaf, Any]]:
    """Yield each leaf of a tally with its path and its coarse twin; of what stays inside nothing."""
    if isinstance(exact, Inside):
        if coarse.value is not None:
            yield from pair_leaves(exact.value, coarse.value, path)
    elif isinstance(exact, Leaf):
        yield path, exact, coarse
    elif is_dataclass(exact):
        for field in fields(exact):
            yield from pair_leaves(getattr(exact, field.name), getattr(coarse, field.name), f"{path}.{field.name}")
    elif isinstance(exact, Mapping):
        for name, item in exact.items():
            yield from pair_leaves(item, coarse[name], f"{path}.{name}")
    elif isinstance(exact, tuple):
        for place, item in enumerate(exact):
            yield from pair_leaves(item, coarse[place], f"{path}.{place}")


class CountedLeaves:
    """Makes the leaves of one world's tally, and reads their coarse twins."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._value = world.value
        self._read: dict[int, tuple[Leaf, Callable[[Any], Iterator[Law]]]] = {}
        self._told: list[Law] = []

    def clues(self, tally: object, coarse: object) -> list[Law]:
        """Return all that a coarse tally tells, as far as it is linear: no verdict, no standardized difference."""
        found = list(self._told)
        for path, leaf, shown in pair_leaves(tally, coarse):
            if id(leaf) in self._read:
                found += self._read[id(leaf)][1](shown)
            elif not isinstance(leaf, Exactness | Setting | StandardizedDifference) and shown != OfText(None):
                raise AssertionError(f"the attacks do not read {path}")
        return [law for law in found if any(law.sum.values())]

    def _keep(self, leaf: AnyLeaf, read: Callable[[Any], Iterator[Law]]) -> AnyLeaf:
        self._read[id(leaf)] = leaf, read
        return leaf

    def nobody(self, sum_: Sum) -> None:
        """Take as told that a sum is none: something is left out of the tally for it."""
        self.told(Law(sum_, 0, 0))

    def told(self, *laws: Law) -> None:
        """Take as told what the tally shows without a number: which figures there are."""
        self._told += laws

    # Counts

    def known(self, leaf: AnyLeaf) -> AnyLeaf:
        """Return a leaf that is the same in every world."""
        return self._keep(leaf, lambda _: iter(()))

    def count(self, sum_: Sum, *, step: int | None = ARM_STEP) -> Count:
        """Return a count."""
        return self._keep(Count.of(self._value(sum_), step=step), lambda shown: iter([_class(sum_, shown.range)]))

    def alone(self, sum_: Sum) -> Alone:
        """Return a count that stands alone."""
        return self._keep(Alone.of(self._value(sum_)), lambda shown: iter([_class(sum_, shown.range)]))

    def of_both_splits(self, sum_: Sum) -> OfBothSplits:
        """Return a count of both splits: told as from 1 on, but who knows the program knows of which class its end is.

        Of nobody there is none, for the tally to leave out.
        """

        def read(shown: OfBothSplits) -> Iterator[Law]:
            yield Law(sum_, shown.range.high - COHORT_STEP + 1, shown.range.high)

        return self._keep(OfBothSplits.of(self._value(sum_)), read)

    def with_part(self, whole: Sum, part: Sum) -> CountWithPart:
        """Return a count and its part."""

        def read(shown: CountWithPart) -> Iterator[Law]:
            yield from (_class(whole, shown.range), _class(part, shown.part))

        return self._keep(CountWithPart.of(self._value(whole), self._value(part)), read)

    # Partitions

    def _values(self, cells: Mapping[str, Sum]) -> dict[str, int]:
        return {name: self._value(sum_) for name, sum_ in cells.items()}

    def partition(self, cells: Mapping[str, Sum], *, step: int = ARM_STEP, leaves_out: bool = False) -> Partition:
        """Return a partition; it `leaves_out` cells of nobody where these have no name of their own."""
        values = {name: value for name, value in self._values(cells).items() if value or not leaves_out}
        return self._keep(Partition.of(values, step=step), lambda shown: self._read_cells(cells, shown.cells))

    def halves(self, name: str, part: Sum, whole: Sum, *, rest: str = "rest") -> Partition:
        """Return a partition in two."""
        return self.partition({name: part, rest: minus(whole, part)})

    def with_mean(
        self,
        cells: Mapping[str, Sum],
        edges: Mapping[str, Interval],
        total: Sum,
        *,
        scale: float = 1,
        step: int = ARM_STEP,
    ) -> PartitionWithMean:
        """Return a partition by a number of each patient, whose `total` is `scale` times that of the mean."""
        known = add(*(sum_ for name, sum_ in cells.items() if name in edges))
        patients = self._value(known)
        mean = self._value(total) / patients / scale if patients else None

        def read(shown: PartitionWithMean) -> Iterator[Law]:
            yield from self._read_cells(cells, shown.cells)
            if shown.mean is not None:
                yield from self._read_mean(total, known, scale, shown.mean)

        return self._keep(PartitionWithMean.of(self._values(cells), edges, mean, step=step), read)

    def groups(self, cells: Mapping[str, tuple[Sum, Sum]], *, step: int = ARM_STEP) -> Groups:
        """Return groups, each of the affected and the others; those of nobody have no row."""
        values = [(group, self._value(affected), self._value(others)) for group, (affected, others) in cells.items()]

        def read(shown: Groups) -> Iterator[Law]:
            rows = {group: counts for group, *counts in shown.rows}
            pooled = [of for group, of in cells.items() if group not in rows]
            for group, of in cells.items():
                if group in rows:
                    yield from map(_class, of, rows[group])
            if OTHERS in rows and OTHERS not in cells:
                yield from (_class(add(*(of[side] for of in pooled)), rows[OTHERS][side]) for side in (0, 1))
                yield from (self._emptiness(sum_) for of in pooled for sum_ in of)
            else:
                yield from (_class(add(*of), NOBODY) for of in pooled)

        return self._keep(Groups.of([row for row in values if any(row[1:])], step=step), read)

    def _read_cells(self, cells: Mapping[str, Sum], shown: Mapping[str, CountRange]) -> Iterator[Law]:
        """Read a partition; cells that it does not name are empty, or pooled."""
        pooled = [sum_ for name, sum_ in cells.items() if name not in shown]
        for name, sum_ in cells.items():
            if name in shown and name != OTHERS:
                yield _class(sum_, shown[name])
        if OTHERS in shown:
            # Those without anybody have no name, and which these are is public.
            yield _class(add(*pooled), shown[OTHERS])
            yield from map(self._emptiness, pooled)
        else:
            yield from (_class(sum_, NOBODY) for sum_ in pooled)

    def _emptiness(self, sum_: Sum) -> Law:
        """Take as known whether anybody is in a pooled cell: it decides what is pooled."""
        return Law(sum_, 1) if self._value(sum_) else Law(sum_, 0, 0)

    # Numbers of each patient

    def fraction(self, place: str, patients: Sum, *, sum_of: tuple[Fraction, ...] = ()) -> Fraction:
        """Return a fraction of each patient's text, whose bins and tokens stand at a place."""
        bins = [{f"{place}/bin/{k}": 1} for k in range(len(shape.FRACTION_BINS))]
        cells, tokens, whole = [minus(patients, *bins), *bins], add(f"{place}/sum"), self._value(patients)
        mean = self._value(tokens) / whole / shape.TOKENS if whole else 0.0

        def read(shown: Fraction) -> Iterator[Law]:
            yield from map(_class, cells, shown.bins)
            yield from self._read_mean(tokens, patients, shape.TOKENS, shown.mean)

        counts = map(self._value, cells)
        return self._keep(Fraction.of(zip(_FRACTION_EDGES, counts, strict=True), mean, sum_of=sum_of), read)

    def rate(self, place: str, edges: Sequence[Interval]) -> Rate:
        """Return values a query, whose bins stand at a place."""
        bins = [add(f"{place}/bin/{k}") for k in range(len(edges))]

        def read(shown: Rate) -> Iterator[Law]:
            """Read bins, of which the uppermost may be one: then somebody is in the first and the last of these."""
            yield _class(add(*bins), shown.any)
            lows, highs = [edge.low for edge in edges], [edge.high for edge in edges]
            for edge, count in zip(shown.edges, shown.bins, strict=True):
                inside = bins[lows.index(edge.low) : highs.index(edge.high) + 1]
                yield _class(add(*inside), count)
                if len(inside) > 1:
                    yield from (Law(inside[0], 1), Law(inside[-1], 1))

        return self._keep(Rate.of(zip(edges, map(self._value, bins), strict=True)), read)

    def _read_mean(self, total: Sum, patients: Sum, scale: float, mean: MeanClass) -> Iterator[Law]:
        """Read a mean over patients: the total is `scale` times it and them."""
        number = self._value(patients)
        value = self._value(total) / number / scale if number else 0.0
        yield from _ratio(total, patients, scale, (mean.low, mean.high), value)

    # Figures of text

    def text(self, part: Sum, whole: Sum, *behind: Sum) -> OfText:
        """Return a figure of text that is a quotient, and who stands behind it."""
        divisor = self._value(whole)
        value = self._value(part) / divisor if divisor else None

        def read(shown: OfText) -> Iterator[Law]:
            yield from map(self._few, behind)
            if shown.value:
                digit = 10.0 ** (math.floor(math.log10(shown.value) + 1e-12) - 1)
                # Below a power of ten, digits are a tenth as large.
                below = digit / 20 if abs(shown.value / digit - 10) < 1e-6 else digit / 2
                assert value is not None
                yield from _ratio(part, whole, 1, (shown.value - below, shown.value + digit / 2), value)
            elif shown.value is not None:
                yield Law(part, 0, 0)

        return self._keep(OfText(value, tuple(map(self._value, behind))), read)

    def bent_text(self, value: float | None, of: Sum, *behind: Sum) -> OfText:
        """Return a figure of text that follows from `of` in no straight line: where it is shown, that is known."""

        def read(shown: OfText) -> Iterator[Law]:
            yield from map(self._few, behind)
            if shown.value is not None:
                yield Law(of, self._value(of), self._value(of))

        return self._keep(OfText(value, tuple(map(self._value, behind))), read)

    def shares(self, places: Mapping[str, str | None]) -> SharesOfText:
        """Return shares of what is shown; `places` of units and of the patients behind them, None where none can be."""
        known = {name: place for name, place in places.items() if place is not None}
        units = {
            name: (self.world.counts[f"{known[name]}/units"], self.world.counts[f"{known[name]}/patients"])
            if name in known
            else (0, 0)
            for name in places
        }

        def read(shown: SharesOfText) -> Iterator[Law]:
            yield from (self._few({f"{place}/patients": 1}) for place in known.values())
            parts = {name: {f"{place}/units": 1} for name, place in known.items()}
            all_shown = add(*(part for name, part in parts.items() if not 1 <= units[name][1] <= ARM_STEP))
            total = self._value(all_shown)
            for name, part in parts.items():
                share = shown.shares[name]
                if share is not None and total:
                    yield from _ratio(part, all_shown, 1, (share - 0.005, share + 0.005), self._value(part) / total)
            yield Law(all_shown, 1) if total else Law(all_shown, 0, 0)

        return self._keep(SharesOfText.of(units), read)

    def _few(self, patients: Sum) -> Law:
        """Take as known whether nobody, few or more stand behind a text: it decides what is shown."""
        count = self._value(patients)
        if not count:
            return Law(patients, 0, 0)
        return Law(patients, 1, ARM_STEP) if count <= ARM_STEP else Law(patients, ARM_STEP + 1)


def _class(sum_: Sum, count: CountRange) -> Law:
    return Law(sum_, count.low, count.high)


def _ratio(part: Sum, whole: Sum, scale: float, ends: tuple[float, float], value: float) -> Iterator[Law]:
    """Read that part / whole / scale lies in a range, without its very ends, unless the value lies there."""
    edge = _EDGE * (ends[1] - ends[0])
    low, high = min(ends[0] + edge, value), max(ends[1] - edge, value)
    yield Law(minus(part, times(whole, low * scale)), -_slack(low))
    yield Law(minus(times(whole, high * scale), part), -_slack(high))


def _slack(factor: float) -> float:
    """Return what the rounding of a product may come to."""
    return 1e-9 * (1 + abs(factor))
