"""Deltas on the cohorts of a second matcher: what is published of them, and what a reader is shown."""

from support.results.filled_results import filled
from support.results.planted_disclosure import pair_from, planted_table

from clinaudit.reports.schema.disclosure import COMPARED_METRICS, DisclosurePair, SecondMatcher, SecondMatching
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.results import suppress
from clinaudit.reports.tables.cohorts import second_matcher_table


def second(pair: DisclosurePair, *, sets: int) -> Results:
    """Results whose cohort for HIV was matched a second time."""
    assert pair.delta is not None
    shown = {metric: getattr(pair.delta, metric) for metric in COMPARED_METRICS}
    matching = SecondMatching(
        status="balanced",
        reason=None,
        sets=sets,
        largest_smd=0.0523,
        delta={"encounter": {name: Estimate(value=d.value, low=d.low, high=d.high) for name, d in shown.items()}},
        pairs={"encounter": pair},
    )
    return filled().model_copy(update={"second_matcher": SecondMatcher(matcher="optimal", diagnoses={"hiv": matching})})


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


def test_the_report_shows_both_matchers_side_by_side_and_nothing_without_a_second() -> None:
    assert second_matcher_table(filled()) is None
    results = suppress(second(pair_from(planted_table(97, 40, 12), planted_table(97, 15, 14)), sets=97))
    table = second_matcher_table(results)
    assert table is not None
    first_row = table.rows[0]
    assert first_row[0] == "HIV"
    assert "0.14" in first_row[4]
    assert first_row[5:] == ("97", "Balanced; largest SMD 0.05")
