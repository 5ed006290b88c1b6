"""Small cells: nothing published gives a count of 1 to 10 patients back."""

import itertools
import json
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.results.filled_results import (
    DIAGNOSES,
    METRICS,
    Table,
    all_null,
    disclosure_from,
    empty,
    filled,
    mean_of,
    pair_from,
    planted_table,
    population,
    wilson,
)

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.cohorts import CohortSummary
from clinaudit.reports.schema.decision import Limit, RuleOutcome
from clinaudit.reports.schema.disclosure import Disclosure, DisclosureDelta
from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.schema.results import Results, StageCompleteness, from_json, to_json
from clinaudit.reports.suppression.disclosure import suppress_arm, suppress_pair
from clinaudit.reports.suppression.results import suppress
from clinaudit.reports.suppression.small_cells import (
    blur,
    grid_cell,
    grid_width,
    hidden_range,
    suppress_breakdown,
    suppress_count,
    suppress_rate,
    without_numbers,
)

PREVALENCE = wilson(60, 150)

#: Keys of the document under which a whole number counts patients, or generations that stand for them.
PATIENT_COUNTS = {"patients", "generations", "mentioned", "unjudged", "empty", "shorter_than_ngram"}
PATIENT_BREAKDOWNS = {"age_bands", "sex", "race", "cells", "excluded", "dropped_sets"}


def counts_in(node: object, key: str = "", parent: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(node, dict):
        for name, item in node.items():
            yield from counts_in(item, name, key)
    elif isinstance(node, list):
        for item in node:
            yield from counts_in(item, key, parent)
    elif isinstance(node, int) and (key in PATIENT_COUNTS or parent in PATIENT_BREAKDOWNS):
        yield f"{parent}.{key}", node


@pytest.mark.parametrize("cell", [30, 45, 100])
@pytest.mark.parametrize("nontrain", [True, False])
def test_no_published_count_is_from_1_to_10(cell: int, nontrain: bool) -> None:
    document = json.loads(to_json(suppress(filled(cell=cell, nontrain=nontrain))))
    counts = list(counts_in(document))
    assert len(counts) > 100
    assert [(where, count) for where, count in counts if 1 <= count <= 10] == []


@pytest.mark.parametrize("cell", [30, 45, 100])
def test_no_rate_beside_its_n_gives_a_small_count(cell: int) -> None:
    published = suppress(filled(cell=cell))
    for tiers in published.disclosure.by_diagnosis.values():
        for pair in tiers.values():
            for arm in (pair.train, pair.nontrain):
                assert arm is not None
                for metric in ("mention_rate", "ppv", "sensitivity", "false_positive_rate"):
                    rate: Estimate = getattr(arm, metric)
                    if rate.value is not None and rate.n is not None and metric != "ppv":
                        count = round(rate.value * rate.n)
                        assert not 1 <= count <= 10
                        assert not 1 <= rate.n - count <= 10


@pytest.mark.parametrize("results", [filled(), filled(nontrain=False), all_null(), empty()])
def test_the_published_copy_is_valid_and_survives_its_json(results: Results) -> None:
    text = to_json(suppress(results))
    assert to_json(from_json(text)) == text


def test_the_original_is_not_changed() -> None:
    results = filled()
    before = to_json(results)
    suppress(results)
    assert to_json(results) == before


# Primitives


@pytest.mark.parametrize(
    ("count", "total", "published"),
    [
        (0, None, 0),
        (1, None, None),
        (10, None, None),
        (11, None, 11),
        (None, None, None),
        (89, 100, 89),
        (90, 100, None),
        (100, 100, 100),
        (0, 5, None),
    ],
)
def test_publish_count(count: int | None, total: int | None, published: int | None) -> None:
    assert suppress_count(count, total=total) == published


@pytest.mark.parametrize(
    ("counts", "hidden"),
    [
        ({"a": 50, "b": 30, "c": 0}, set()),
        ({"a": 50, "b": 30, "c": 4}, {"a", "c"}),  # one hidden cell is joined by the first other by name
        ({"a": 50, "b": 7, "c": 8}, {"b", "c"}),  # two that hold 15 together are enough
        ({"a": 50, "b": 10, "c": 10}, {"a", "b", "c"}),  # two that hold 20 together can only be ten each
        ({"a": 50, "b": 2, "c": 3}, {"a", "b", "c"}),  # 5 together would be a small count themselves
        ({"a": 50, "b": 3, "c": 0}, {"a", "b"}),  # a zero hides nobody
        ({"a": 4}, {"a"}),
        ({"a": None, "b": 40}, {"a", "b"}),
        ({}, set()),
    ],
)
def test_publish_breakdown(counts: dict[str, int | None], hidden: set[str]) -> None:
    published = suppress_breakdown(counts)
    assert {key for key, count in published.items() if count is None} == hidden
    assert all(published[key] == counts[key] for key in counts if key not in hidden)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=7))
