"""Queries needed from their tally: shares within each number, and one total for both models."""

import numpy as np
import pytest
from support.results.planted_queries import GUESSED, RECITED, publish_queries, tally_of_queries

from clinaudit.audit.results.ranges.attacks import derive_queries
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.reports.schema.attacks import QUERY_CELLS, QUERY_LIMITS
from clinaudit.reports.schema.numbers import CountRange


def test_of_exact_counts_shares_are_the_sums_of_the_classes_up_to_each_number() -> None:
    results = derive_queries(tally_of_queries(RECITED, GUESSED))
    assert results.patients == CountRange(low=150, high=150)
    assert [results.share(most).value for most in QUERY_LIMITS] == pytest.approx(  # type: ignore[union-attr]
        [52 / 150, 144 / 150, 1, 1, 1]
    )
    assert [results.share(most, by_control=True).value for most in QUERY_LIMITS] == pytest.approx(  # type: ignore[union-attr]
        [0, 24 / 150, 40 / 150, 60 / 150, 75 / 150]
    )
    within = results.within["10"]
    exact = clopper_pearson(144, 150)
    assert (within.confidence_low, within.confidence_high) == pytest.approx((exact.low, exact.high), abs=1e-4)
    assert results.control_by_queries is not None
    assert [of.low for of in results.control_by_queries.values()] == list(GUESSED)


def test_published_counts_are_classes_of_twenty() -> None:
    results = publish_queries(tally_of_queries(RECITED))
    shown = {name: (count.low, count.high) for name, count in results.by_queries.items()}
    nobody = dict.fromkeys(QUERY_CELLS[3:], (0, 0))
    assert shown == {"1": (41, 60), "10": (81, 100), "100": (1, 20), **nobody}
    assert (results.control_by_queries, results.share(10, by_control=True)) == (None, None)


def test_both_models_are_asked_about_the_same_patients_so_that_the_narrower_total_counts() -> None:
    # 41 to 60 in three classes each, or 1 to 20 in one of the audited model.
    audited, control = (0, 0, 0, 0, 0, 20, 0), (5, 5, 0, 0, 0, 10, 0)
    results = publish_queries(tally_of_queries(audited, control))
    assert results.patients == CountRange(low=3, high=20)
    # Ten of 20 at most: two others must be left for the rest, and at least two are within.
    share = results.share(10, by_control=True)
    assert share is not None
    assert (share.low, share.high) == pytest.approx((2 / 20, 19 / 20), abs=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_ranges_hold_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    patients = int(rng.integers(1, 300))
    counts = [rng.multinomial(patients, rng.dirichlet([0.4] * 7)).tolist() for _ in range(2)]
    tally = tally_of_queries(*counts)
    exact, seen = derive_queries(tally), publish_queries(tally)
    assert seen.patients.low <= patients <= seen.patients.high
    for most in QUERY_LIMITS:
        for by_control in (False, True):
            true, shown = (of.share(most, by_control=by_control) for of in (exact, seen))
            assert true is not None
            assert shown is not None
            assert (shown.low or 0) <= (true.value or 0) <= (shown.high or 0) + 1e-9
            assert (shown.confidence_low or 0) <= (true.confidence_low or 0) + 1e-9
            assert (shown.confidence_high or 0) >= (true.confidence_high or 0) - 1e-9
