"""Small cells in matched cohorts: no bin, and no difference of sizes (split, candidates, cohort), counts 1 to 10."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.results.planted_disclosure import pair_from, planted_table, wilson
from support.results.planted_people import population

from clinaudit.reports.schema.cohorts import CohortSummary
from clinaudit.reports.schema.corpus import CorpusSummary
from clinaudit.reports.schema.disclosure import SecondMatcher, SecondMatching
from clinaudit.reports.schema.estimate import ARMS, Arm, Estimate
from clinaudit.reports.schema.groups import OverlapBin
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.cohorts import suppress_overlap
from clinaudit.reports.suppression.disclosure import suppress_pair
from clinaudit.reports.suppression.results import suppress
from clinaudit.reports.suppression.small_cells import LARGEST_HIDDEN

UNKNOWN, OTHER = "age or sex unknown", "no sensitive diagnosis"
SMALL = set(range(1, 11))
CELL = 100


def results_of(
    *,
    unmatched: Mapping[Arm, tuple[int, int]],
    excluded: Mapping[Arm, Mapping[str, int]],
    second_sets: int | None = None,
) -> Results:
    """One cohort with a cell of 100; `unmatched` candidates with and without the diagnosis."""
    bins = [
        OverlapBin(
            arm=arm,
            low=0.0,
            high=1.0,
            positive_candidates=CELL + unmatched[arm][0],
            negative_candidates=CELL + unmatched[arm][1],
            positive_matched=CELL,
            negative_matched=CELL,
        )
        for arm in ARMS
    ]
    positives, negatives = (CELL + count for count in unmatched["train"])
    reasons: dict[str, int | None] = {}
    for of_arm in excluded.values():
        for reason, count in of_arm.items():
            if count:
                reasons[reason] = (reasons.get(reason) or 0) + count
    cohort = CohortSummary(
        status="balanced",
        reason=None,
        matcher="psm",
        prevalence=wilson(positives, positives + negatives),
        cells=dict.fromkeys(("train_positive", "train_negative", "nontrain_positive", "nontrain_negative"), CELL),
        balance=[],
        excluded=reasons,
        overlap=bins,
    )
    second = None
    if second_sets is not None:
        matching = SecondMatching(status="balanced", reason=None, sets=second_sets, largest_smd=0.05, delta={})
        second = SecondMatcher(matcher="optimal", diagnoses={"hiv": matching})
    sizes = {arm: 2 * CELL + sum(unmatched[arm]) + sum(excluded[arm].values()) for arm in ARMS}
    return Results(
        corpus=CorpusSummary(
            counterfactual=True,
            labels="table",
            splits={arm: population(size) for arm, size in sizes.items()},
            cohorts={},
            warnings=[],
        ),
        cohorts={"hiv": cohort},
        second_matcher=second,
    )


def told_by(results: Results) -> list[int]:
    """What a reader of the published results can work out: excluded and unmatched patients."""
    published = suppress(results)
    assert published.corpus is not None
    cohort = published.cohorts["hiv"]
    told: list[int] = []
    candidates: dict[Arm, int] = {}
    matched = [count for count in (cohort.cells["train_positive"], *second_sets(published)) if count is not None]
    if cohort.prevalence.n is not None:
        candidates["train"] = cohort.prevalence.n
    if cohort.prevalence.n is not None and cohort.prevalence.value is not None:
        positives = round(cohort.prevalence.value * cohort.prevalence.n)
        told += [of_status - cell for of_status in (positives, cohort.prevalence.n - positives) for cell in matched]
    for arm in ARMS:
        bins = [item for item in cohort.overlap if item.arm == arm]
        sums = [sum(getattr(item, f"{status}_candidates") for item in bins) for status in ("positive", "negative")]
        if bins:
            candidates[arm] = sum(sums)
            told += [of_status - cell for of_status in sums for cell in matched]
    left_out = {}
    for arm, count in candidates.items():
        size = published.corpus.splits[arm].patients
        assert size is not None
        left_out[arm] = size - count
    told += left_out.values()
    if len(left_out) == len(ARMS):
        hidden = [reason for reason, count in cohort.excluded.items() if count is None]
        told.append(sum(left_out.values()) - sum(count or 0 for count in cohort.excluded.values()))
        assert len(hidden) != 1
    return told


def second_sets(results: Results) -> list[int | None]:
    return [] if results.second_matcher is None else [item.sets for item in results.second_matcher.diagnoses.values()]


counts = st.one_of(st.integers(0, 12), st.integers(11, 60))
excluded_of_arm = st.fixed_dictionaries({UNKNOWN: counts, OTHER: counts})


@given(
    st.fixed_dictionaries({arm: st.tuples(counts, counts) for arm in ARMS}),
    st.fixed_dictionaries(dict.fromkeys(ARMS, excluded_of_arm)),
    st.one_of(st.none(), st.integers(80, 100)),
)
def test_no_difference_of_published_sizes_counts_few_patients(
    unmatched: dict[Arm, tuple[int, int]], excluded: dict[Arm, dict[str, int]], sets: int | None
) -> None:
    told = told_by(results_of(unmatched=unmatched, excluded=excluded, second_sets=sets))
    assert not SMALL & set(told)


ENOUGH: dict[Arm, tuple[int, int]] = {"train": (40, 400), "nontrain": (30, 300)}


def test_three_patients_of_unknown_age_cannot_be_had_from_the_candidates() -> None:
    results = results_of(unmatched=ENOUGH, excluded={"train": {UNKNOWN: 2}, "nontrain": {UNKNOWN: 1}})
    cohort = suppress(results).cohorts["hiv"]
    assert cohort.excluded == {UNKNOWN: None}
    assert cohort.overlap == []
    # 140 of 640: 0.21875, with Wilson's interval from 0.188 to 0.253.
    assert cohort.prevalence == Estimate(value=0.22, low=0.18, high=0.26)


def test_two_reasons_hide_each_other_and_leave_the_candidates() -> None:
    results = results_of(unmatched=ENOUGH, excluded={"train": {UNKNOWN: 2, OTHER: 90}, "nontrain": {OTHER: 80}})
    cohort = suppress(results).cohorts["hiv"]
    assert cohort.excluded == {UNKNOWN: None, OTHER: None}
    assert cohort.overlap == results.cohorts["hiv"].overlap
    assert cohort.prevalence == results.cohorts["hiv"].prevalence


def test_few_excluded_of_one_arm_hide_the_candidates_though_there_are_many_in_all() -> None:
    results = results_of(unmatched=ENOUGH, excluded={"train": {OTHER: 4}, "nontrain": {OTHER: 80}})
    cohort = suppress(results).cohorts["hiv"]
    assert cohort.excluded == {OTHER: 84}
    assert (cohort.overlap, cohort.prevalence.n) == ([], None)


@pytest.mark.parametrize("arm", ARMS)
def test_few_unmatched_candidates_of_an_arm_hide_the_bins(arm: Arm) -> None:
    nobody: dict[Arm, dict[str, int]] = {"train": {}, "nontrain": {}}
    results = results_of(unmatched={**ENOUGH, arm: (5, 400)}, excluded=nobody)
    cohort = suppress(results).cohorts["hiv"]
    assert cohort.overlap == []
    if arm == "train":
        # 101 to 110 of 605, outwards to two decimals.
        assert (cohort.prevalence.value, cohort.prevalence.low, cohort.prevalence.high) == (None, 0.16, 0.19)
    else:
        assert cohort.prevalence == results.cohorts["hiv"].prevalence


@pytest.mark.parametrize(("few", "is_shown"), [(1, False), (10, False), (11, True)])
def test_few_unmatched_of_both_statuses_in_nontrain_hide_how_many_candidates_train_has(
    few: int, is_shown: bool
) -> None:
    # 0 and `few` unmatched: all patients, less the excluded and the candidates in train, are nontrain's.
    results = results_of(
        unmatched={**ENOUGH, "nontrain": (0, few)}, excluded={"train": {OTHER: 40}, "nontrain": {OTHER: 44}}
    )
    cohort = suppress(results).cohorts["hiv"]
    assert (cohort.prevalence.n is not None) == is_shown
    assert bool(cohort.overlap) == is_shown


def test_every_number_of_few_unmatched_candidates_is_published_alike() -> None:
    nobody: dict[Arm, dict[str, int]] = {"train": {}, "nontrain": {}}
    published = {
        suppress(results_of(unmatched={**ENOUGH, "train": (few, 410 - few)}, excluded=nobody))
        .cohorts["hiv"]
        .model_dump_json()
        for few in range(1, 11)
    }
    assert len(published) == 1


def test_the_size_behind_a_prevalence_cannot_be_solved_for_from_the_ppv_at_it() -> None:
    pair = pair_from(planted_table(100, 40, 20), planted_table(100, 30, 20))
    whole = suppress_pair(pair, set_count=100, prevalence=wilson(60, 150))
    assert whole.train.ppv_at_prevalence == pair.train.ppv_at_prevalence
    coarse = suppress_pair(pair, set_count=100, prevalence=Estimate(value=0.3, low=0.2, high=0.4))
    # 0.4 x 0.3 / (0.4 x 0.3 + 0.2 x 0.7) = 0.4615
    assert coarse.train.ppv_at_prevalence.value == 0.46
    assert coarse.delta is not None
    assert coarse.delta.ppv_at_prevalence.value == 0.07  # 0.4615 less 0.3913
    assert coarse.train.sensitivity == pair.train.sensitivity


STATUSES = ("positive", "negative")


def test_published_bins_hold_no_few_patients():
    rng = np.random.default_rng(1)
    shown = 0
    for _ in range(200):
        drawn = []
        for place in range(10):
            candidates = rng.integers(0, 60, 2)
            matched = [int(rng.integers(0, count + 1)) for count in candidates]
            drawn.append(
                OverlapBin(
                    arm="train",
                    low=place / 10,
                    high=(place + 1) / 10,
                    positive_candidates=int(candidates[0]),
                    negative_candidates=int(candidates[1]),
                    positive_matched=matched[0],
                    negative_matched=matched[1],
                )
            )
        bins = suppress_overlap(drawn)
        shown += len(bins)
        if bins:
            assert (bins[0].low, bins[-1].high) == (0.0, 1.0)
        for item in bins:
            for status in STATUSES:
                candidates = getattr(item, f"{status}_candidates")
                matched = getattr(item, f"{status}_matched")
                counts = {candidates, matched, None if matched is None else candidates - matched}
                assert not counts & set(range(1, LARGEST_HIDDEN + 1))
    assert shown > 200


@pytest.mark.parametrize(
    ("candidates", "matched", "is_shown"), [(105, (), False), (120, (), True), (120, (112,), False)]
)
def test_where_nearly_all_candidates_of_an_arm_were_matched_there_are_no_bins(
    candidates: int, matched: tuple[int, ...], is_shown: bool
) -> None:
    # The cell of 100 is published beside the bins; of 112 is the second matcher's.
    train = OverlapBin(
        arm="train",
        low=0.0,
        high=1.0,
        positive_candidates=candidates,
        negative_candidates=500,
        positive_matched=100,
        negative_matched=100,
    )
    nontrain = train.model_copy(update={"arm": "nontrain", "positive_candidates": 300})
    published = suppress_overlap([train, nontrain], matched=matched)
    assert published == ([train, nontrain] if is_shown else [])
