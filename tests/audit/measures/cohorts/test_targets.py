"""Who is probed: the cohorts' members, and a seeded sample where they are few."""

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from support.matched_people import labels_of
from support.simulations import first_of

from clinaudit.audit.measures.cohorts.stage import SAMPLE_SIZE, CohortChoice, Targets, foresee_targets, match_cohorts
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.priors.diagnoses import load_panel
from clinaudit.reports.schema.record import ARMS

PANEL = load_panel(only=["hiv"])
NOBODY = pl.DataFrame(schema={"patient_id": pl.String, "diagnosis": pl.String, "tier": pl.String})


def people_of(sizes: dict[str, int]) -> dict[str, Any]:
    """Return facts enough for matching, of so many patients in each arm."""
    return {
        f"{arm}{i:03d}": SimpleNamespace(
            patient_id=f"{arm}{i:03d}", arm=arm, age=30 + i % 40, sex="female", note_count=3
        )
        for arm in ARMS
        for i in range(sizes.get(arm, 0))
    }


def targets_of(sizes: dict[str, int], *, labelled: int, cell: int = 8, seed: int = 0) -> tuple[dict[str, Any], Targets]:
    """Match HIV among the first `labelled` patients of each arm, every other of whom has it."""
    facts = people_of(sizes)
    status = {
        patient_id: {"hiv": number % 2 == 0} if (number := int(patient_id[-3:])) < labelled else {}
        for patient_id in facts
    }
    choice = CohortChoice(patients_per_cell=cell, controls="any", refined=True, seed=seed)
    return facts, match(facts, status, choice)


def match(facts: dict[str, Any], status: dict[str, dict[str, bool]], choice: CohortChoice) -> Targets:
    return match_cohorts(
        facts, labels=labels_of(status), panel=PANEL, choice=choice, missing=NOBODY, progress=Progress(quiet=True)
    )


def by_arm(facts: dict[str, Any], targets: Targets, *, of_cohort: bool | None = None) -> Counter[str]:
    return Counter(
        facts[patient_id].arm
        for patient_id, diagnoses in targets.probed.iter_rows()
        if of_cohort is None or bool(diagnoses) is of_cohort
    )


def test_small_cohorts_are_filled_up_in_both_splits() -> None:
    facts, targets = targets_of({"train": 300, "nontrain": 250}, labelled=40)
    assert by_arm(facts, targets) == {"train": SAMPLE_SIZE, "nontrain": SAMPLE_SIZE}
    members = set(targets.cohorts["patient_id"])
    assert {patient_id for patient_id, diagnoses in targets.probed.iter_rows() if diagnoses} == members
    assert set(targets.candidates.filter("matched")["patient_id"]) == members
    assert by_arm(facts, targets, of_cohort=True)["train"] == 2 * 8


def test_a_split_with_fewer_patients_is_taken_whole() -> None:
    facts, targets = targets_of({"train": 300, "nontrain": 50}, labelled=40)
    assert by_arm(facts, targets) == {"train": SAMPLE_SIZE, "nontrain": 50}


def test_cohorts_that_hold_as_many_are_not_filled_up() -> None:
    facts, targets = targets_of({"train": 300, "nontrain": 300}, labelled=300, cell=110)
    assert by_arm(facts, targets) == {"train": 220, "nontrain": 220}
    assert by_arm(facts, targets, of_cohort=False) == {}


def test_without_a_cohort_all_are_a_sample() -> None:
    facts, targets = targets_of({"train": 300}, labelled=40)
    assert by_arm(facts, targets) == by_arm(facts, targets, of_cohort=False) == {"train": SAMPLE_SIZE}
    assert targets.cohorts.is_empty()


def test_the_sample_is_of_the_seed() -> None:
    sizes = {"train": 300, "nontrain": 300}
    first, again, other = (targets_of(sizes, labelled=40, seed=seed)[1].probed for seed in (1, 1, 2))
    assert first.equals(again)
    assert set(first["patient_id"]) != set(other["patient_id"])


@pytest.mark.parametrize("seed", first_of(6, always=2))
def test_foreseen_sets_are_the_most_and_half_of_them_or_more_are_matched(seed: int) -> None:
    rng = random.Random(seed)
    facts = people_of({"train": 120, "nontrain": 90})
    status = {patient_id: {"hiv": rng.random() < 0.3} for patient_id in facts}
    for patient_id, known in facts.items():
        # Who has it is older by far, and more often a man, so that groups alike are small.
        known.age = rng.randrange(20, 90) + (25 if status[patient_id]["hiv"] else 0)
        known.sex = "male" if rng.random() < (0.8 if status[patient_id]["hiv"] else 0.4) else "female"
    choice = CohortChoice(patients_per_cell=100, controls="any", refined=True, seed=seed)
    sets, foreseen = foresee_targets(facts, labels=labels_of(status), panel=PANEL, choice=choice)
    positives = Counter(facts[patient_id].arm for patient_id, known in status.items() if known["hiv"])
    assert sets == {"hiv": min(positives.values())}
    targets = match(facts, status, choice)
    matched = targets.cohorts.height // 4
    assert sets["hiv"] / 2 <= matched <= sets["hiv"]
    # All who are left are in the sample, in either.
    assert set(foreseen["patient_id"]) == set(targets.probed["patient_id"]) == set(facts)
    assert foreseen.filter(pl.col("diagnoses").list.len() > 0).height == 4 * sets["hiv"]
