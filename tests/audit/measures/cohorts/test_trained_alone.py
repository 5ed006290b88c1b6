"""Cohorts where nobody was held out: those trained on are matched among themselves, for a control to answer."""

from dataclasses import replace

import numpy as np

from clinaudit.audit.measures.cohorts.balance import POOR_SMD
from clinaudit.audit.measures.cohorts.cohort import Candidate, build_cohort


def patient(name: str, arm: str, *, age: int = 40, **status: bool) -> Candidate:
    return Candidate(name, arm, age, "female", 3, status)  # type: ignore[arg-type]


def test_with_a_control_model_those_trained_on_are_matched_among_themselves():
    ages = {"have": (30, 50, 70), "lack": (69, 31, 20, 52)}
    people = [
        patient(f"{who}{age}", "train", age=age, hiv=who == "have", ptsd=True) for who, of in ages.items() for age in of
    ]
    cohort = build_cohort(people, diagnosis="hiv", sets=3, controls="sensitive", seed=0, refined=True, has_control=True)
    sets: dict[str, list[str]] = {}
    for member in cohort.members:
        sets.setdefault(member.match_id, []).append(member.patient_id)
    # Each next to the nearest in age.
    assert sorted(sets.values()) == [["have30", "lack31"], ["have50", "lack52"], ["have70", "lack69"]]
    assert list(cohort.summary.cells.values()) == [3, 3, 0, 0]
    assert [(row.contrast, row.covariate, row.flag) for row in cohort.summary.balance] == [
        ("pos-train vs. neg-train", covariate, "balanced") for covariate in ("age", "sex", "notes")
    ]
    # Nobody stands in where somebody was held out but cannot be matched, nor without a control.
    held_out = [*people, patient("never", "nontrain", hiv=False, ptsd=True)]
    for candidates, has_control in ((held_out, True), (people, False)):
        none = build_cohort(
            candidates, diagnosis="hiv", sets=3, controls="sensitive", seed=0, refined=True, has_control=has_control
        )
        assert (none.members, none.summary.status) == ((), "unavailable")


def test_a_confounded_cohort_of_those_trained_on_is_balanced_by_swaps():
    rng = np.random.default_rng(4)
    people = [patient(f"{i:03d}", "train", age=int(rng.integers(19, 77)), hiv=i < 60, ptsd=True) for i in range(150)]
    older = [replace(p, age=(p.age or 0) + 12) if p.status["hiv"] else p for p in people]
    cohort = build_cohort(older, diagnosis="hiv", sets=40, controls="sensitive", seed=0, refined=True, has_control=True)
    assert 20 <= cohort.summary.cells["train_positive"] <= 40
    assert len(cohort.members) == 2 * cohort.summary.cells["train_positive"]
    assert cohort.summary.status == "balanced"
    before = {row.covariate: row.smd_before for row in cohort.summary.balance}
    assert abs(before["age"] or 0) > POOR_SMD
