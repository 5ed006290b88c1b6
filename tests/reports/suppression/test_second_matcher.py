"""Deltas on the cohorts of a second matcher: what is published of them."""

from support.results.planted_disclosure import pair_from, planted_table
from support.results.second_matching import second

from clinaudit.reports.schema.disclosure import SecondMatching
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.results import suppress


def published(results: Results) -> SecondMatching:
    found = suppress(results).second_matcher
    assert found is not None
    return found.diagnoses["hiv"]


def test_deltas_are_published_to_two_decimals_and_without_the_counts_behind_them() -> None:
    # 40 and 12 of 97 are stated with the diagnosis: every count is 0 or above ten, and so is its complement.
    pair = pair_from(planted_table(97, 40, 12), planted_table(97, 15, 14))
    assert pair.delta is not None
    assert pair.delta.auroc_all.value is not None
    shown = published(second(pair, sets=97))
    # (40 - 12) / 97 / 2 - (15 - 14) / 97 / 2 = 0.13918 by hand: half a share is moved for each that is stated.
    assert abs(pair.delta.auroc_all.value - 27 / 194) < 1e-12
    assert shown.delta["encounter"]["auroc_all"].value == 0.14
    assert shown.delta["encounter"]["auroc_all"].n is None
    assert (shown.pairs, shown.sets, shown.largest_smd) == ({}, 97, 0.05)


def test_a_small_count_makes_a_band_and_a_small_cohort_nothing() -> None:
    pair = pair_from(planted_table(97, 40, 3), planted_table(97, 15, 14))
    band = published(second(pair, sets=97)).delta["encounter"]["auroc_all"]
    assert band.value is None
    assert band.low is not None
    few = pair_from(planted_table(9, 4, 3), planted_table(9, 5, 2))
    hidden = published(second(few, sets=9))
    assert (hidden.sets, hidden.largest_smd) == (None, None)
    assert all(figure.value is figure.low is None for figure in hidden.delta["encounter"].values())
