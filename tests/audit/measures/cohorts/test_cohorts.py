"""Matched cohorts: balance by hand and by loops, planted confounding, the order of rows, and those trained on alone."""

import random

import numpy as np
import polars as pl
import pytest
from support.matched_people import Person, build, candidates_of, count_sets, estimates_of, ids_of, smds_of, worst_smd
from support.simulations import first_of

from clinaudit.audit.measures.cohorts.estimates import BEFORE
from clinaudit.audit.measures.cohorts.matching import CONTRASTS, POOR_SMD, standardized_mean_difference, swap_best
from clinaudit.reports.schema.record import ARMS

#: No row is kept.
NOBODY = (0, 0, 0, 0)
PANEL = ("anxiety", "depression", "abortion", "bipolar", "ptsd", "hiv")


def demo_population(seed, *, patients=150):
    """Return the demo's kind of population: four in five female, each diagnosis at 45%, abortion only in women."""
    rng = np.random.default_rng(seed)
    found = []
    for arm in ARMS:
        female = rng.permutation(np.arange(patients) < 0.8 * patients)
        status = {d: rng.permutation(np.arange(patients) < 0.45 * patients) for d in PANEL}
        status["abortion"] = np.isin(
            np.arange(patients), rng.permutation(np.flatnonzero(female))[: round(0.45 * patients)]
        )
        for i in range(patients):
            age, notes, sex = int(rng.integers(19, 89)), int(rng.integers(2, 6)), "female" if female[i] else "male"
            found.append(Person(f"{arm}-{i:03d}", arm, age, sex, notes, {d: bool(status[d][i]) for d in PANEL}))
    return found


def patient(name, arm, *, age=40, sex="female", **status):
    return Person(name, arm, age, sex, 3, status)


def test_smd_by_hand():
    # Means 2 and 4, sample variances 1 and 4: -2 / sqrt(2.5).
    assert standardized_mean_difference(np.array([1.0, 2, 3]), np.array([2.0, 4, 6])) == pytest.approx(-1.264911)


@pytest.mark.parametrize(("first", "second", "smd"), [([1, 1], [1, 1], 0.0), ([1, 1], [0, 0], None), ([1], [1], 0.0)])
def test_smd_without_spread(first, second, smd):
    assert standardized_mean_difference(np.array(first, float), np.array(second, float)) == smd


@pytest.mark.parametrize("diagnosis", PANEL)
@pytest.mark.parametrize("seed", first_of(2, always=1))
def test_a_demo_cohort_is_large_and_balanced(diagnosis, seed):
    population = demo_population(seed)
    cohort = build(population, diagnosis, seed=seed)
    by_id = {one.patient_id: one for one in population}
    size = count_sets(cohort)
    assert size >= 40
    assert cohort.status in {"balanced", "imbalanced"}
    assert worst_smd(population, cohort, diagnosis) <= POOR_SMD
    # Members are who they are said to be, nobody stands in two places, and each set has one patient a cell.
    assert len(ids_of(cohort)) == cohort.members.height == 4 * size
    columns = ("patient_id", "arm", "present", "propensity")
    for patient_id, arm, present, propensity in cohort.members.select(columns).iter_rows():
        assert by_id[patient_id].arm == arm
        assert by_id[patient_id].status[diagnosis] is present
        assert 0 < propensity < 1
    assert cohort.members.n_unique(["match_id", "arm", "present"]) == 4 * size


def test_order_of_rows_does_not_matter_and_the_seed_does():
    population = demo_population(5)
    shuffled = random.Random(1).sample(population, len(population))
    first = build(population, sets=30, seed=4).members
    assert first.equals(build(shuffled, sets=30, seed=4).members)
    assert not first.equals(build(population, sets=30, seed=5).members)


def test_confounding_by_age_is_taken_out():
    # Patients with the diagnosis are 20 years older on average; a quarter of the others are as old.
    rng = np.random.default_rng(0)
    people = []
    for i in range(800):
        present = i % 4 == 0
        age = int(np.clip(rng.normal(60 if present else 45, 12), 18, 90))
        people.append(
            patient(f"p{i:03d}", "train" if i % 8 < 4 else "nontrain", age=age, hiv=present, other=not present)
        )
    cohort = build(people, sets=60)
    assert (count_sets(cohort), cohort.status) == (60, "balanced")


