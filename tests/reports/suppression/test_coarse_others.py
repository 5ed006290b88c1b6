"""Other patients' text as it is published: means and classes, and no pools where their absence would tell a size."""

import pytest
from support.results.planted_memorization import memorization_of, other_patients_of

from clinaudit.audit.ranges.memorization import publish_memorization
from clinaudit.reports.exact.memorization import OtherPatients
from clinaudit.reports.exact.results import Results
from clinaudit.reports.schema.memorization import PublishedOtherPatients
from clinaudit.reports.schema.numbers import CountRange, Estimate
from clinaudit.reports.suppression.coarse import coarsen


def publish(others: OtherPatients | None, *, patients: int = 150, exact: bool = False) -> PublishedOtherPatients | None:
    summary = memorization_of(0.2, 0.1, patients // 3, patients).model_copy(update={"other_patients": others})
    coarse = coarsen(Results(memorization={"public": {"nontrain": summary}}), exact=exact)
    return publish_memorization(coarse.memorization["public"]["nontrain"]).other_patients


def without_pools(others: OtherPatients) -> OtherPatients:
    nothing = Estimate(value=None, reason="nobody else")
    empty = others.by_patient["fraction"].model_copy(update={"mean": nothing, "bins": []})
    parts = {**others.by_patient, "sampled_fraction": empty, "chance": empty}
    return others.model_copy(update={"sampled_fraction": nothing, "chance": nothing, "by_patient": parts})


def test_counts_are_classes_and_means_whole_percents() -> None:
    shown = publish(other_patients_of(0.0612, 60))
    assert shown is not None
    assert shown.fraction.mean.value == pytest.approx(0.06)
    assert shown.patients == CountRange(low=41, high=60)
    assert shown.others == CountRange(low=21, high=40)
    assert shown.patients_share.value is None
    assert shown.patients_share.low is not None
    assert shown.patients_share.low <= 60 / 150 <= (shown.patients_share.high or 0)
    assert shown.chance is not None
    assert shown.chance.mean.low is not None
    assert shown.chance.mean.low <= 0.03 <= (shown.chance.mean.high or 0)


def test_the_exact_report_has_the_figures_as_they_are() -> None:
    shown = publish(other_patients_of(0.124, 43), exact=True)
    assert shown is not None
    assert shown.fraction.mean.value == pytest.approx(0.124)
    assert (shown.patients.low, shown.others.high) == (43, 21)


def test_what_was_not_measured_is_not_nothing() -> None:
    assert publish(None) is None


def test_without_pools_there_is_no_chance_rather_than_none_of_it() -> None:
    shown = publish(without_pools(other_patients_of(0.1, 40)))
    assert shown is not None
    assert (shown.sampled_fraction, shown.chance) == (None, None)
    assert shown.fraction.mean.low is not None
    assert shown.fraction.mean.low <= 0.1 <= (shown.fraction.mean.high or 0)


@pytest.mark.parametrize("has_pools", [True, False])
def test_pools_of_few_patients_are_not_told_from_none(has_pools: bool) -> None:
    others = other_patients_of(0.1, 2, 9)
    shown = publish(others if has_pools else without_pools(others), patients=9)
    assert shown is not None
    assert (shown.sampled_fraction, shown.chance) == (None, None)
