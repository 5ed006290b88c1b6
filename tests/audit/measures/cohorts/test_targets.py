"""Who is probed: the cohorts' members, and a seeded sample where they are few."""

from collections import Counter
from pathlib import Path

import polars as pl
from support.matched_people import labels_of

from clinaudit.audit.measures.cohorts.stage import SAMPLE_SIZE, Targets, match_cohorts
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


def test_small_cohorts_are_filled_up_in_both_splits():
    targets = targets_of({"train": 300, "nontrain": 250}, labelled=40)
    assert by_arm(targets) == {"train": SAMPLE_SIZE, "nontrain": SAMPLE_SIZE}
    members = set(targets.cohorts["patient_id"])
    assert {patient_id for patient_id, diagnoses in targets.patients.iter_rows() if diagnoses} == members
    assert set(targets.candidates.filter("matched")["patient_id"]) == members
    assert by_arm(targets, of_cohort=True)["train"] == 2 * 8


def test_the_sample_is_of_the_seed():
    sizes = {"train": 300, "nontrain": 300}
    first, again, other = (targets_of(sizes, labelled=40, seed=seed).patients for seed in (1, 1, 2))
    assert first.equals(again)
    assert set(first["patient_id"]) != set(other["patient_id"])
