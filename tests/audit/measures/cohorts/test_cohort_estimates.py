"""Candidates, matched sets and balance as rows."""

import numpy as np
import polars as pl
import pytest

from clinaudit.audit.measures.cohorts.balance import CONTRASTS
from clinaudit.audit.measures.cohorts.cohort import Candidate, build_cohort, candidate_rows, cohort_rows
from clinaudit.audit.measures.cohorts.estimates import BEFORE, estimate_cohorts
from clinaudit.reports.estimates.frame import Estimates

#: Today's name of each contrast.
_NAMES = dict(zip(CONTRASTS, ("with: train against nontrain", "train: with against without", ""), strict=True))
_NAMES["pos-nontrain vs. neg-nontrain"] = "nontrain: with against without"


def _candidates(seed: int, arms: tuple[str, ...] = ("train", "nontrain")) -> list[Candidate]:
    rng = np.random.default_rng(seed)
    found = []
    for place in range(200):
        age = None if place % 40 == 0 else int(rng.integers(20, 90))
        status = {} if place % 30 == 0 else {"hiv": bool(rng.random() < 0.4), "ptsd": bool(rng.random() < 0.5)}
        sex = "female" if rng.random() < 0.6 else "male"
        found.append(Candidate(f"p{place:03}", arms[place % len(arms)], age, sex, int(rng.integers(1, 9)), status))
    return found


def _estimate(candidates: list[Candidate], **options: object) -> tuple[Estimates, object]:
    settings = {"sets": 20, "controls": "sensitive", "seed": 3, "refined": True, "has_control": False}
    cohort = build_cohort(candidates, diagnosis="hiv", **settings | options)
    rows = pl.DataFrame(candidate_rows(candidates, [cohort], "sensitive"), infer_schema_length=None)
    members = pl.DataFrame(cohort_rows([cohort]), schema_overrides={"diagnosis": pl.String, "match_id": pl.String})
    if members.is_empty():
        members = pl.DataFrame(schema={"diagnosis": pl.String, "match_id": pl.String})
    return Estimates(estimate_cohorts({"candidates": rows.lazy(), "cohorts": members.lazy()})), cohort


def test_counts_are_those_of_a_loop() -> None:
    candidates = _candidates(1)
    found, cohort = _estimate(candidates)
    eligible = [one for one in candidates if one.age is not None and any(one.status.values())]
    matched = {member.patient_id for member in cohort.members}
    for arm in ("train", "nontrain"):
        for part, present in (("present", True), ("absent", False)):
            those = [one for one in eligible if one.arm == arm and one.status["hiv"] is present]
            row = found.find("candidates", diagnosis="hiv", arm=arm, by="status", part=part)
            left = found.find("unmatched", diagnosis="hiv", arm=arm, by="status", part=part)
            assert (row.count_low, row.of_low) == (len(those), sum(one.arm == arm for one in eligible))
            assert left.count_low == sum(one.patient_id not in matched for one in those)
    assert found.find("cohort_sets", diagnosis="hiv").value == len(cohort.members) / 4
    prevalence = found.find("prevalence", diagnosis="hiv")
    having = [one.status["hiv"] for one in eligible if one.arm == "train" and "hiv" in one.status]
    assert (prevalence.count_low, prevalence.of_low) == (sum(having), len(having))
    excluded: dict[str, int] = {}
    for row in found.rows("excluded", diagnosis="hiv"):
        excluded[row.part] = excluded.get(row.part, 0) + row.count_low
    assert excluded == cohort.summary.excluded


@pytest.mark.parametrize("seed", [2, 3])
def test_balance_is_that_of_the_matcher(seed: int) -> None:
    found, cohort = _estimate(_candidates(seed))
    assert len(found.rows("smd")) == 18
    for row in cohort.summary.balance:
        for prefix, smd in (("", row.smd), (BEFORE, row.smd_before)):
            new = found.find("smd", diagnosis="hiv", by=row.covariate, part=prefix + _NAMES[row.contrast])
            assert new.value == pytest.approx(smd, abs=1e-12)


def test_few_of_one_sex_stand_behind_its_difference() -> None:
    candidates = [
        Candidate(
            patient_id=f"p{place}",
            arm="train" if place < 40 else "nontrain",
            age=50 + place % 7,
            sex="male" if place in (1, 3, 42) else "female",
            note_count=3,
            status={"hiv": place % 2 == 0, "ptsd": True},
        )
        for place in range(80)
    ]
    found, _ = _estimate(candidates)
    behind = {(row.by, row.part): row.behind for row in found.rows("smd")}
    assert behind["sex", BEFORE + "train: with against without"] == 1
    assert behind["age", BEFORE + "train: with against without"] is None


def test_without_held_out_patients_there_are_candidates_and_one_contrast() -> None:
    alone = _candidates(4, ("train",))
    without, _ = _estimate(alone)
    assert without.find("cohort_sets", diagnosis="hiv").value == 0
    assert without.find("prevalence", diagnosis="hiv").of_low > 0
    assert not without.rows("smd")
    with_control, _ = _estimate(alone, has_control=True)
    assert {row.part.removeprefix(BEFORE) for row in with_control.rows("smd")} == {"train: with against without"}
