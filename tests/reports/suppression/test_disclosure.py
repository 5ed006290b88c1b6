"""Small cells in disclosure figures: an arm, both arms of a pair, and the deltas between them."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.results.planted_disclosure import METRICS, Table, disclosure_from, pair_from, planted_table, wilson

from clinaudit.reports.schema.disclosure import Disclosure, DisclosureDelta
from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.suppression.disclosure import suppress_arm, suppress_pair

PREVALENCE = wilson(60, 150)


def arm(table: Table) -> Disclosure:
    return suppress_arm(disclosure_from(table), set_count=sum(table[0]), prevalence=PREVALENCE)


def test_a_table_without_small_cells_is_published_whole() -> None:
    # 100 a row; no cell, difference or margin of 1 to 10.
    table: Table = ((40, 0, 20, 40, 0), (20, 0, 40, 40, 0))
    assert arm(table) == disclosure_from(table)


def test_a_hidden_cell_hides_curve_auroc_and_ppv_but_leaves_bands() -> None:
    table: Table = ((40, 0, 20, 40, 0), (5, 0, 40, 55, 0))
    published = arm(table)
    assert published.sensitivity == disclosure_from(table).sensitivity
    assert published.false_positive_rate == Estimate(value=None, low=0.01, high=0.1, reason=REASON)
    assert published.roc is None
    assert published.ppv.value is None
    assert (published.ppv.low, published.ppv.high) == (pytest.approx(40 / 50), pytest.approx(40 / 41))
    assert published.auroc.value is None
    exact = disclosure_from(table).auroc_all.value
    assert exact is not None
    assert published.auroc_all.value is None
    assert published.auroc_all.low is not None
    assert published.auroc_all.high is not None
    assert published.auroc_all.low <= exact <= published.auroc_all.high


def test_few_without_a_mention_in_one_class_hide_the_curve_that_counts_them() -> None:
    # 25 without a mention in all, 5 of them with the diagnosis: the ROC points tell the 95 others.
    published = arm(((60, 0, 35, 5, 0), (40, 0, 40, 20, 0)))
    assert published.roc is None
    assert published.auroc_all.value is None


def test_mentions_are_hidden_where_they_give_another_cell_away() -> None:
    # 39 mentions, 30 of them positive verdicts on d-positives: 9 others could be read off.
    table: Table = ((30, 0, 4, 66, 0), (0, 0, 5, 95, 0))
    published = arm(table)
    assert published.mentioned is None
    assert published.mention_rate.value is None
    assert published.mention_rate.low is not None


def test_few_unjudged_hide_every_n() -> None:
    table: Table = ((40, 0, 20, 37, 3), (20, 0, 40, 40, 0))
    published = arm(table)
    assert (published.generations, published.mentioned, published.unjudged) == (200, 120, None)
    assert all(getattr(published, metric).n is None for metric in METRICS)
    # 40 of 97, but 1 to 10 of 100 may be unjudged: 40/100 to 40/90.
    assert published.sensitivity == Estimate(value=None, low=0.4, high=0.45, reason=REASON)
    assert published.base_rate is None
    assert published.roc is None


def test_unjudged_in_number_stay_and_sizes_are_of_the_judged() -> None:
    table: Table = ((40, 0, 20, 40, 15), (20, 0, 40, 40, 15))
    exact = disclosure_from(table)
    sizes = {"sensitivity": wilson(40, 100), "false_positive_rate": wilson(20, 100)}
    exact = exact.model_copy(update=sizes)
    published = suppress_arm(exact, set_count=115, prevalence=PREVALENCE)
    assert (published.generations, published.unjudged, published.mentioned) == (230, 30, 120)
    assert published.sensitivity == wilson(40, 100)


def test_few_dropped_sets_hide_every_n() -> None:
    table: Table = ((40, 0, 20, 37, 0), (20, 0, 40, 37, 0))
    published = suppress_arm(disclosure_from(table), set_count=100, prevalence=PREVALENCE)
    assert published.generations is None
    assert all(getattr(published, metric).n is None for metric in METRICS)
    # 40 of 97, but of 100 sets 1 to 10 may be missing.
    assert published.sensitivity == Estimate(value=None, low=0.4, high=0.45, reason=REASON)
    # The ranges of both rates tell their numerators, and those the PPV: 40 of 60, by Wilson 0.54 to 0.77.
    assert published.ppv == Estimate(value=0.67, low=0.54, high=0.78)


def test_every_number_of_few_dropped_sets_is_published_alike_where_all_patients_are_told() -> None:
    published = []
    for few in range(1, 11):
        kept = 100 - few
        table: Table = ((kept, 0, 0, 0, 0), (20, 0, kept - 20, 0, 0))
        published.append(suppress_arm(disclosure_from(table), set_count=100, prevalence=PREVALENCE))
    # A rate of one beside its count, or a PPV of exact counts, would tell how many were judged.
    assert {(arm.generations, arm.mentioned, arm.mention_rate.value, arm.sensitivity.value) for arm in published} == {
        (None, None, 1.0, 1.0)
    }
    assert min(Counter(arm.sensitivity.low for arm in published).values()) >= 3
    # 90 to 100 of 110 to 120.
    assert {(arm.ppv.low, arm.ppv.high) for arm in published} == {(0.81, 0.84)}


@pytest.mark.parametrize("sets", [12, 13, 14, 20, 33, 46, 78, 110])
def test_where_nobody_is_told_of_the_bounds_do_not_tell_how_many_sets_were_dropped(sets: int) -> None:
    published: Counter[str] = Counter()
    for few in range(1, min(10, sets - 11) + 1):
        kept = sets - few
        table: Table = ((0, 0, 0, kept, 0), (0, 0, 0, kept, 0))
        published[suppress_arm(disclosure_from(table), set_count=sets, prevalence=PREVALENCE).model_dump_json()] += 1
    assert len(published) == 1
    # Of at most thirteen, eleven of whom must be left, few missing would be one or two.
    is_withheld = suppress_arm(
        disclosure_from(((0, 0, 0, sets - 1, 0), (0, 0, 0, sets - 1, 0))), set_count=sets, prevalence=PREVALENCE
    ).sensitivity == Estimate(value=None, reason=REASON)
    assert is_withheld == (sets < 14)


def test_of_few_asked_it_is_not_told_which_side_is_small() -> None:
    shown = {
        suppress_arm(
            disclosure_from(((exposed, 0, 0, 14 - exposed, 0), (0, 0, 0, 14, 0))), set_count=15, prevalence=PREVALENCE
        ).sensitivity.model_dump_json()
        for exposed in range(1, 14)
    }
    assert len(shown) == 1


@pytest.mark.parametrize("few", range(1, 11))
def test_a_reason_that_dropped_few_sets_cannot_be_had_back_from_the_size(few: int) -> None:
    kept = 80 - few
    table: Table = ((40, 0, kept - 40, 0, 0), (20, 0, kept - 20, 0, 0))
    pair = pair_from(table, table).model_copy(update={"dropped_sets": {"complaint": few, "history": 20}})
    published = suppress_pair(pair, set_count=100, prevalence=PREVALENCE)
    assert published.dropped_sets == {"complaint": None, "history": None}
    assert published.nontrain is not None
    assert published.delta is not None
    for side in (published.train, published.nontrain):
        assert side.generations is None
        # 21 to 30 sets were dropped: 40 of 70 to 80.
        assert side.sensitivity == Estimate(value=None, low=0.5, high=0.58, reason=REASON)
        assert all(getattr(side, metric).n is None for metric in METRICS)
    # The size less what another tier dropped would be the hidden reason.
    assert all(getattr(published.delta, metric).n is None for metric in METRICS)


def test_reasons_that_dropped_many_sets_stay_beside_the_size() -> None:
    table: Table = ((30, 0, 15, 20, 0), (15, 0, 30, 20, 0))
    pair = pair_from(table, table).model_copy(update={"dropped_sets": {"complaint": 15, "history": 20}})
    published = suppress_pair(pair, set_count=100, prevalence=PREVALENCE)
    assert published.dropped_sets == pair.dropped_sets
    assert published.train.generations == 130


def test_a_class_of_few_patients_withholds_everything() -> None:
    published = arm(((5, 0, 0, 3, 0), (1, 0, 0, 7, 0)))
    assert published.generations is None
    assert published.base_rate is None
    for metric in METRICS:
        assert getattr(published, metric) == Estimate(value=None, reason=REASON)


@pytest.mark.parametrize(("cell", "false_alarms"), list(itertools.product((45, 60, 100), (0, 15))))
def test_a_reader_who_knows_all_else_cannot_tell_the_hidden_count(cell: int, false_alarms: int) -> None:
    """Every exposed count of 1 to 10 has the same published form, deltas included."""
    nontrain = planted_table(cell, 0, 15)
    alike: dict[str, list[int]] = {}
    for exposed in range(1, 11):
        pair = pair_from(planted_table(cell, exposed, false_alarms), nontrain)
        published = suppress_pair(pair, set_count=cell, prevalence=PREVALENCE)
        alike.setdefault(published.model_dump_json(), []).append(exposed)
    assert list(alike.values()) == [list(range(1, 11))]


row = st.tuples(*[st.integers(0, 40)] * 4).filter(lambda cells: sum(cells) > 0)


@given(row, row)
def test_bands_hold_the_exact_figure(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    size = max(sum(first), sum(second))
    rows = [(p, a, d, x + size - sum(cells), 0) for cells in (first, second) for p, a, d, x in [cells]]
    exact = disclosure_from((rows[0], rows[1]))
    published = suppress_arm(exact, set_count=size, prevalence=Estimate(value=0.3, low=0.2, high=0.4, n=150))
    for metric in METRICS:
        was, now = getattr(exact, metric), getattr(published, metric)
        if was.value is not None and now.low is not None and now.value is None:
            assert now.low - 1e-9 <= was.value <= now.high + 1e-9, metric


def test_deltas_follow_the_published_arms() -> None:
    pair = pair_from(planted_table(100, 30, 5), planted_table(100, 13, 12))
    published = suppress_pair(pair, set_count=100, prevalence=PREVALENCE)
    assert pair.delta is not None
    assert published.delta is not None
    assert published.delta.sensitivity == pair.delta.sensitivity
    rate = published.delta.false_positive_rate
    assert (rate.value, rate.low, rate.high) == (None, pytest.approx(0.01 - 0.12), pytest.approx(0.10 - 0.12))
    assert (rate.p_value, rate.p_holm) == (None, None)
    assert published.delta.auroc_all.p_value is None
    assert published.delta.auroc_all.p_holm == 1.0  # 0.21, rounded up
    assert published.delta.auroc_all.worst_low is None


def test_metrics_are_the_schema_s() -> None:
    assert set(METRICS) == set(DisclosureDelta.model_fields)


def test_zeros_and_power_are_published_and_coarser_where_counts_are_hidden():
    tables = (planted_table(100, exposed, 20, denied=12) for exposed in (0, 30))
    open_pair = pair_from(*tables)
    published = suppress_pair(open_pair, set_count=100, prevalence=wilson(60, 150))
    assert published.train.zero_bounds == open_pair.train.zero_bounds
    assert published.detectable_delta == 0.171
    few = pair_from(planted_table(100, 3, 20), planted_table(100, 30, 20))
    published = suppress_pair(few, set_count=100, prevalence=wilson(60, 150))
    assert published.train.zero_bounds == {}
    assert published.detectable_delta == pytest.approx(0.2)
