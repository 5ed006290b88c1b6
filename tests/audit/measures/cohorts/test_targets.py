"""Who is probed: the cohorts' members, and a seeded sample where they are few."""

import random
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from support.matched_people import labels_of
from support.simulations import first_of

from clinaudit.audit.measures.cohorts.stage import SAMPLE_SIZE, Targets, foresee_targets, match_cohorts
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.priors.diagnoses import load_panel
from clinaudit.reports.schema.record import ARMS

PANEL = load_panel(only=["hiv"])
NOBODY = pl.DataFrame(schema={"patient_id": pl.String, "diagnosis": pl.String, "tier": pl.String})


def people_of(sizes: dict[str, int]) -> pl.DataFrame:
    """Return so many patients in each arm."""
    rows = [
        (f"{arm}{i:03d}", arm, 30 + i % 40, "female", 3)
        for arm in sorted(sizes, key=ARMS.index)
        for i in range(sizes[arm])
    ]
    return pl.DataFrame(rows, schema=["patient_id", "arm", "age", "sex", "notes"], orient="row")


def settings_of(*, cell: int, seed: int) -> AuditSettings:
    return AuditSettings(
        model="", corpus=Path(), out=Path(), patients_per_cell=cell, controls="any", seed=seed, quiet=True
    )


def match(people: pl.DataFrame, status: dict[str, dict[str, bool]], settings: AuditSettings) -> Targets:
    return match_cohorts(
        people,
        labels=labels_of(status),
        panel=PANEL,
        settings=settings,
        has_control=False,
        missing=NOBODY,
        progress=Progress(quiet=True),
    )


def targets_of(sizes: dict[str, int], *, labelled: int, cell: int = 8, seed: int = 0) -> Targets:
    """Match HIV among the first `labelled` patients of each arm, every other of whom has it."""
    people = people_of(sizes)
    status = {
        patient_id: {"hiv": number % 2 == 0} if (number := int(patient_id[-3:])) < labelled else {}
        for patient_id in people["patient_id"]
    }
    return match(people, status, settings_of(cell=cell, seed=seed))


def by_arm(targets: Targets, *, of_cohort: bool | None = None) -> Counter[str]:
    return Counter(
        patient_id[:-3]
        for patient_id, diagnoses in targets.patients.iter_rows()
        if of_cohort is None or bool(diagnoses) is of_cohort
    )


def test_small_cohorts_are_filled_up_in_both_splits() -> None:
    targets = targets_of({"train": 300, "nontrain": 250}, labelled=40)
    assert by_arm(targets) == {"train": SAMPLE_SIZE, "nontrain": SAMPLE_SIZE}
    members = set(targets.cohorts["patient_id"])
    assert {patient_id for patient_id, diagnoses in targets.patients.iter_rows() if diagnoses} == members
    assert set(targets.candidates.filter("matched")["patient_id"]) == members
    assert by_arm(targets, of_cohort=True)["train"] == 2 * 8


def test_a_split_with_fewer_patients_is_taken_whole() -> None:
    targets = targets_of({"train": 300, "nontrain": 50}, labelled=40)
    assert by_arm(targets) == {"train": SAMPLE_SIZE, "nontrain": 50}


def test_cohorts_that_hold_as_many_are_not_filled_up() -> None:
    targets = targets_of({"train": 300, "nontrain": 300}, labelled=300, cell=110)
    assert by_arm(targets) == {"train": 220, "nontrain": 220}
    assert by_arm(targets, of_cohort=False) == {}


def test_without_a_cohort_all_are_a_sample() -> None:
    targets = targets_of({"train": 300}, labelled=40)
    assert by_arm(targets) == by_arm(targets, of_cohort=False) == {"train": SAMPLE_SIZE}
    assert targets.cohorts.is_empty()


def test_the_sample_is_of_the_seed() -> None:
    sizes = {"train": 300, "nontrain": 300}
    first, again, other = (targets_of(sizes, labelled=40, seed=seed).patients for seed in (1, 1, 2))
    assert first.equals(again)
    assert set(first["patient_id"]) != set(other["patient_id"])


@pytest.mark.parametrize("seed", first_of(6, always=2))
def test_foreseen_sets_are_the_most_and_half_of_them_or_more_are_matched(seed: int) -> None:
    rng = random.Random(seed)
    people = people_of({"train": 120, "nontrain": 90})
    status = {patient_id: {"hiv": rng.random() < 0.3} for patient_id in people["patient_id"]}
    has = [status[patient_id]["hiv"] for patient_id in people["patient_id"]]
    # Who has it is older by far, and more often a man, so that groups alike are small.
    people = people.with_columns(
        age=pl.Series([rng.randrange(20, 90) + 25 * positive for positive in has]),
        sex=pl.Series(["male" if rng.random() < (0.8 if positive else 0.4) else "female" for positive in has]),
    )
    settings = settings_of(cell=100, seed=seed)
    sets, foreseen = foresee_targets(people, labels=labels_of(status), panel=PANEL, settings=settings)
    positives = Counter(arm for arm, positive in zip(people["arm"], has, strict=True) if positive)
    assert sets == {"hiv": min(positives.values())}
    targets = match(people, status, settings)
    matched = targets.cohorts.height // 4
    assert sets["hiv"] / 2 <= matched <= sets["hiv"]
    # All who are left are in the sample, in either.
    assert set(foreseen["patient_id"]) == set(targets.patients["patient_id"]) == set(people["patient_id"])
    assert foreseen.filter(pl.col("diagnoses").list.len() > 0).height == 4 * sets["hiv"]
