"""Figures by subgroup: what a reader can have back of hidden groups."""

import numpy as np
import pytest

from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.groups import GroupMemorization, Subgroups
from clinaudit.reports.suppression.groups import find_hidden_groups, suppress_subgroups
from clinaudit.reports.suppression.small_cells import LARGEST_HIDDEN


def block_of(sizes: dict[str, int], touched: dict[str, int], *, share: float = 0.4) -> list[GroupMemorization]:
    """One partition; each touched patient has the fraction `share`."""
    return [
        GroupMemorization(
            partition="age",
            group=group,
            patients=size,
            memorized_fraction=Estimate(value=share * touched[group] / size, low=0.0, high=1.0, n=size),
            attributable_fraction=Estimate(value=share * touched[group] / size, low=0.0, high=1.0, n=size),
            memorized_patients=touched[group],
            attributable_patients=touched[group],
        )
        for group, size in sizes.items()
    ]


def published(*tiers: list[GroupMemorization]) -> list[list[GroupMemorization]]:
    block = Subgroups(memorization={str(i): {"train": rows} for i, rows in enumerate(tiers)})
    tiers = suppress_subgroups(block, splits={}, hidden=find_hidden_groups(block, {})).memorization
    return [arms["train"] for arms in tiers.values()]


def test_large_groups_are_published_as_they_are():
    sizes = {"18-34": 40, "35-49": 60}
    (rows,) = published(block_of(sizes, {"18-34": 20, "35-49": 30}))
    assert [row.patients for row in rows] == [40, 60]
    assert [row.attributable_fraction.value for row in rows] == pytest.approx([0.2, 0.2])
    assert {row.attributable_patients for row in rows} == {None}


def test_a_hidden_group_is_joined_by_a_second():
    (rows,) = published(block_of({"18-34": 4, "35-49": 60, "50-64": 40}, {"18-34": 2, "35-49": 40, "50-64": 30}))
    # The second hidden size is the first by name: the smallest would tell that it is no larger than what is shown.
    assert [row.patients for row in rows] == [None, None, 40]
    values = [row.attributable_fraction.value for row in rows]
    assert values[0] is None
    assert values[1] is None
    assert values[2] is not None


def test_a_figure_of_few_is_a_bound_and_the_total_does_not_give_it_back():
    (rows,) = published(block_of({"18-34": 50, "35-49": 60, "50-64": 70}, {"18-34": 3, "35-49": 30, "50-64": 60}))
    few, second, third = (row.attributable_fraction for row in rows)
    assert [row.patients for row in rows] == [50, 60, 70]
    assert (few.value, few.low) == (None, 0.0)
    assert few.high == pytest.approx(0.37)
    assert (second.value, second.low, second.high) == (None, None, None)
    assert third.value is not None


def test_a_bound_does_not_depend_on_how_few_they_are():
    seen = {
        published(block_of({"18-34": 50, "35-49": 60}, {"18-34": few, "35-49": 40}))[0][0].model_dump_json()
        for few in range(1, LARGEST_HIDDEN + 1)
    }
    assert len(seen) == 1


def test_nobody_touched_is_zero():
    (rows,) = published(block_of({"18-34": 50, "35-49": 60}, {"18-34": 0, "35-49": 40}))
    assert rows[0].attributable_fraction.value == 0
    assert rows[1].attributable_fraction.value is not None


def test_a_few_patients_fewer_than_at_another_tier_hide_the_sizes():
    touched = {"18-34": 20, "35-49": 30, "50-64": 20}
    most, fewer, many_fewer = published(
        block_of({"18-34": 50, "35-49": 60, "50-64": 40}, touched),
        block_of({"18-34": 47, "35-49": 60, "50-64": 40}, touched),
        block_of({"18-34": 30, "35-49": 60, "50-64": 40}, touched),
    )
    for rows in (most, fewer, many_fewer):
        assert [row.patients for row in rows] == [None, None, None]
        assert {row.attributable_fraction.n for row in rows} == {None}
    assert fewer[0].attributable_fraction.value == pytest.approx(0.17)


def test_figures_of_two_groups_of_hidden_sizes_are_ranges():
    # With the arm's size and figure, two exact figures would be two equations for two sizes.
    touched = {"18-34": 20, "35-49": 30}
    _, fewer = published(block_of({"18-34": 50, "35-49": 60}, touched), block_of({"18-34": 47, "35-49": 60}, touched))
    figure = fewer[0].attributable_fraction
    assert (figure.value, figure.low, figure.high) == (None, pytest.approx(0.125), pytest.approx(0.175))


def test_no_breakdown_gives_a_small_group_back():
    rng = np.random.default_rng(7)
    for _ in range(300):
        sizes = {f"g{i}": int(rng.integers(1, 40)) for i in range(int(rng.integers(2, 6)))}
        touched = {group: int(rng.integers(0, size + 1)) for group, size in sizes.items()}
        (rows,) = published(block_of(sizes, touched, share=1.0))
        hidden = [group for group, row in zip(sizes, rows, strict=True) if row.patients is None]
        if hidden and sum(sizes.values()) > LARGEST_HIDDEN:
            assert sum(sizes[group] for group in hidden) > LARGEST_HIDDEN
        assert not {row.patients for row in rows if row.patients} & set(range(1, LARGEST_HIDDEN + 1))
        # Total minus what is shown: the touched of the hidden figures together.
        unknown = [group for group, row in zip(sizes, rows, strict=True) if row.attributable_fraction.value is None]
        if any(0 < touched[group] <= LARGEST_HIDDEN for group in unknown) and sum(touched.values()) > LARGEST_HIDDEN:
            assert sum(touched[group] for group in unknown) > LARGEST_HIDDEN
