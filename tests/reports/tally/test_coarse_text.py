"""Tallies of other patients' text and of the guard as they are published: classes, means, and what few give no figure.

Where pools are missing or an arm is of the lowest class, neither is told from the other.
"""

from collections.abc import Sequence

import pytest

from clinaudit.audit.measures.memorization.beside_summary import summarize_other_patients
from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics, MeasuredGeneration
from clinaudit.audit.results.ranges.memorization import derive_guard, derive_other_patients
from clinaudit.reports.schema.memorization import GuardResults, OtherPatientsResults
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.tally.classes import exactly
from clinaudit.reports.tally.leaves import Count, Inside, OfText, Partition, coarsen
from clinaudit.reports.tally.tally import GuardTally

TOKENS = 500


def publish_others(tokens: Sequence[int], *, has_pools: bool = True, exact: bool = False) -> OtherPatientsResults:
    """Return what is published of patients with so many tokens of others, half by chance; two share an owner."""
    counted = [
        MeasuredGeneration(
            GenerationMetrics(
                *(str(i), str(i), "nontrain", "public", "text", TOKENS, 0, 0, 0, 0, 0, 0, 0),
                other_patient_tokens=own,
                other_patient_sampled_tokens=own if has_pools else None,
                other_patient_chance_tokens=own // 2 if has_pools else None,
            ),
            *((), (), (), (), 0),
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


def guard_of(*, behind: int = 0, exact: bool = False) -> GuardResults:
    """Return the account of 150 patients: 75 repeat themselves, of 37 more is kept, 13 others were cut."""
    tally = GuardTally(
        repeating=Partition.halves("any", 75, 150, rest="none"),
        ended=Partition.of({"spared": 37, "cut": 13, "none": 100}),
        recitation_tokens_cut=OfText(41.5, (behind, 150 - behind)),
        evidence=Inside(None),
    )
    return derive_guard(tally if exact else coarsen(tally), exactly(150) if exact else CountRange(low=141, high=160))


def test_the_guard_s_counts_are_classes_and_shares_their_ranges() -> None:
    guard = guard_of()
    assert guard.repeating_patients == CountRange(low=61, high=80)
    assert guard.spared_patients == CountRange(low=21, high=40)
    # 21 to 40 that the second rule spares, and 1 to 20 others.
    assert guard.ended_patients == CountRange(low=22, high=60)
    assert guard.repeating_share.value is None
    assert guard.repeating_share.low is not None
    assert guard.repeating_share.low <= 75 / 150 <= (guard.repeating_share.high or 0)
    assert guard_of(exact=True).spared_patients == exactly(37)


@pytest.mark.parametrize(("behind", "shown"), [(0, 42.0), (5, None), (50, 42.0), (145, None)])
def test_tokens_of_a_recitation_are_a_figure_of_text(behind: int, shown: float | None) -> None:
    assert guard_of(behind=behind).recitation_tokens_cut == shown
    assert guard_of(behind=behind, exact=True).recitation_tokens_cut == 41.5
