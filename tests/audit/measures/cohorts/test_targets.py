"""Who is probed: the cohorts' members, first those who miss no tier, and a seeded sample where they are few."""

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
from support.matched_people import Person, build, ids_of, labels_of
from support.patient_facts import NOTE, PROFILE, corpus_of

from clinaudit.audit.measures.cohorts.cohort import SAMPLE_SIZE, find_missing_tiers, match_cohorts
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.facts import read_facts
from clinaudit.priors.prompts import PromptWriter
from clinaudit.priors.tiers import ProbedTiers
from clinaudit.reports.schema.record import ARMS

PANEL = load_panel(only=["hiv"])
NOBODY = pl.DataFrame(schema={"patient_id": pl.String, "diagnosis": pl.String, "tier": pl.String})


def people_of(sizes):
    """Return so many patients in each arm."""
    rows = [
        (f"{arm}{i:03d}", arm, 30 + i % 40, "female", 3)
        for arm in sorted(sizes, key=ARMS.index)
        for i in range(sizes[arm])
    ]
    return pl.DataFrame(rows, schema=["patient_id", "arm", "age", "sex", "notes"], orient="row")


def targets_of(sizes, *, labelled, cell=8, seed=0):
    """Match HIV among the first `labelled` patients of each arm, every other of whom has it."""
    people = people_of(sizes)
    status = {
        patient_id: {"hiv": number % 2 == 0} if (number := int(patient_id[-3:])) < labelled else {}
        for patient_id in people["patient_id"]
    }
    settings = AuditSettings(
        model="", corpus=Path(), out=Path(), patients_per_cell=cell, controls="any", seed=seed, quiet=True
    )
    return match_cohorts(
        people,
        labels=labels_of(status),
        panel=PANEL,
        settings=settings,
        has_control=False,
        missing=NOBODY,
        progress=Progress(quiet=True),
    )


def by_arm(targets, *, of_cohort=None):
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


def population(misses, *, cell=60, seed=0):
    """Return so many patients a cell, and who of them misses a tier: by arm, status and number."""
    rng = np.random.default_rng(seed)
    return [
        Person(
            patient_id=f"{arm}{present}{i:03d}",
            arm=arm,
            age=int(rng.integers(20, 80)),
            sex="female" if i % 2 else "male",
            notes=int(rng.integers(2, 6)),
            status={"hiv": present, "ptsd": True},
            misses=misses(arm, present, i),
        )
        for arm in ARMS
        for present in (True, False)
        for i in range(cell)
    ]


def complete_sets(cohort, people):
    """Return the sets of whose members none misses a tier, and all sets."""
    lacking = [one.patient_id for one in people if one.misses]
    sets = set(cohort.members["match_id"])
    incomplete = cohort.members.filter(cohort.members["patient_id"].is_in(lacking))
    return len(sets - set(incomplete["match_id"])), len(sets)


def unpreferring(people):
    return [one._replace(misses=False) for one in people]


def test_where_enough_miss_none_only_they_are_taken():
    people = population(lambda _arm, _present, i: i % 2 == 0 or i % 5 == 0)
    cohort = build(people, sets=20)
    before = build(unpreferring(people), sets=20)
    assert complete_sets(cohort, people) == (20, 20)
    assert complete_sets(before, people)[0] < 10
    assert cohort.status == before.status == "balanced"


def test_a_worse_balance_is_not_bought():
    # Those who miss none are the old of one cell: taken alone they are like nobody.
    people = [
        one._replace(age=79, misses=False) if one.arm == "train" and one.status["hiv"] and i % 60 < 20 else one
        for i, one in enumerate(population(lambda arm, present, _: (arm, present) == ("train", True)))
    ]
    young = [one if one.age == 79 else one._replace(age=min(one.age or 0, 50)) for one in people]
    cohort = build(young, sets=20)
    assert cohort.status == "balanced"
    assert ids_of(cohort) == ids_of(build(unpreferring(young), sets=20))


def test_tiers_that_cannot_be_made_are_found_by_diagnosis(tmp_path):
    notes = [
        {"patient_id": "a", "note_id": "1", "text": NOTE},
        {"patient_id": "b", "note_id": "2", "text": NOTE.replace("CC: low mood\n", "")},
        {"patient_id": "c", "note_id": "3", "text": NOTE.replace("tired", "known HIV")},
        {"patient_id": "d", "note_id": "4", "text": NOTE.replace("CC: low mood\n", "")},
    ]
    patients = "patient_id,split,sex\na,train,female\nb,train,male\nc,train,male\nd,train,male\n"
    corpus = corpus_of(tmp_path / "corpus", notes, patients)
    panel = load_panel(only=["depression", "hiv"])
    writer = PromptWriter(
        PROFILE, panel=panel, count_prompt_tokens=len, encode=list, max_new_tokens=10**6, context_length=10**7
    )
    status: dict[str, dict[str, bool]] = {
        "a": {"depression": True, "hiv": False},
        "b": {"hiv": True},
        "c": {"depression": False, "hiv": True},
        "d": {},
    }
    found = find_missing_tiers(
        read_facts(corpus, PROFILE, corpus.patients),
        labels=labels_of(status),
        panel=panel,
        probed=ProbedTiers(("public_name", "encounter_cc", "encounter_cc_hpi")),
        writer=writer,
        progress=Progress(quiet=True),
    )
    # Of unknown status `d` is no candidate, and of `b` nothing is known of depression.
    assert sorted(found.iter_rows()) == [("b", "hiv", "encounter_cc"), ("c", "hiv", "encounter_cc_hpi")]
