"""Cohorts where nobody was held out: those trained on are matched among themselves, for a control to answer."""

import numpy as np
import polars as pl
from support.matched_people import Person, build, count_sets, smds_of

from clinaudit.audit.measures.cohorts.balance import POOR_SMD


def patient(name: str, arm: str, *, age: int = 40, **status: bool) -> Person:
    return Person(name, arm, age, "female", 3, status)


def test_with_a_control_model_those_trained_on_are_matched_among_themselves():
    ages = {"have": (30, 50, 70), "lack": (69, 31, 20, 52)}
    people = [
        patient(f"{who}{age}", "train", age=age, hiv=who == "have", ptsd=True) for who, of in ages.items() for age in of
    ]
    cohort = build(people, sets=3, has_control=True)
    # Each next to the nearest in age.
    sets = cohort.members.group_by("match_id").agg(pl.col("patient_id").sort())["patient_id"].to_list()
    assert sorted(sets) == [["have30", "lack31"], ["have50", "lack52"], ["have70", "lack69"]]
    assert cohort.status == "balanced"
    assert set(cohort.members["arm"]) == {"train"}
    # Nobody stands in where somebody was held out but cannot be matched, nor without a control.
    held_out = [*people, patient("never", "nontrain", hiv=False, ptsd=True)]
    for candidates, has_control in ((held_out, True), (people, False)):
        none = build(candidates, sets=3, has_control=has_control)
        assert (none.members.height, none.status) == (0, "unavailable")


def test_a_confounded_cohort_of_those_trained_on_is_balanced_by_swaps():
    rng = np.random.default_rng(4)
    people = [patient(f"{i:03d}", "train", age=int(rng.integers(19, 77)), hiv=i < 60, ptsd=True) for i in range(150)]
    older = [p._replace(age=(p.age or 0) + 12) if p.status["hiv"] else p for p in people]
    cohort = build(older, sets=40, has_control=True)
    assert 20 <= count_sets(cohort) <= 40
    assert cohort.members.height == 2 * count_sets(cohort)
    assert cohort.status == "balanced"
    assert abs(smds_of(older, cohort)["before|train: with against without", "age"] or 0) > POOR_SMD
