"""A published mean is one that every table within the classes could have: by brute force over all tables."""

import itertools
import math

import numpy as np
import pytest

from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.tally.classes import Interval, class_of, class_of_mean

_UNIT = 0.01
_EDGES = (Interval(0.0, 0.0), Interval(0.0, 0.01), Interval(0.01, 0.1), Interval(0.1, 0.5))


def bins_of(*counts: int) -> list[tuple[Interval, CountRange]]:
    return [(edge, class_of(count)) for edge, count in zip(_EDGES, counts, strict=False)]


def can_have(bins: list[tuple[Interval, CountRange]], low: float, high: float) -> bool:
    """Whether every table within the classes has some mean in the range, who has any having a whole percent."""
    for counts in itertools.product(*(range(count.low, count.high + 1) for _, count in bins)):
        least = sum(n * min(max(edge.low, _UNIT), edge.high) for n, (edge, _) in zip(counts, bins, strict=True))
        most = sum(n * edge.high for n, (edge, _) in zip(counts, bins, strict=True))
        patients = sum(counts)
        if least / patients > high + 1e-12 or most / patients < low - 1e-12:
            return False
    return True


@pytest.mark.parametrize("seed", range(40))
def test_a_whole_percent_is_one_that_every_table_could_have(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = [int(rng.choice([0, 4, 15, 47])) for _ in _EDGES]
    counts[0] += 1
    bins = bins_of(*counts)
    mean = sum(n * rng.uniform(edge.low, edge.high) for n, edge in zip(counts, _EDGES, strict=True)) / sum(counts)
    shown = class_of_mean(mean, bins, unit=_UNIT)
    assert shown.low - 1e-12 <= mean <= shown.high + 1e-12
    if shown.whole is not None:
        assert math.isclose(shown.whole, round(mean, 2))
        assert can_have(bins, shown.low, shown.high)


def test_whoever_has_any_text_has_more_than_next_to_nothing() -> None:
    # Of 119 patients with up to one percent each, a mean below half a percent would tell that hardly anybody has more.
    shown = class_of_mean(0.0048, bins_of(9, 119, 1), unit=_UNIT)
    assert shown.whole is None
    assert shown.high == pytest.approx(0.015)
    # Where few have any, all tables have the same percent, and it is given.
    assert class_of_mean(0.0001, bins_of(110, 4), unit=_UNIT).whole == 0.0