def test_a_hidden_cell_cannot_be_had_back_from_the_total(cells: list[int]) -> None:
    counts: dict[str, int | None] = {str(place): count for place, count in enumerate(cells)}
    published = suppress_breakdown(counts)
    hidden = [key for key, count in published.items() if count is None]
    if hidden and sum(cells) > 10:
        rest = sum(cells) - sum(count for count in published.values() if count is not None)
        assert len(hidden) >= 2
        assert rest > 10
        # Brute force: the attacker knows the rest, and that no hidden cell is zero.
        for key in hidden:
            others = len(hidden) - 1
            possible = [value for value in range(1, rest) if rest - value >= others]
            assert len(possible) > 1, key


@pytest.mark.parametrize(
    ("count", "total", "expected"),
    [
        (0, 60, None),
        (60, 60, None),
        (3, 60, (1, 10)),
        (55, 60, (50, 59)),
        (30, 60, None),
        # Of twenty either side may be small: which of them is hidden is not told.
        (8, 15, (1, 14)),
        (3, 15, (1, 14)),
        (10, 20, (1, 19)),
        (0, 20, None),
        (20, 20, None),
        (10, 21, (1, 10)),
    ],
)
def test_hidden_range(count: int, total: int, expected: tuple[int, int] | None) -> None:
    assert hidden_range(count, total) == expected


def test_a_suppressed_rate_is_the_range_of_its_hidden_count() -> None:
    assert suppress_rate(wilson(3, 50)) == Estimate(value=None, low=1 / 50, high=10 / 50, reason=REASON)
    assert suppress_rate(wilson(49, 50)) == Estimate(value=None, low=40 / 50, high=49 / 50, reason=REASON)
    assert suppress_rate(wilson(0, 50)) == wilson(0, 50)
    assert suppress_rate(wilson(2, 8)) == Estimate(value=None, reason=REASON)


def test_every_hidden_count_is_published_alike() -> None:
    assert len({suppress_rate(wilson(count, 50)).model_dump_json() for count in range(1, 11)}) == 1


def test_a_rate_without_its_n_is_withheld() -> None:
    assert suppress_rate(Estimate(value=0.5, low=0.4, high=0.6)) == Estimate(value=None, reason=REASON)


def test_generations_of_few_patients_raise_the_threshold() -> None:
    assert suppress_rate(wilson(18, 300), patients_per_unit=2).value is None
    assert suppress_rate(wilson(21, 300), patients_per_unit=2).value == pytest.approx(0.07)


def test_grid_cells_are_centred_on_no_leakage() -> None:
    assert grid_width(100) == pytest.approx(0.1)
    assert grid_width(45) == pytest.approx(0.25)
    assert grid_width(20) is None  # 0.5 wide: says nothing
    assert grid_width(0) is None
    cell = grid_cell(0.51, width=0.1, centre=0.5, floor=0.0, ceiling=1.0)
    assert (cell.low, cell.high) == (pytest.approx(0.45), pytest.approx(0.55))
    top = grid_cell(0.99, width=0.25, centre=0.5, floor=0.0, ceiling=1.0)
    assert (top.low, top.high) == (pytest.approx(0.875), 1.0)


@pytest.mark.parametrize("fraction", [0.0, 0.2, 0.5, 1.0])
def test_no_blurred_rate_tells_the_number_of_patients(fraction: float) -> None:
    # From 11 to 300, three or more in a row have the same bounds; what divides them is the value's to tell.
    bounds = [
        (blurred.low, blurred.high) for n in range(11, 303) for blurred in [blur(wilson(fraction * n, n), patients=n)]
    ]
    runs = [len(list(same)) for _, same in itertools.groupby(bounds)]
    assert min(runs[:-1]) >= 3


