"""Figures by subgroup, against hand counts."""

import pytest

from clinaudit.audit.measures.disclosure.metrics import Reading
from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics
from clinaudit.audit.measures.population.description import age_band, race_group, sex_group
from clinaudit.audit.measures.population.subgroups import Groups, measure_subgroups

GROUPS: Groups = {
    "age": {"a": "35-49", "b": "35-49", "c": "80+", "d": "unknown", "e": "<18"},
    "sex": {"a": "female", "b": "male", "c": "male", "d": "male", "e": "female"},
}


def metrics(patient_id: str, memorized: int, attributable: int, *, tokens: int = 100, number: int = 0):
    return GenerationMetrics(
        generation_id=f"{patient_id}-{number}",
        patient_id=patient_id,
        arm="train",
        tier="encounter",
        rendering="opening",
        tokens=tokens,
        memorized_tokens=memorized,
        echo_tokens=0,
        attributable_tokens=attributable,
        regions=1,
        stitched_regions=0,
        source_notes=1,
        attributable_tokens_unmasked=attributable,
    )


def test_memorization_by_group_by_hand():
    rows = [
        metrics("a", 50, 10),
        # Two generations of one patient count as their mean: (0.2 + 0.4) / 2.
        metrics("b", 20, 0),
        metrics("b", 40, 0, number=1),
        metrics("c", 0, 0, tokens=0),
        metrics("d", 100, 100),
        metrics("e", 0, 0),
    ]
    block = measure_subgroups(rows, {}, GROUPS).memorization["encounter"]["train"]
    by_group = {(row.partition, row.group): row for row in block}
    assert list(by_group) == [
        ("age", "<18"),
        ("age", "35-49"),
        ("age", "80+"),
        ("age", "unknown"),
        ("sex", "female"),
        ("sex", "male"),
    ]
    young = by_group["age", "35-49"]
    assert (young.patients, young.memorized_patients, young.attributable_patients) == (2, 2, 1)
    assert young.memorized_fraction.value == pytest.approx((0.5 + 0.3) / 2)
    assert young.attributable_fraction.value == pytest.approx(0.05)
    assert young.attributable_fraction.n == 2
    assert by_group["sex", "male"].memorized_fraction.value == pytest.approx((0.3 + 0 + 1) / 3)


def test_exposure_by_group_counts_those_who_have_the_diagnosis_and_a_verdict():
    def read(patient_id: str, outcome: str, *, present: bool = True) -> Reading:
        return Reading(patient_id, "train", present, outcome)  # type: ignore[arg-type]

    readings = [
        # a has two diagnoses, of which one is stated.
        read("a", "positive"),
        read("a", "not_mentioned"),
        read("b", "negative"),
        read("c", "positive", present=False),
        read("d", "unjudged"),
        read("e", "positive"),
    ]
    block = measure_subgroups([], {"public": readings}, GROUPS).disclosure["public"]["train"]
    by_group = {(row.partition, row.group): row for row in block}
    assert set(by_group) == {("age", "35-49"), ("age", "<18"), ("sex", "female"), ("sex", "male")}
    assert by_group["age", "35-49"].sensitivity.value == pytest.approx(0.25)
    assert (by_group["sex", "female"].patients, by_group["sex", "female"].exposed_patients) == (2, 2)
    assert by_group["sex", "female"].sensitivity.value == pytest.approx(0.75)


def test_groups_of_odd_values():
    assert (age_band(None), age_band(0), age_band(95)) == ("unknown", "<18", "80+")
    assert (sex_group(" Female "), sex_group("x"), sex_group(None)) == ("female", "other", "unknown")
    assert race_group("Hispanic or  Latino") == "hispanic"
