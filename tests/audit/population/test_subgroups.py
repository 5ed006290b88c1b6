"""Figures by subgroup and over patients, against hand counts; what a reader can have back of hidden groups."""

import itertools

import numpy as np
import pytest

from clinaudit.audit.disclosure.readings import Reading
from clinaudit.audit.memorization.summary import GenerationMetrics
from clinaudit.audit.population.description import age_band, race_group, sex_group
from clinaudit.audit.population.subgroups import Groups, measure_subgroups
from clinaudit.audit.statistics.patient_distribution import describe_distribution, tail_size
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.groups import GroupMemorization, PatientDistribution, Subgroups
from clinaudit.reports.suppression.distribution import suppress_distribution, tells_bin
from clinaudit.reports.suppression.groups import find_hidden_groups, suppress_subgroups
from clinaudit.reports.suppression.small_cells import LARGEST_HIDDEN

GROUPS: Groups = {
    "age": {"a": "35-49", "b": "35-49", "c": "80+", "d": "unknown", "e": "<18"},
    "sex": {"a": "female", "b": "male", "c": "male", "d": "male", "e": "female"},
}


def metrics(patient_id: str, memorized: int, attributable: int, *, tokens: int = 100, number: int = 0):
    return GenerationMetrics(
        generation_id=f"{patient_id}-{number}",
        patient_id=patient_id,
        arm="train",
        tier="encounter",
        tokens=tokens,
        memorized_tokens=memorized,
        echo_tokens=0,
        attributable_tokens=attributable,
        regions=1,
        stitched_regions=0,
        source_notes=1,
    )


def test_memorization_by_group_by_hand():
    rows = [
        metrics("a", 50, 10),
        # Two generations of one patient count as their mean: (0.2 + 0.4) / 2.
        metrics("b", 20, 0),
        metrics("b", 40, 0, number=1),
        metrics("c", 0, 0, tokens=0),
        metrics("d", 100, 100),
        metrics("e", 0, 0),
    ]
    block = measure_subgroups(rows, {}, GROUPS).memorization["encounter"]["train"]
    by_group = {(row.partition, row.group): row for row in block}
    assert list(by_group) == [
        ("age", "<18"),
        ("age", "35-49"),
        ("age", "80+"),
        ("age", "unknown"),
        ("sex", "female"),
        ("sex", "male"),
    ]
    young = by_group["age", "35-49"]
    assert (young.patients, young.memorized_patients, young.attributable_patients) == (2, 2, 1)
    assert young.memorized_fraction.value == pytest.approx((0.5 + 0.3) / 2)
    assert young.attributable_fraction.value == pytest.approx(0.05)
    assert young.attributable_fraction.n == 2
    assert by_group["sex", "male"].memorized_fraction.value == pytest.approx((0.3 + 0 + 1) / 3)


def test_exposure_by_group_counts_those_who_have_the_diagnosis_and_a_verdict():
    def read(patient_id: str, outcome: str, *, present: bool = True) -> Reading:
        return Reading(patient_id, "train", present, outcome)  # type: ignore[arg-type]

    readings = [
        # a has two diagnoses, of which one is stated.
        read("a", "positive"),
        read("a", "not_mentioned"),
        read("b", "negative"),
        read("c", "positive", present=False),
        read("d", "unjudged"),
        read("e", "positive"),
    ]
    block = measure_subgroups([], {"public": readings}, GROUPS).disclosure["public"]["train"]
    by_group = {(row.partition, row.group): row for row in block}
    assert set(by_group) == {("age", "35-49"), ("age", "<18"), ("sex", "female"), ("sex", "male")}
    assert by_group["age", "35-49"].sensitivity.value == pytest.approx(0.25)
    assert (by_group["sex", "female"].patients, by_group["sex", "female"].exposed_patients) == (2, 2)
    assert by_group["sex", "female"].sensitivity.value == pytest.approx(0.75)


def test_groups_of_odd_values():
    assert (age_band(None), age_band(0), age_band(95)) == ("unknown", "<18", "80+")
    assert (sex_group(" Female "), sex_group("x"), sex_group(None)) == ("female", "other", "unknown")
    assert race_group("Hispanic or  Latino") == "hispanic"


def test_distribution_by_hand():
    fractions = {"a": [0.0], "b": [0.0, 0.02], "c": [0.1], "d": [0.5], "e": [0.6], "f": [1.0]}
    spread = describe_distribution(fractions, seed=0)
    assert [item.patients for item in spread.bins] == [1, 1, 1, 1, 2]
    assert [(item.low, item.high) for item in spread.bins][:2] == [(0, 0), (0, 0.01)]
    # b's mean is 0.01, which is not above 0.01.
    assert [item.share.value for item in spread.above] == pytest.approx([5 / 6, 4 / 6, 3 / 6, 2 / 6])
    assert next(item.fraction for item in spread.deciles if item.share == 0.5) == pytest.approx(0.3)
    assert spread.worst_tenth.value == 1.0
    assert spread.worst_tenth.n == 1