def test_blur_rounds_bounds_outwards_and_drops_n() -> None:
    blurred = blur(Estimate(value=0.4576, low=0.3412, high=0.5788, n=59))
    assert blurred == Estimate(value=0.46, low=0.34, high=0.58)
    assert blur(Estimate(value=0.4, low=0.34, high=0.58, n=5)) == Estimate(value=0.4, low=0.34, high=0.58)


@pytest.mark.parametrize(
    ("reason", "is_kept"),
    [
        ("one class only", True),
        ("more than 1% of the resamples leave this undefined", True),
        ("only 7 patients mention it", False),
        ("31.25% mention it", False),
        ("7 of 100% were kept", False),
    ],
)
def test_reasons_with_numbers_are_replaced(reason: str, is_kept: bool) -> None:
    assert (without_numbers(reason) == reason) is is_kept


# Disclosure


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


def test_a_mean_does_not_give_one_hidden_diagnosis_back() -> None:
    published = suppress(filled())
    for tier in TIER_IDS:
        pairs = [published.disclosure.by_diagnosis[diagnosis][tier] for diagnosis in DIAGNOSES]
        if any(pair.train.auroc_all.value is None for pair in pairs):
            mean = published.disclosure.mean[tier].train["auroc_all"]
            assert mean.value is None
            assert mean.low is not None


def test_rules_observe_what_is_published() -> None:
    published = suppress(filled())
    assert published.decision is not None
    for rule in published.decision.rules[1:]:
        delta = published.disclosure.by_diagnosis[str(rule.diagnosis)][str(rule.tier)].delta
        assert delta is not None
        if delta.auroc_all.value is None:
            assert (rule.observed.value, rule.observed.low) == (None, delta.auroc_all.low)
            assert not any(sign.isdigit() for sign in rule.reason)


def test_a_rule_on_an_unknown_metric_is_withheld() -> None:
    results = filled()
    assert results.decision is not None
    odd = RuleOutcome(
        id="odd", question="?", metric="nonsense", limit=Limit(max=1), status="pass", observed=mean_of(0.5), reason="ok"
    )
    decision = results.decision.model_copy(update={"rules": [odd]})
    published = suppress(results.model_copy(update={"decision": decision}))
    assert published.decision is not None
    assert published.decision.rules[0].observed == Estimate(value=None, reason=REASON)


# Corpus, cohorts, completeness


def test_extremes_are_always_withheld() -> None:
    published = suppress(filled())
    assert published.corpus is not None
    split = published.corpus.splits["train"]
    for moments in (split.age, split.notes_per_patient, split.tokens_per_patient):
        assert (moments.min, moments.max) == (None, None)
        assert moments.mean is not None
    lengths = published.memorization["encounter"]["train"].region_length["tokens"]
    assert (lengths.max, lengths.p90) == (None, 120.0)


def test_a_small_cohort_hides_its_population() -> None:
    cohort = (
        filled()
        .cohorts["hiv"]
        .model_copy(update={"cells": dict.fromkeys(("train_positive", "train_negative", "nontrain_positive"), 8)})
    )
    results = filled()
    assert results.corpus is not None
    corpus = results.corpus.model_copy(update={"cohorts": {"hiv": population(48)}})
    published = suppress(results.model_copy(update={"cohorts": {"hiv": cohort}, "corpus": corpus}))
    hiv: CohortSummary = published.cohorts["hiv"]
    assert set(hiv.cells.values()) == {None}
    assert all(row.smd is None for row in hiv.balance)
    assert published.corpus is not None
    assert published.corpus.cohorts["hiv"].patients is None


def test_excluded_units_are_hidden_with_a_second_reason() -> None:
    published = suppress(filled()).completeness["priors"]
    assert published.excluded == {"no history of present illness": None, "other": None}
    assert (published.planned, published.done, published.missing) == (None, None, 48)
    lone = StageCompleteness(planned=100, done=90, failed=0, excluded={"a": 40, "b": 3})
    results = filled().model_copy(update={"completeness": {"priors": lone}})
    assert suppress(results).completeness["priors"].excluded == {"a": 40, "b": None}


def test_metrics_are_the_schema_s() -> None:
    assert set(METRICS) == set(DisclosureDelta.model_fields)
