"""Ranges of the paper's figures that follow from rounded shares and from classes, worked out by hand."""

from types import SimpleNamespace
from typing import cast

import pytest

from clinaudit.audit.results.ranges.corpus import derive_population, derive_shares
from clinaudit.audit.results.ranges.memorization import templated_range
from clinaudit.audit.results.ranges.results import average_over_tiers
from clinaudit.reports.schema.disclosure import PairResults
from clinaudit.reports.schema.memorization import SECTION_KINDS
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.tally.leaves import Count, Inside, OfText, Partition, PartitionWithMean
from clinaudit.reports.tally.tally import PopulationTally


def shares(*values: float | None) -> dict[str, float | None]:
    return dict(zip(SECTION_KINDS, values, strict=True))


def test_a_section_s_templated_share_is_as_wide_as_its_percents_are_rounded() -> None:
    # Revealing 4% (3.5 to 4.5; the empty kind up to 0.5), templated 27% (26 to 28).
    found = templated_range(shares(0.04, 0.0, 0.02, 0.25), rounding=0.005)
    assert found is not None
    assert found.low == pytest.approx(26 / (26 + 5), abs=1e-4)
    assert found.high == pytest.approx(28 / (28 + 3.5), abs=1e-4)
    exact = templated_range(shares(0.04, 0.0, 0.02, 0.25), rounding=0.0)
    assert exact is not None
    assert exact.value == pytest.approx(27 / 31)


def test_it_is_said_only_where_all_four_kinds_are_shown() -> None:
    assert templated_range(shares(0.04, None, 0.02, 0.25), rounding=0.005) is None
    nothing = templated_range(shares(0.0, 0.0, 0.0, 0.0), rounding=0.005)
    assert nothing is not None
    assert nothing.reason


def test_notes_and_patients_a_practice_follow_from_classes() -> None:
    people = {"female": CountRange(low=101, high=110), "male": CountRange(low=21, high=30)}
    coarse = PopulationTally(
        age_bands=PartitionWithMean({}, {}, None),
        sex=Partition(people),
        race=Partition({}),
        notes=Inside(None),
        tokens=Inside(None),
        text={"notes_per_patient": OfText(2.5), "tokens_per_patient": OfText(900.0)},
        practices=Inside(Count(CountRange(low=1, high=10))),
        practice_patients=Inside(Count(CountRange(low=131, high=140))),
        is_placed=True,
        evidence=Inside(None),
    )
    found = derive_population(coarse, is_exact=False)
    assert (found.patients.low, found.patients.high) == (122, 140)
    assert found.patients_per_practice == EstimateRange(low=13.1, high=140.0)
    # 2.45 to 2.55 notes a patient.
    assert found.notes_per_practice is not None
    assert found.notes_per_practice.low == pytest.approx(2.45 * 12.2, abs=1e-4)
    assert found.notes_per_practice.high == pytest.approx(2.55 * 140, abs=1e-4)


def test_shares_of_a_partition_have_no_interval() -> None:
    cells = {"a": CountRange(low=11, high=20), "b": CountRange(low=1, high=10), "c": CountRange(low=0, high=0)}
    found = derive_shares(cells, None)
    assert found["a"].low == pytest.approx(11 / 21, abs=1e-4)
    assert found["a"].high == pytest.approx(20 / 21, abs=1e-4)
    assert found["a"].confidence_low is None
    assert found["c"].value == 0


def test_the_average_over_tiers_leaves_out_those_without_the_figure() -> None:
    first, second, none = (
        SimpleNamespace(train={"mention_rate": estimate}, nontrain=None)
        for estimate in (
            EstimateRange(low=0.2, high=0.4),
            EstimateRange(low=0.5, high=0.6, confidence_low=0.3, confidence_high=0.9),
            EstimateRange(reason="nobody"),
        )
    )
    found = average_over_tiers(cast("list[PairResults]", [first, second, none]), "mention_rate")
    assert found == {"train": EstimateRange(low=0.35, high=0.5)}