def test_groups_that_cannot_be_alike_are_poorly_matched():
    people = [
        patient(f"{arm}{i}", arm, age=(30 if i < 10 else 70) + i % 3, hiv=i < 10, other=True)
        for arm in ARMS
        for i in range(20)
    ]
    cohort = build(people)
    assert cohort.status == "poorly_matched"
    ages = {part: smd for (part, of), smd in smds_of(people, cohort).items() if of == "age" and "|" not in part}
    assert [abs(smd or 0) > POOR_SMD for smd in ages.values()] == [False, True, True]


def test_constant_covariates_apart_are_null_and_poorly_matched():
    people = [
        patient(f"{arm}{i}", arm, sex="female" if i < 5 else "male", hiv=i < 5, other=True)
        for arm in ARMS
        for i in range(10)
    ]
    cohort = build(people)
    smds = smds_of(people, cohort)
    assert smds["train: with against without", "sex"] is None
    assert smds["with: train against nontrain", "sex"] == 0
    assert cohort.status == "poorly_matched"


def test_exclusions_are_counted_and_unknown_status_is_never_a_control():
    people = [
        patient(f"{arm}{kind}{i}", arm, hiv=kind == "+", other=True) for arm in ARMS for kind in "+-" for i in range(3)
    ]
    people += [
        patient("no-age", "train", age=None, hiv=True),
        patient("no-sex", "train", sex=None, hiv=False, other=True),
        patient("other-sex", "train", sex="other", hiv=False, other=True),
        patient("unknown", "nontrain", other=True),
        # Of whom nothing is known, as where the judge gave no answer.
        patient("blank", "train"),
        patient("healthy", "train", hiv=False, other=False),
    ]
    reasons = {
        "no-age": "age or sex unknown",
        "no-sex": "age or sex unknown",
        "other-sex": "sex neither female nor male",
        "unknown": "diagnosis status unknown",
        "blank": "diagnosis status unknown",
        "healthy": "no sensitive diagnosis",
    }
    candidates = candidates_of(people)
    assert dict(candidates.filter(pl.col("reason").is_not_null())["patient_id", "reason"].iter_rows()) == reasons
    cohort = build(people)
    assert ids_of(cohort).isdisjoint(reasons)
    counted = {(row.part, row.arm): row.count_low for row in estimates_of(people, cohort).rows("excluded")}
    assert counted == {
        ("age or sex unknown", "train"): 2,
        ("diagnosis status unknown", "train"): 1,
        ("diagnosis status unknown", "nontrain"): 1,
        ("no sensitive diagnosis", "train"): 1,
        ("sex neither female nor male", "train"): 1,
    }


def test_any_controls_admit_patients_without_a_sensitive_diagnosis():
    people = [patient(f"{arm}{i}", arm, hiv=i < 3) for arm in ARMS for i in range(6)]
    assert build(people).status == "unavailable"
    assert count_sets(build(people, sets=3, controls="any")) == 3


@pytest.mark.parametrize(
    ("keep", "word"),
    [
        (lambda c: c.arm == "train", "outside the training data"),
        (lambda c: not (c.arm == "nontrain" and c.status["hiv"]), "with the diagnosis outside"),
        (lambda c: c.arm == "nontrain" or c.status["hiv"], "without the diagnosis in"),
    ],
)
def test_an_empty_cell_makes_the_cohort_unavailable(keep, word):
    cohort = build([one for one in demo_population(0) if keep(one)])
    assert cohort.members.is_empty()
    assert cohort.status == "unavailable"
    assert word in (cohort.reason or "")


def sum_of_fourth_powers(cells):
    pairs = [(first, second, k) for first, second in CONTRASTS.values() for k in range(3)]
    return sum((standardized_mean_difference(cells[a][:, k], cells[b][:, k]) or 0) ** 4 for a, b, k in pairs)


def test_the_first_exchange_is_the_best_of_all():
    rng = np.random.default_rng(4)
    pools = [
        np.column_stack([rng.integers(20, 50 + 10 * cell, 30), rng.integers(0, 2, 30), rng.integers(1, 9, 30)])
        for cell in range(4)
    ]
    pools = [pool.astype(float) for pool in pools]
    chosen = [list(range(8))] * 4

    def imbalance(choice):
        return sum_of_fourth_powers([pool[rows] for pool, rows in zip(pools, choice, strict=True)])

    best = min(
        imbalance([*chosen[:cell], [joins if row == leaves else row for row in range(8)], *chosen[cell + 1 :]])
        for cell in range(4)
        for leaves in range(8)
        for joins in range(8, 30)
    )
    assert imbalance(swap_best(pools, chosen, kept=NOBODY)) == pytest.approx(best)


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


def _candidates(seed, arms=("train", "nontrain")):
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
