"""Tallies of other patients' text as they are published: classes, means, and what few give no figure.

Where pools are missing or an arm is of the lowest class, neither is told from the other.
"""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from support.results.filled_evidence import fill_record

from clinaudit.audit.measures.memorization.beside_summary import summarize_other_patients
from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics, MeasuredGeneration
from clinaudit.audit.pii.owners import OwnedValue
from clinaudit.audit.pii.summary import Answers, IdentifiedAnswers, IdentifiedGeneration, summarize_identifiers
from clinaudit.audit.results.ranges.identifiers import derive_identifiers
from clinaudit.audit.results.ranges.memorization import derive_other_patients
from clinaudit.audit.statistics.intervals import clopper_pearson, wilson
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.identifiers import (
    DetectorRecall,
    IdentifierEvidence,
    IdentifierResults,
    IdentifiersResults,
)
from clinaudit.reports.schema.memorization import OtherPatientsResults
from clinaudit.reports.schema.numbers import CountRange, exact_estimate, exactly
from clinaudit.reports.tally.classes import MOST_SUB_CELLS, Interval
from clinaudit.reports.tally.leaves import Alone, Count, Inside, Rate, Setting, coarsen
from clinaudit.reports.tally.tally import IdentifiersTally, IdentifierTally

TOKENS = 500


def publish_others(tokens: Sequence[int], *, has_pools: bool = True, exact: bool = False) -> OtherPatientsResults:
    """Return what is published of patients with so many tokens of others, half by chance; two share an owner."""
    counted = [
        MeasuredGeneration(
            GenerationMetrics(
                *(str(i), str(i), "nontrain", "public", "text", TOKENS, *[0] * 10),
                other_patient_tokens=own,
                other_patient_sampled_tokens=own if has_pools else None,
                other_patient_chance_tokens=own // 2 if has_pools else None,
            ),
            *((), (), (), 0),
            owners=frozenset([f"owner {i // 2}"] if own else []),
        )
        for i, own in enumerate(tokens)
    ]
    tally = summarize_other_patients(counted, seed=0)
    patients = Count.of(len(tokens))
    if not exact:
        tally, patients = coarsen(tally), coarsen(patients)
    return derive_other_patients(tally, patients.range)


def test_counts_are_classes_and_means_whole_percents() -> None:
    shown = publish_others([76] * 60 + [0] * 90)
    assert shown.fraction.mean.value == pytest.approx(0.06)
    assert shown.patients == CountRange(low=41, high=60)
    assert shown.others == CountRange(low=21, high=40)
    assert shown.patients_share.value is None
    assert shown.patients_share.low is not None
    assert shown.patients_share.low <= 60 / 150 <= (shown.patients_share.high or 0)
    assert shown.chance is not None
    assert shown.chance.mean.low is not None
    assert shown.chance.mean.low <= 0.0304 <= (shown.chance.mean.high or 0)


def test_the_exact_report_has_the_figures_as_they_are() -> None:
    shown = publish_others([216] * 43 + [0] * 32, exact=True)
    assert shown.fraction.mean.value == pytest.approx(43 * 216 / 75 / TOKENS)
    assert (shown.patients, shown.others) == (exactly(43), exactly(22))


@pytest.mark.parametrize(("patients", "has_pools"), [(150, False), (9, False), (9, True)])
def test_without_pools_and_of_few_patients_there_is_no_chance_rather_than_none_of_it(
    patients: int, has_pools: bool
) -> None:
    shown = publish_others([50] * patients, has_pools=has_pools)
    assert (shown.sampled_fraction, shown.chance) == (None, None)
    assert shown.fraction.mean.low is not None
    assert shown.fraction.mean.low <= 0.1 <= (shown.fraction.mean.high or 0)


FOUND: dict[HipaaIdentifier, int] = {"A": 196, "C": 189, "D": 175}
RECALL = tuple(
    DetectorRecall(identifier=name, planted=200, found=found, recall=exact_estimate(wilson(found, 200)))
    for name, found in FOUND.items()
)


def rate_of(*rows: tuple[float, float | None, int]) -> Rate:
    return Rate.of((Interval(low, math.inf if high is None else high), patients) for low, high, patients in rows)


def binned(*rows: tuple[float, float | None, int]) -> IdentifierTally:
    """Return the tally of 97 patients, those in the bins among them."""
    given = sum(patients for _, _, patients in rows)
    return IdentifierTally(
        patients=Count.of(97),
        own=Alone.of(given),
        other=Alone.of(0),
        sampled=Inside(None),
        chance=Inside(None),
        verified=Alone.of(given),
        verified_rate=rate_of(*rows),
        sampled_rate=Inside(None),
        chance_rate=Inside(None),
        evidence=Inside(fill_record(IdentifierEvidence, 5)),
    )


def publish(tally: IdentifierTally, *, exact: bool = False) -> IdentifiersResults:
    of_run = IdentifiersTally(
        tiers={"public": {"train": tally}},
        categories=Inside({"D": {"train": tally}}, is_public=True),
        recall=Setting(RECALL),
        not_tested={"P": "text holds none", "Q": "text holds none"},
    )
    return derive_identifiers(of_run if exact else coarsen(of_run), {})


