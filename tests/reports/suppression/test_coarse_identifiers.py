"""Identifiers as they are published: classes of patients, rates as ranges that these leave, planted text exactly."""

import numpy as np
import pytest
from support.results.planted_identifiers import figures_of, identifiers_of

from clinaudit.audit.pii.owners import OwnedValue
from clinaudit.audit.pii.summary import IdentifiedGeneration, summarize_identifiers
from clinaudit.audit.ranges.identifiers import publish_identifiers
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.reports.exact.identifiers import IdentifierBin, IdentifierFigures, Identifiers
from clinaudit.reports.schema.identifiers import PublishedIdentifierFigures, PublishedIdentifiers
from clinaudit.reports.schema.numbers import CountRange, PublishedEstimate
from clinaudit.reports.suppression.coarse_identifiers import coarsen_identifiers, merge_bins
from clinaudit.reports.suppression.rules import Rules
from clinaudit.reports.tally.classes import MOST_SUB_CELLS


def publish(identifiers: Identifiers, *, exact: bool = False) -> PublishedIdentifiers:
    return publish_identifiers(coarsen_identifiers(identifiers, Rules(exact)))


def shown(figures: IdentifierFigures, *, exact: bool = False) -> PublishedIdentifierFigures:
    return publish(Identifiers(tiers={"public": {"train": figures}}), exact=exact).tiers["public"]["train"]


def binned(*rows: tuple[float, float | None, int]) -> IdentifierFigures:
    """Return figures of 97 patients, those in the bins among them."""
    given = sum(patients for _, _, patients in rows)
    bins = [(0.0, 0.0, 97 - given), *rows]
    return figures_of(97, 0, "train").model_copy(
        update={
            "verified_patients": given,
            "by_patient": [IdentifierBin(low=low, high=high, patients=patients) for low, high, patients in bins],
        }
    )


def test_counts_are_classes_and_a_rate_is_the_range_that_the_bins_leave() -> None:
    told = shown(binned((0.5, 1.0, 4), (1.0, 2.0, 22)))
    assert told.verified_patients == CountRange(low=26, high=40)
    assert [bin_.patients for bin_ in told.by_patient] == [CountRange(low=1, high=20), CountRange(low=21, high=40)]
    rate = told.verified_per_1000
    assert rate.value is None
    # Least: 5 above a half and 21 above one, the least of both, of 100; most: 1 at one and 39 at two, of 81.
    assert rate.low == pytest.approx(1000 * (5 * 0.5 + 21 * 1.0) / 100, abs=1e-4)
    assert rate.high == pytest.approx(1000 * (1 * 1.0 + 39 * 2.0) / 81, abs=1e-4)


def test_a_bin_without_end_leaves_no_upper_end() -> None:
    rate = shown(binned((5.0, 20.0, 3), (20.0, None, 2))).verified_per_1000
    assert (rate.high, rate.confidence_high) == (None, None)
    assert rate.low is not None
    assert rate.low == pytest.approx(1000 * (1 * 5.0 + 1 * 20.0) / 100, abs=1e-4)


def test_of_nobody_the_rate_is_none_and_chance_allows_some() -> None:
    rate = shown(binned((0.0, 1.0, 0))).verified_per_1000
    assert (rate.value, rate.confidence_low) == (0.0, 0.0)
    # Clopper and Pearson's upper end of none of 81, the least size in the class, at one value a query.
    assert rate.confidence_high == pytest.approx(1000 * (1 - 0.025 ** (1 / 81)), abs=0.1)


def test_uppermost_bins_become_one_where_there_are_too_many() -> None:
    bins = [IdentifierBin(low=float(k), high=k + 1.0, patients=5) for k in range(9)]
    merged = merge_bins([*bins, IdentifierBin(low=9.0, high=None, patients=1)])
    assert merged[: MOST_SUB_CELLS - 1] == bins[: MOST_SUB_CELLS - 1]
    assert len(merged) == MOST_SUB_CELLS
    assert (merged[-1].low, merged[-1].high, merged[-1].patients) == (1.0, None, 41)
    none = [row.model_copy(update={"patients": 0}) for row in bins]
    sparse = [none[0], *bins[1:3], *none[3:]]
    assert merge_bins(sparse) == sparse
    # Above the last of them are bins of nobody still, so that the largest number has its end.
    three = merge_bins([*none[:4], *bins[4:7], *none[7:]])
    assert [(row.low, row.high, row.patients) for row in three[4:]] == [
        (4.0, 5.0, 5),
        (5.0, 7.0, 10),
        (7.0, 8.0, 0),
        (8.0, 9.0, 0),
    ]


