"""Candidates, matched sets and balance as rows."""

import numpy as np
import pytest
from support.matched_people import Person, build, estimates_of, ids_of

from clinaudit.audit.measures.cohorts.estimates import BEFORE


def _candidates(seed: int, arms: tuple[str, ...] = ("train", "nontrain")) -> list[Person]:
    rng = np.random.default_rng(seed)
    found = []
    for place in range(200):
        age = None if place % 40 == 0 else int(rng.integers(20, 90))
        status = {} if place % 30 == 0 else {"hiv": bool(rng.random() < 0.4), "ptsd": bool(rng.random() < 0.5)}
        sex = "female" if rng.random() < 0.6 else "male"
        found.append(Person(f"p{place:03}", arms[place % len(arms)], age, sex, int(rng.integers(1, 9)), status))
    return found


def test_counts_are_those_of_a_loop():
    candidates = _candidates(1)
    cohort = build(candidates, sets=20, seed=3)
    found = estimates_of(candidates, cohort)
    eligible = [one for one in candidates if one.age is not None and any(one.status.values())]
    matched = ids_of(cohort)
    for arm in ("train", "nontrain"):
        for part, present in (("present", True), ("absent", False)):
            those = [one for one in eligible if one.arm == arm and one.status["hiv"] is present]
            row = found.find("candidates", diagnosis="hiv", arm=arm, by="status", part=part)
            left = found.find("unmatched", diagnosis="hiv", arm=arm, by="status", part=part)
            assert (row.count_low, row.of_low) == (len(those), sum(one.arm == arm for one in eligible))
            assert left.count_low == sum(one.patient_id not in matched for one in those)
    assert found.find("cohort_sets", diagnosis="hiv").value == cohort.members.height / 4
    prevalence = found.find("prevalence", diagnosis="hiv")
    having = [one.status["hiv"] for one in eligible if one.arm == "train" and "hiv" in one.status]
    assert (prevalence.count_low, prevalence.of_low) == (sum(having), len(having))


@pytest.mark.parametrize("seed", [2, 3])
def test_balance_is_that_of_loops(seed):
    people = _candidates(seed)
    cohort = build(people, sets=20, seed=3)
    found, matched = estimates_of(people, cohort), ids_of(cohort)
    assert len(found.rows("smd")) == 18
    eligible = [one for one in people if one.age is not None and any(one.status.values()) and "hiv" in one.status]
    numbers = {"age": lambda one: one.age, "sex": lambda one: one.sex == "female", "notes": lambda one: one.notes}
    for row in found.rows("smd"):
        those = eligible if row.part.startswith(BEFORE) else [one for one in eligible if one.patient_id in matched]
        groups = {
            "with: train against nontrain": (("train", True), ("nontrain", True)),
            "train: with against without": (("train", True), ("train", False)),
            "nontrain: with against without": (("nontrain", True), ("nontrain", False)),
        }[row.part.removeprefix(BEFORE)]
        first, second = (
            np.array([numbers[row.by](one) for one in those if (one.arm, one.status["hiv"]) == group], float)
            for group in groups
        )
        spread = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2)
        assert row.value == pytest.approx((first.mean() - second.mean()) / spread, abs=1e-12)