def shown(tally: IdentifierTally, *, exact: bool = False) -> IdentifierResults:
    return publish(tally, exact=exact).tiers["public"]["train"]


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
    assert rate.low == pytest.approx(1000 * (1 * 5.0 + 1 * 20.0) / 100, abs=1e-4)


def test_of_nobody_the_rate_is_none_and_chance_allows_some() -> None:
    rate = shown(binned((0.0, 1.0, 0))).verified_per_1000
    assert (rate.value, rate.confidence_low) == (0.0, 0.0)
    # Clopper and Pearson's upper end of none of 81, the least size in the class, at one value a query.
    assert rate.confidence_high == pytest.approx(1000 * (1 - 0.025 ** (1 / 81)), abs=0.1)


def test_a_rate_is_bounded_by_how_many_have_any() -> None:
    # One of 81 to 100 has one value: the bin says 1 to 20, and that 1 to 5 have any.
    rate = shown(binned((0.5, 1.0, 1))).verified_per_1000
    assert rate.high == pytest.approx(1000 * 5 / 81, abs=1e-4)
    assert rate.confidence_high == pytest.approx(1000 * (clopper_pearson(5, 81).high or 0), abs=0.1)


def merged(*counts: int) -> list[tuple[float, float, int]]:
    """Return the bins as published, each with the least number of its class."""
    rate = coarsen(rate_of(*((float(k), k + 1.0, count) for k, count in enumerate(counts))))
    return [(edge.low, edge.high, of.low) for edge, of in zip(rate.edges, rate.bins, strict=True)]


def test_uppermost_bins_become_one_where_there_are_too_many() -> None:
    many = merged(*[5] * 9, 1)
    assert len(many) == MOST_SUB_CELLS
    # Of 5, and of the 41 others.
    assert many == [(0.0, 1.0, 1), (1.0, 10.0, 41)]
    assert [row[:2] for row in merged(0, 5, 5, 0, 0)] == [(k, k + 1.0) for k in range(5)]
    # Above the last of them are bins of nobody still, so that the largest number has its end.
    assert merged(0, 0, 0, 0, 5, 5, 5, 0, 0)[4:] == [(4.0, 5.0, 1), (5.0, 7.0, 1), (7.0, 8.0, 0), (8.0, 9.0, 0)]


def test_planted_text_is_exact_and_what_was_not_looked_for_says_why() -> None:
    told = publish(binned((0.5, 1.0, 4)))
    assert [(row.planted, row.found) for row in told.recall[:2]] == [(200, 196), (200, 189)]
    assert told.recall[0].recall.value == pytest.approx(0.98)
    assert told.not_tested == {"P": "text holds none", "Q": "text holds none"}


def test_a_category_is_corrected_by_its_own_recall() -> None:
    told = publish(binned((0.5, 1.0, 4))).categories["D"]["train"]
    rate, corrected = told.verified_per_1000, told.corrected_per_1000
    assert corrected is not None
    assert corrected.low == pytest.approx((rate.low or 0) / (175 / 200), abs=1e-3)
    assert corrected.high == pytest.approx((rate.high or 0) / (175 / 200), abs=1e-3)


def answers(rng: np.random.Generator, patients: int) -> Answers:
    """Return two answers about each patient, with values of anybody."""
    often = rng.choice([0.02, 0.3, 2.0])

    def value(number: int) -> OwnedValue:
        owner = rng.choice(["own", "other_train", "nobody"])
        has_one = owner != "nobody" and rng.random() < 0.6
        return OwnedValue(number, "A", owner, has_one, *(rng.random(2) < 0.2).tolist())

    return IdentifiedAnswers(
        IdentifiedGeneration(f"p{i}", "train", "public", None, tuple(value(k) for k in range(rng.poisson(often))))
        for i in range(patients)
        for _ in range(2)
    ).of("train")


@pytest.mark.parametrize(("patients", "has_pools"), [(20, True), (20, False), (21, False)])
def test_pools_are_not_given_of_the_lowest_class_nor_where_there_are_none(patients: int, has_pools: bool) -> None:
    given = answers(np.random.default_rng(2), patients)
    told = shown(summarize_identifiers(given, recall=RECALL, has_pools=has_pools, seed=0))
    assert (told.sampled, told.chance, told.sampled_per_1000, told.chance_per_1000) == (None,) * 4


@pytest.mark.parametrize("seed", range(12))
def test_ranges_hold_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tally = summarize_identifiers(answers(rng, int(rng.integers(21, 140))), recall=RECALL, has_pools=True, seed=seed)
    exact, told = shown(tally, exact=True), shown(tally)
    measured = exact.evidence
    assert measured is not None
    assert exact.own_patients == exactly(exact.own_patients.low)
    assert exact.verified_per_1000 == exact_estimate(measured.verified_per_1000)
    assert exact.chance_per_1000 == exact_estimate(measured.chance_per_1000)
    figures = ("own", "other", "sampled", "chance", "verified", "verified_per_1000", "corrected_per_1000")
    for figure in figures:
        truth, estimate = getattr(exact, figure), getattr(told, figure)
        assert truth.value is not None
        assert estimate.low - 1e-9 <= truth.value
        assert estimate.high is None or truth.value <= estimate.high + 1e-9