def test_a_rate_is_bounded_by_how_many_have_any() -> None:
    # One of 81 to 100 has one value: the bin says 1 to 20, and that 1 to 5 have any.
    rate = shown(binned((0.5, 1.0, 1))).verified_per_1000
    assert rate.high == pytest.approx(1000 * 5 / 81, abs=1e-4)
    assert rate.confidence_high == pytest.approx(1000 * (clopper_pearson(5, 81).high or 0), abs=0.1)


def test_pools_are_not_given_of_the_lowest_class_nor_where_there_are_none() -> None:
    assert shown(figures_of(9, 3, "train")).chance is None
    none = figures_of(150, 60, "train").model_copy(update={"sampled_patients": None, "chance_patients": None})
    told = shown(none)
    assert (told.sampled, told.chance, told.sampled_per_1000, told.chance_per_1000) == (None,) * 4
    assert shown(figures_of(150, 60, "train")).chance is not None


def test_planted_text_is_exact_and_what_was_not_looked_for_says_why() -> None:
    told = publish(identifiers_of())
    assert [(row.planted, row.found) for row in told.recall[:2]] == [(200, 196), (200, 189)]
    assert told.recall[0].recall.value == pytest.approx(0.98)
    assert told.not_tested == {"P": "text holds none", "Q": "text holds none"}


def test_a_category_is_corrected_by_its_own_recall() -> None:
    told = publish(identifiers_of()).categories["D"]["train"]
    rate, corrected = told.verified_per_1000, told.corrected_per_1000
    assert corrected is not None
    assert corrected.low == pytest.approx((rate.low or 0) / (175 / 200), abs=1e-3)
    assert corrected.high == pytest.approx((rate.high or 0) / (175 / 200), abs=1e-3)


def test_the_exact_report_has_the_figures_as_they_are() -> None:
    figures = figures_of(150, 60, "train")
    told = shown(figures, exact=True)
    assert (told.own_patients.low, told.patients.high) == (60, 150)
    assert told.verified_per_1000.value == pytest.approx(figures.verified_per_1000.value)
    assert told.chance_per_1000 is not None
    assert told.chance_per_1000.confidence_high == figures.chance_per_1000.high


def answers(rng: np.random.Generator, patients: int) -> list[IdentifiedGeneration]:
    """Return two answers about each patient, with values of anybody."""
    often = rng.choice([0.02, 0.3, 2.0])

    def value(number: int) -> OwnedValue:
        owner = rng.choice(["own", "other_train", "nobody"])
        has_one = owner != "nobody" and rng.random() < 0.6
        return OwnedValue(number, "A", owner, has_one, *(rng.random(2) < 0.2).tolist())

    return [
        IdentifiedGeneration(f"p{i}", "train", "public", None, tuple(value(k) for k in range(rng.poisson(often))))
        for i in range(patients)
        for _ in range(2)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_ranges_hold_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = answers(rng, int(rng.integers(11, 140)))
    figures = summarize_identifiers(given, recall=identifiers_of().recall, has_pools=True, seed=seed)
    found = Identifiers(tiers={"public": {"train": figures}}, recall=identifiers_of().recall)
    told = publish(found).tiers["public"]["train"]
    pairs: list[tuple[float | None, PublishedEstimate | None]] = [
        (figures.own.value, told.own),
        (figures.other.value, told.other),
        (figures.sampled.value, told.sampled),
        (figures.chance.value, told.chance),
        (figures.verified_patients / figures.patients, told.verified),
        (figures.verified_per_1000.value, told.verified_per_1000),
        (figures.corrected_per_1000.value, told.corrected_per_1000),
    ]
    for truth, estimate in pairs:
        if estimate is None:
            continue
        assert truth is not None
        assert estimate.low is not None
        assert estimate.low - 1e-9 <= truth
        assert estimate.high is None or truth <= estimate.high + 1e-9
