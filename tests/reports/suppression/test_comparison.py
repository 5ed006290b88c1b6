"""What is published of two runs that are compared: few who changed, few behind a level, few in one run alone."""

import math

import pytest
from support.results.planted_readings import BEFORE, forget, readings

from clinaudit.audit.comparison.disclosure import compare_readings
from clinaudit.reports.schema.comparison import ComparedMemorization, ComparedMetric, HitChanges, PatientsBehind
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.suppression.comparison import suppress_compared_disclosure, suppress_compared_memorization


def memorization(
    *, pairs: int = 100, a: int = 60, b: int = 40, lower: int = 30, higher: int = 20, rest: int = 0, rest_hits: int = 0
) -> ComparedMemorization:
    """Figures of 0/1 values: `a` patients hit in A, `b` in B."""
    figure = ComparedMetric(
        a=Estimate(value=a / pairs, low=0.1, high=0.9, n=pairs),
        b=Estimate(value=b / pairs, low=0.1, high=0.9, n=pairs),
        difference=Estimate(value=(b - a) / pairs, low=-0.3217, high=0.1234, n=pairs),
        behind=PatientsBehind(a=a, b=b, lower=lower, higher=higher, unpaired_a=rest, unpaired_b=0)
        if not rest_hits
        else PatientsBehind(a=a, b=b, lower=lower, higher=higher, unpaired_a=rest_hits, unpaired_b=0),
    )
    return ComparedMemorization(
        pairs=pairs,
        unpaired_a=rest,
        unpaired_b=0,
        memorized_fraction=figure,
        attributable_fraction=figure,
        hit_rate=figure,
        hits=HitChanges(both=a - lower, a_only=lower, b_only=higher, neither=pairs - a - higher, p_value=0.0123),
    )


def test_figures_of_many_are_published_as_they_are_without_who_is_behind() -> None:
    figures = memorization()
    published = suppress_compared_memorization(figures)
    assert published.hits == figures.hits
    assert published.hit_rate == figures.hit_rate.model_copy(update={"behind": None})


def test_few_who_changed_are_hidden_and_their_interval_is_coarse() -> None:
    published = suppress_compared_memorization(memorization(a=60, b=55, lower=8, higher=3))
    assert published.hits == HitChanges(both=None, a_only=None, b_only=None, neither=None, p_value=0.05)
    assert published.hit_rate.difference.value == pytest.approx(-0.05)
    for end in (published.hit_rate.difference.low, published.hit_rate.difference.high):
        assert end is not None
        assert math.isclose(end / 0.05, round(end / 0.05))
    assert published.hit_rate.difference.low <= -0.3217  # type: ignore[operator]


def test_few_behind_a_level_make_it_a_band_and_the_difference_with_it() -> None:
    published = suppress_compared_memorization(memorization(a=60, b=4, lower=57, higher=1))
    assert published.hit_rate.a.value == pytest.approx(0.6)
    assert (published.hit_rate.b.value, published.hit_rate.b.low, published.hit_rate.b.high) == (None, 0.0, 0.19)
    assert published.hit_rate.difference.value is None
    assert published.hit_rate.difference.low == pytest.approx(-0.6)
    assert published.hit_rate.difference.high == pytest.approx(0.19 - 0.6)


@pytest.mark.parametrize(("rest", "hits"), [(3, 3), (40, 4), (40, 35)])
def test_levels_are_withheld_where_the_rest_of_a_run_would_be_told(rest: int, hits: int) -> None:
    published = suppress_compared_memorization(memorization(rest=rest, rest_hits=hits))
    assert published.hit_rate.a.value is published.hit_rate.a.low is published.hit_rate.b.value is None
    assert published.hit_rate.difference.value is None
    assert (published.pairs is None) == (rest == 3)
    low, high = published.hit_rate.difference.low, published.hit_rate.difference.high
    assert low is not None
    assert high is not None
    assert low <= -0.2 <= high
    assert high - low == pytest.approx(0.1)


def test_a_tier_of_few_pairs_tells_nothing() -> None:
    published = suppress_compared_memorization(memorization(pairs=8, a=5, b=3, lower=2, higher=0))
    text = published.model_dump_json(exclude_none=True)
    assert published.pairs is None
    assert '"value":' not in text
    assert "0.6" not in text


def test_disclosure_with_members_of_one_run_shows_a_band_alone() -> None:
    before = readings(BEFORE)
    published = suppress_compared_disclosure(*compare_readings(before, forget(before)[:-2], seed=0))
    area = published.delta["auroc_all"]
    assert published.pairs is published.unpaired_a is None
    assert area.a.value is area.b.value is area.difference.value is None
    assert area.difference.low is not None
    assert area.difference.low <= -0.3
