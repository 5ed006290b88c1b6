"""Overlap of propensities, power and zeros: by hand, and what of them is published."""

import itertools

import numpy as np
import pytest
from support.results.filled_results import filled, pair_from, planted_table, wilson

from clinaudit.audit.cohorts.overlap import describe_overlap
from clinaudit.audit.statistics.intervals import upper_bound_of_none
from clinaudit.reports.schema.groups import OverlapBin
from clinaudit.reports.suppression.cohorts import suppress_overlap
from clinaudit.reports.suppression.disclosure import suppress_pair
from clinaudit.reports.suppression.small_cells import LARGEST_HIDDEN
from clinaudit.reports.tables.power import memorization_zeros_table, power_table

STATUSES = ("positive", "negative")


def test_bins_hold_every_candidate_and_every_matched_patient_once():
    rng = np.random.default_rng(0)
    cells = [rng.normal(shift, 1, (size, 3)) for shift, size in ((1, 60), (0, 300), (1, 50), (0, 200))]
    chosen = [range(40)] * 4
    bins = describe_overlap(cells, chosen)
    assert bins == describe_overlap(cells, chosen)
    for arm, positive, negative in (("train", 60, 300), ("nontrain", 50, 200)):
        own = [item for item in bins if item.arm == arm]
        assert (own[0].low, own[-1].high) == (0.0, 1.0)
        assert all(a.high == b.low for a, b in itertools.pairwise(own))
        assert sum(item.positive_candidates or 0 for item in own) == positive
        assert sum(item.negative_candidates or 0 for item in own) == negative
        assert sum(item.positive_matched or 0 for item in own) == 40
        # Those with the diagnosis lie where propensity is high.
        assert (own[-1].positive_candidates or 0) / positive > (own[-1].negative_candidates or 0) / negative


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


def test_upper_bounds_of_none_by_hand():
    # (1 - p)^n = 0.05; the rule of three says 0.03 at a hundred.
    assert upper_bound_of_none(1) == pytest.approx(0.95)
    assert upper_bound_of_none(100) == pytest.approx(1 - 0.05**0.01)
    assert upper_bound_of_none(100) == pytest.approx(0.03, abs=1e-3)


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


def test_the_tables_say_what_zeros_leave_possible():
    results = filled()
    rows = power_table(results).rows
    assert len(rows) == 36
    assert {row[2] for row in rows} == {"0.17"}
    assert {row[3] for row in rows} == {"no zero"}
    assert memorization_zeros_table(results).rows == ()