def test_worst_tenth_and_its_interval():
    values = np.random.default_rng(0).beta(1, 5, 205)
    spread = describe_distribution({str(i): [value] for i, value in enumerate(values)}, seed=1)
    assert tail_size(205) == 21
    assert spread.worst_tenth.value == pytest.approx(np.sort(values)[-21:].mean())
    rng = np.random.default_rng(2)
    drawn = [np.sort(rng.choice(values, 205))[-21:].mean() for _ in range(2000)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    assert (spread.worst_tenth.low, spread.worst_tenth.high) == pytest.approx((low, high), abs=0.015)


def test_a_distribution_does_not_depend_on_the_order_of_patients():
    fractions = {str(i): [i / 50] for i in range(50)}
    assert describe_distribution(fractions, seed=3) == describe_distribution(dict(reversed(fractions.items())), seed=3)


@pytest.mark.parametrize("fractions", [{}, {"a": []}])
def test_nobody_has_no_distribution(fractions: dict[str, list[float]]):
    with pytest.raises(ValueError, match="at least one"):
        describe_distribution(fractions, seed=0)


# What is published


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


@pytest.mark.parametrize(
    ("counts", "total", "tells"),
    [
        # 0.2 for the twenty, 0.1 for the one leave 0.3: room for two more.
        ([60, 0, 20, 1, 0], 0.6, False),
        # 0.19 is left: for one more, not for two.
        ([60, 0, 20, 1, 0], 0.49, True),
        ([60, 0, 20, 3, 0], 0.51, False),
        ([60, 0, 20, 0, 0], 0.21, False),
    ],
)
def test_a_small_sum_tells_how_few_patients_can_be_in_a_bin(counts: list[int], total: float, tells: bool) -> None:
    assert tells_bin(spread_of(counts), total) == tells


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


def spread_of(counts: list[int]) -> PatientDistribution:
    """Patients by bin: none, up to 1%, 10%, 50%, 100%."""
    fractions = itertools.chain(
        *([value] * count for value, count in zip((0, 0.005, 0.05, 0.3, 0.8), counts, strict=True))
    )
    return describe_distribution({str(i): [value] for i, value in enumerate(fractions)}, seed=0)


def test_bins_of_few_patients_are_hidden_together_with_a_second():
    spread = suppress_distribution(spread_of([100, 30, 20, 12, 4]), patients=166, total=40.0, hides_patients=False)
    assert [item.patients for item in spread.bins] == [100, 30, 20, None, None]
    shares = {item.threshold: item.share for item in spread.above}
    # Both hidden bins lie above 10%, so that their sum is no secret; above 50% one of them does.
    assert shares[0.1].value == pytest.approx(16 / 166)
    assert (shares[0.5].value, shares[0.5].low, shares[0.5].high) == (
        None,
        pytest.approx(1 / 166),
        pytest.approx(15 / 166),
    )
    assert spread.worst_tenth.value is not None


def test_patients_with_any_are_a_total_that_gives_nothing_back():
    # 62 with any is shown elsewhere: the bin of none must not be the second one hidden.
    spread = suppress_distribution(spread_of([20, 3, 25, 34, 0]), patients=82, total=40.0, hides_patients=False)
    assert [item.patients for item in spread.bins] == [20, None, 25, None, 0]


def test_few_with_any_are_hidden_altogether():
    seen = {
        suppress_distribution(
            spread_of([166 - few, few, 0, 0, 0]), patients=166, total=40.0, hides_patients=False
        ).model_dump_json()
        for few in range(1, LARGEST_HIDDEN + 1)
    }
    assert len(seen) == 1
    spread = PatientDistribution.model_validate_json(seen.pop())
    assert {item.patients for item in spread.bins} == {None}
    assert spread.worst_tenth.value is None


def test_no_decile_or_tail_rests_on_fewer_than_eleven():
    small = suppress_distribution(spread_of([30, 30, 30, 0, 0]), patients=90, total=40.0, hides_patients=False)
    told = {item.share: item.fraction for item in small.deciles}
    assert told[0.1] is None
    assert told[0.9] is None
    assert told[0.5] == pytest.approx(0.01)
    assert small.worst_tenth.value is None
    hidden = suppress_distribution(spread_of([100, 30, 20, 12, 12]), patients=174, total=40.0, hides_patients=True)
    assert {item.patients for item in hidden.bins} == {None}
    assert {item.share.n for item in hidden.above} == {None}
