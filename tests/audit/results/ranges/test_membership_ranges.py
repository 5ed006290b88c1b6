"""What is published of membership is a function of the coarse table, and holds every exact figure that it may be."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from clinaudit.audit.measures.membership import PatientOrder, count_classes
from clinaudit.audit.results.ranges.attacks import derive_membership
from clinaudit.audit.statistics.auroc import one_sided_p_value
from clinaudit.reports.schema.attacks import PARTS_ABOVE, PERCENTILE_CLASSES, MembershipEvidence
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.tally.attacks import MembershipTally
from clinaudit.reports.tally.leaves import Count, Inside, Partition, coarsen


def bounds_of(never_seen: int) -> list[tuple[int, int]]:
    """Return between which two never-seen patients each class lies, these being at 0, 1, 2, ..."""
    begins = [-1, *(never_seen - 1 - never_seen // part for part in PARTS_ABOVE)]
    return list(zip(begins, [*begins[1:], never_seen], strict=True))


def order_of(train: NDArray[np.float64], never_seen: NDArray[np.float64]) -> PatientOrder:
    """Return the order of both arms' scores, of which none tie."""
    places = np.argsort(np.argsort(np.concatenate([train, never_seen])))
    return PatientOrder(places[: len(train)], places[len(train) :])


def tally_of(order: PatientOrder) -> MembershipTally:
    """Return the exact tally of patients in an order, as the stage makes it."""
    train, never_seen = len(order.train), len(order.never_seen)
    evidence = MembershipEvidence(
        patients={"train": train, "nontrain": never_seen},
        notes={"train": train, "nontrain": never_seen},
        auroc={"loss": order.auroc},
        p_value=one_sided_p_value(order.auroc.value or 0.0, train, never_seen),
        blind=None,
    )
    return MembershipTally("loss", True, (), Count.of(never_seen), count_classes(order), None, Inside(evidence))


def draw_order(seed: int, *, least: int = 21, most: int = 60) -> PatientOrder:
    """Draw an order: those trained on are mixed with those never seen, above them, or in a few runs."""
    rng = np.random.default_rng(seed)
    train, never_seen = rng.integers(least, most + 1, 2)
    scores = np.concatenate(
        [rng.normal(rng.choice([-1, 0, 0, 1, 3]), rng.choice([0.1, 1, 3]), train), rng.normal(size=never_seen)]
    )
    return order_of(scores[:train], scores[train:])


def is_within(exact: EstimateRange, published: EstimateRange) -> bool:
    """Whether a number and its interval lie in what is published of them, by floats' rounding."""
    if exact.value is None:
        return exact == published
    assert published.low is not None
    assert published.high is not None
    inside = published.low - 1e-9 <= exact.value <= published.high + 1e-9
    if exact.confidence_low is None or exact.confidence_high is None:
        return inside
    assert published.confidence_low is not None
    assert published.confidence_high is not None
    low, high = published.confidence_low, published.confidence_high
    return inside and low - 1e-9 <= exact.confidence_low and exact.confidence_high <= high + 1e-9


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_every_exact_figure_lies_in_what_is_published(seed: int) -> None:
    tally = tally_of(draw_order(seed))
    exact, published = derive_membership(tally), derive_membership(coarsen(tally))
    assert published.evidence is None
    for figure in ("auroc", "found_at_10", "found_at_1", "p_value"):
        assert is_within(getattr(exact, figure), getattr(published, figure)), figure


Cells = tuple[int, int, int, int]


def draw_within(cells: Cells, never_seen: int, rng: np.random.Generator) -> PatientOrder:
    """Draw an order with these cells."""
    trained = [rng.uniform(*bound, count) for count, bound in zip(cells, bounds_of(never_seen), strict=True)]
    return order_of(np.concatenate(trained), np.arange(float(never_seen)))


def extreme_areas(cells: Cells, never_seen: int) -> list[float]:
    """Return the AUROC where those trained on stand below, and above, all never-seen patients of their class."""
    wins = [(begin + 1, end) for begin, end in bounds_of(never_seen)]
    return [np.dot(cells, of) / sum(cells) / never_seen for of in zip(*wins, strict=True)]


def test_the_range_of_the_area_is_that_of_all_tables_within_the_classes() -> None:
    tally = tally_of(draw_within((0, 12, 0, 15), 33, np.random.default_rng(0)))
    published = derive_membership(coarsen(tally)).auroc
    tables = product(range(1, 21), range(1, 21), range(21, 41))
    areas = [area for first, last, n in tables for area in extreme_areas((0, first, 0, last), n)]
    assert published.low == pytest.approx(min(areas), abs=1e-4)
    assert published.high == pytest.approx(max(areas), abs=1e-4)


def test_two_tables_within_the_same_classes_are_published_alike() -> None:
    rng = np.random.default_rng(1)
    tallies = [tally_of(draw_within(*world, rng)) for world in (((3, 5, 2, 25), 105), ((18, 9, 19, 39), 118))]
    exact, published = ([derive_membership(of(one)) for one in tallies] for of in (lambda one: one, coarsen))
    for figure in ("auroc", "found_at_10", "found_at_1", "p_value", "trained", "never_seen"):
        assert getattr(exact[0], figure) != getattr(exact[1], figure)
    assert published[0].model_dump_json() == published[1].model_dump_json()
    assert published[0].found_at_1.low is not None


def test_nothing_but_the_coarse_table_is_read() -> None:
    coarse = coarsen(tally_of(draw_order(4)))
    assert coarse.trained is not None
    bare = MembershipTally(
        coarse.score,
        True,
        (),
        Count(coarse.never_seen.range),
        Partition({name: coarse.trained[name] for name in PERCENTILE_CLASSES}),
        None,
        Inside(None),
    )
    assert derive_membership(bare) == derive_membership(coarse)
    assert all(count.high in (0, 20, 40, 60) for count in derive_membership(coarse).trained.values())
