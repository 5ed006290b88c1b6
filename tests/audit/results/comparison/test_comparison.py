"""Two runs compared by hand: who makes a pair, and the differences of their figures and of their deltas."""

import dataclasses

import pytest
from support.results.planted_readings import BEFORE, forget, readings

from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics
from clinaudit.audit.results.comparison.disclosure import compare_readings
from clinaudit.audit.results.comparison.memorization import compare_memorization, count_hits
from clinaudit.reports.schema.comparison import PairedPatients
from clinaudit.reports.tally.classes import exactly

TIER = "encounter"


def metrics(
    patient: str, memorized: int, *, tokens: int = 100, arm: str = "train", name: str = "g"
) -> GenerationMetrics:
    counts = (tokens, memorized, 0, memorized, 1, 0, 1, memorized)
    return GenerationMetrics(f"{name}-{patient}", patient, arm, TIER, "opening", *counts)  # type: ignore[arg-type]


def test_a_patient_counts_once_and_only_where_both_runs_have_it() -> None:
    first = [metrics("a", 40), metrics("b", 0), metrics("only a", 90), metrics("moved", 50)]
    second = [metrics("a", 10), metrics("b", 20), metrics("only b", 90), metrics("moved", 50, arm="nontrain")]
    figures = compare_memorization(first, second, seed=0)[TIER]["train"]
    assert figures.memorized_fraction.a.value == pytest.approx(0.2)
    assert figures.memorized_fraction.b.value == pytest.approx(0.15)
    assert figures.memorized_fraction.difference.value == pytest.approx(-0.05)
    counts = {"both": 1, "a_only": 0, "b_only": 1, "neither": 0, "unpaired_a": 2, "unpaired_b": 1}
    assert figures.patients == PairedPatients(**{name: exactly(of) for name, of in counts.items()}, p_value=1.0)
    assert figures.patients == count_hits(first, second)[TIER]["train"]


def test_of_several_prompts_those_that_both_runs_have_make_the_pair() -> None:
    first = [metrics("a", 40, name="one"), metrics("a", 0, name="two")]
    second = [metrics("a", 20, name="one")]
    figure = compare_memorization(first, second, seed=0)[TIER]["train"].memorized_fraction
    assert (figure.a.value, figure.b.value) == (pytest.approx(0.4), pytest.approx(0.2))


def test_a_difference_of_deltas_by_hand() -> None:
    before = readings(BEFORE)
    members, compared = compare_readings(before, forget(before), seed=0)
    # Before: train AUROC over all 0.5 + 0.5 * 0.6 = 0.8, nontrain 0.5; after: 0.5 and 0.5.
    area = compared["auroc_all"]
    assert (area.a.value, area.b.value) == (pytest.approx(0.3), pytest.approx(0.0))
    assert area.difference.value == pytest.approx(-0.3)
    assert area.difference.confidence_high is not None
    assert area.difference.confidence_high < 0
    sensitivity = compared["sensitivity"].difference
    assert sensitivity.value == pytest.approx(-0.6)
    assert members.pairs == 200


def test_unjudged_members_and_members_of_one_run_make_no_pair() -> None:
    before = readings(BEFORE)
    after = forget(before)[1:]
    after[0] = dataclasses.replace(after[0], outcome="unjudged")
    members, _ = compare_readings(before, after, seed=0)
    assert (members.pairs, members.unpaired_a, members.unpaired_b) == (198, 2, 1)
