"""Patients who miss no tier are preferred, and neither balance nor the order of rows suffers by it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.matched_people import Person, ids_of, labels_of, worst_smd
from support.matched_people import build as build_cohort
from support.patient_facts import NOTE, PROFILE, corpus_of

from clinaudit.audit.measures.cohorts.balance import POOR_SMD, flag_cells
from clinaudit.audit.measures.cohorts.cohort import MatchedCohort
from clinaudit.audit.measures.cohorts.stage import find_missing_tiers
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.facts import read_facts
from clinaudit.priors.prompts import PromptWriter
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.reports.schema.record import ARMS


def population(misses: Callable[[str, bool, int], bool], *, cell: int = 60, seed: int = 0) -> list[Person]:
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


def build(people: list[Person], *, asked: int) -> MatchedCohort:
    return build_cohort(people, sets=asked)


def complete_sets(cohort: MatchedCohort, people: list[Person]) -> tuple[int, int]:
    """Return the sets of whose members none misses a tier, and all sets."""
    lacking = [one.patient_id for one in people if one.misses]
    sets = set(cohort.members["match_id"])
    incomplete = cohort.members.filter(cohort.members["patient_id"].is_in(lacking))
    return len(sets - set(incomplete["match_id"])), len(sets)


def unpreferring(people: list[Person]) -> list[Person]:
    return [one._replace(misses=False) for one in people]


def test_where_enough_miss_none_only_they_are_taken() -> None:
    people = population(lambda _arm, _present, i: i % 2 == 0 or i % 5 == 0)
    cohort = build(people, asked=20)
    before = build(unpreferring(people), asked=20)
    assert complete_sets(cohort, people) == (20, 20)
    assert complete_sets(before, people)[0] < 10
    assert cohort.status == before.status == "balanced"


def test_where_few_miss_none_all_of_them_are_taken_and_matched_together() -> None:
    # Of one cell 12 miss none, of another 20; of the two others all.
    few = {("train", True): 12, ("nontrain", False): 20}
    people = population(lambda arm, present, i: i >= few.get((arm, present), 60))
    cohort = build(people, asked=40)
    complete, sets = complete_sets(cohort, people)
    assert (complete, sets) == (12, 40)
    # Every one of the 20 is in, though 8 of them beside one who misses a tier.
    lacking = {one.patient_id for one in people if one.misses}
    chosen = cohort.members.filter(arm="nontrain", present=False)["patient_id"]
    assert len(set(chosen) - lacking) == 20
    assert complete_sets(build(unpreferring(people), asked=40), people)[0] < 8
    assert worst_smd(people, cohort) <= POOR_SMD


def test_a_worse_balance_is_not_bought() -> None:
    # Those who miss none are the old of one cell: taken alone they are like nobody.
    people = [
        one._replace(age=79, misses=False) if one.arm == "train" and one.status["hiv"] and i % 60 < 20 else one
        for i, one in enumerate(population(lambda arm, present, _: (arm, present) == ("train", True)))
    ]
    young = [one if one.age == 79 else one._replace(age=min(one.age or 0, 50)) for one in people]
    cohort = build(young, asked=20)
    assert cohort.status == "balanced"
    assert ids_of(cohort) == ids_of(build(unpreferring(young), asked=20))


def test_where_all_or_none_miss_a_tier_nothing_changes() -> None:
    people = population(lambda *_: True)
    found, same = (build(of, asked=25).members.drop("misses") for of in (people, unpreferring(people)))
    assert found.equals(same)


def test_tiers_that_cannot_be_made_are_found_by_diagnosis(tmp_path: Path) -> None:
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
        PROFILE, panel=panel, count_prompt_tokens=len, count_note_tokens=len, max_new_tokens=10**6, context_length=10**7
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


@pytest.mark.parametrize(
    ("first", "second", "size", "flag"),
    [
        (0, 5, 20, "balanced"),
        (0, 6, 20, "poorly_matched"),
        (1, 10, 40, "balanced"),
        (0, 10, 39, "poorly_matched"),
        (3, 14, 100, "poorly_matched"),
        (0, 3, 3, "poorly_matched"),
    ],
)
def test_few_of_one_sex_are_judged_by_their_numbers(first: int, second: int, size: int, flag: str) -> None:
    cells = [np.zeros((size, 3)) for _ in range(4)]
    for cell, women in zip(cells, (first, second, first, second), strict=True):
        cell[:women, 1] = 1
    assert flag_cells(cells) == flag


def test_more_than_ten_of_both_sexes_are_judged_by_the_smd() -> None:
    cells = [np.zeros((40, 3)) for _ in range(4)]
    for cell, women in zip(cells, (11, 14, 11, 14), strict=True):
        cell[:women, 1] = 1
    # An SMD of 0.17.
    assert flag_cells(cells) == "imbalanced"
