"""Figures by subgroup, against hand counts."""

from pathlib import Path

import pytest
from support.patient_facts import PROFILE, corpus_of

from clinaudit.audit.assembly.caveats import find_identity_caveats
from clinaudit.audit.measures.disclosure.metrics import Reading
from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics
from clinaudit.audit.measures.population.description import (
    Census,
    age_band,
    describe_identifiability,
    race_group,
    sex_group,
)
from clinaudit.audit.measures.population.subgroups import Groups, measure_subgroups
from clinaudit.priors.facts import read_facts
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.reports.schema.numbers import NOBODY, CountRange
from clinaudit.reports.tally.classes import class_of
from clinaudit.reports.tally.leaves import Partition, coarsen
from clinaudit.reports.tally.tally import IdentifiabilityTally

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
        source_notes_any=1,
        source_notes_min=1,
        near_verbatim_attributable_tokens=attributable,
        other_patient_tokens=0,
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


BINS = {"1": 0, "2-4": 0, "5-10": 0, ">10": 0, "no prior": 0}


def test_patients_are_counted_by_split_and_whom_their_prior_fits_in_both(tmp_path: Path) -> None:
    # Age 40: eleven patients of both splits. Age 50: four. One of age 60, one without any fact.
    ages = ["40"] * 11 + ["50"] * 4 + ["60", ""]
    rows = [f"p{n:02},{'train' if n % 2 else 'nontrain'},{age}" for n, age in enumerate(ages)]
    notes = [{"patient_id": f"p{n:02}", "note_id": str(n), "text": "cc: cough\n"} for n in range(len(ages))]
    corpus = corpus_of(tmp_path, notes, "patient_id,split,age\n" + "\n".join(rows) + "\n")
    longest = {f"p{n:02}": 100 + n for n in range(len(ages))}
    census = Census(tokens=longest, longest=longest, tag_styles={"p01": {"___"}, "p02": {"___", "XXXX"}})
    found = describe_identifiability(
        read_facts(corpus, PROFILE, corpus.patients),
        ProbedTiers(("public",)),
        census,
        training_length=113,
        several_ids={"p01", "p03", "p00"},
    )
    assert found["train"] == split_of(8, tags={"___": 1}, bins={">10": 5, "2-4": 2, "1": 1}, longer=1, several=2)
    assert found["nontrain"] == split_of(
        9, tags={"XXXX": 1, "___": 1}, bins={">10": 6, "2-4": 2, "no prior": 1}, longer=2, several=1
    )


def split_of(
    patients: int, *, tags: dict[str, int] | None = None, bins: dict[str, int], longer: int = 0, several: int = 0
) -> IdentifiabilityTally:
    tier = "public" if bins.get(">10") else "public_name"
    return IdentifiabilityTally(
        tagged={style: Partition.halves("tagged", count, patients) for style, count in (tags or {}).items()},
        uniqueness={tier: Partition.of(BINS | bins)},
        lengths=Partition.halves("longer", longer, patients),
        ids=Partition.halves("several", several, patients),
    )


def notes_of(patients: int, *, tagged: int = 0, longer: int = 0, without: int = 0) -> IdentifiabilityTally:
    bins = {"no prior": without, "1": patients - without}
    return split_of(patients, tags={"___": tagged} if tagged else {}, bins=bins, longer=longer)


def test_de_identification_is_said_with_the_tiers_that_it_takes_away() -> None:
    (said,) = find_identity_caveats({"train": notes_of(200, tagged=200, without=200)})
    assert "de-identified: tags such as ___" in said
    assert "nobody has a prompt: public_name." in said
    (kept,) = find_identity_caveats({"train": notes_of(200, tagged=200)})
    assert "nobody has a prompt" not in kept


def test_notes_too_long_to_be_trained_on_are_said() -> None:
    (said,) = find_identity_caveats({"train": notes_of(200, longer=60)})
    assert "evidence/long_notes.parquet" in said
    # Of the never seen nobody asks.
    assert find_identity_caveats({"train": notes_of(200), "nontrain": notes_of(200, longer=200)}) == []


def test_what_is_said_is_the_same_for_every_table_within_the_published_classes() -> None:
    said: dict[tuple[CountRange, ...], set[int]] = {}
    for patients in range(81, 121):
        for tagged in range(patients + 1):
            split = notes_of(patients, tagged=tagged)
            shown = coarsen(split).tagged.get("___", Partition({"tagged": NOBODY})).cells
            classes = (*shown.values(), class_of(patients, step=20)) if not tagged else tuple(shown.values())
            said.setdefault(classes, set()).add(len(find_identity_caveats({"train": split})))
    assert {len(words) for words in said.values()} == {1}
    # 11 of 100 are published as 1 to 20.
    assert find_identity_caveats({"train": notes_of(100, tagged=11)}) == []
    assert len(find_identity_caveats({"train": notes_of(100, tagged=21)})) == 1
