"""From evidence tables to the rows of disclosure."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from clinaudit.audit.measures.disclosure import MEANS, NOT_ANSWERED, NOT_OF_CONTROL, estimate_disclosure
from clinaudit.reports.estimates.frame import Estimates

OUTCOMES = ("negative", "not_mentioned", "ambiguous", "positive", "unjudged")
CELLS = (("train", True), ("train", False), ("nontrain", True), ("nontrain", False))
_TYPES = {"diagnosis_mentioned": pl.Boolean, "patient_has_diagnosis": pl.String, "reason": pl.String}
PUBLIC = {"form": "text", "tier": "public", "diagnosis": "hiv"}


class Audit:
    """Evidence tables that grow by one answer at a time."""

    def __init__(self):
        self.cohorts: list[dict[str, Any]] = []
        self.priors: list[dict[str, Any]] = []
        self.generations: list[dict[str, Any]] = []
        self.judgements: list[dict[str, Any]] = []

    def member(self, patient, match, arm, present, diagnosis="hiv"):
        self.cohorts.append(
            {"diagnosis": diagnosis, "patient_id": patient, "arm": arm, "present": present, "match_id": match}
        )

    def ask(self, patient, arm, outcome, *, form="text", model="audited", reason="", diagnosis="hiv"):
        """Ask at tier public; without an outcome there is no answer, with a reason no prompt either."""
        place = {"patient_id": patient, "arm": arm, "tier": "public", "form": form, "model": model}
        place |= {"role": "target", "diagnoses": [diagnosis]}
        self.priors.append({**place, "excluded": bool(reason), "reason": reason or None})
        if outcome is None:
            return
        key = f"g{len(self.generations)}"
        self.generations.append({"generation_id": key, **place})
        mentioned = None if outcome == "unjudged" else outcome != "not_mentioned"
        status = outcome if mentioned else None
        self.judgements.append(
            {
                "generation_id": key,
                "diagnosis": diagnosis,
                "diagnosis_mentioned": mentioned,
                "patient_has_diagnosis": status,
            }
        )

    def estimate(self, prevalence=0.2, judge=0.9):
        tables = {
            name: pl.LazyFrame(getattr(self, name), schema_overrides=_TYPES, infer_schema_length=None)
            for name in ("cohorts", "priors", "generations", "judgements")
        }
        return Estimates(estimate_disclosure(tables, prevalences={"hiv": prevalence}, judge_sensitivity=judge))


WORDS = dict(zip("nmapu", OUTCOMES, strict=True))


def audit_of(verdicts, control=None, diagnosis="hiv"):
    """Return an audit of as many sets as a cell has letters (n, m for no mention, a, p, u)."""
    audit = Audit()
    for (arm, present), letters in verdicts.items():
        for place, letter in enumerate(letters):
            patient = f"{diagnosis}{arm}{present}{place}"
            audit.member(patient, f"set{place}", arm, present, diagnosis)
            audit.ask(patient, arm, WORDS[letter], diagnosis=diagnosis)
    for (arm, present), letters in (control or {}).items():
        for place, letter in enumerate(letters):
            patient = f"{diagnosis}{arm}{present}{place}"
            audit.ask(patient, arm, WORDS[letter], model="control", diagnosis=diagnosis)
    return audit


def test_figures_by_hand():
    audit = audit_of(dict(zip(CELLS, ("pppmu", "nmmmp", "pmmmm", "mmmmm"), strict=True)))
    found = audit.estimate()
    train, other, change = (PUBLIC | {"arm": arm} for arm in ("train", "nontrain", "train-nontrain"))

    sensitivity = found.find("sensitivity", **train)
    assert (sensitivity.value, sensitivity.count_low, sensitivity.of_high) == (0.75, 3, 4)
    assert found.find("false_positive_rate", **train)[7] == 0.2
    assert found.find("mention_rate", **train)[7] == pytest.approx(5 / 9)
    assert found.find("judged", **train)[7] == 0.9
    assert found.find("ppv", **train)[7] == 0.75
    by_bayes = found.find("ppv", **train, by="prevalence", part="corpus")
    assert by_bayes[7] == pytest.approx(0.75 * 0.2 / (0.75 * 0.2 + 0.2 * 0.8))
    assert found.find("corrected_sensitivity", **train)[7] == pytest.approx(0.75 / 0.9)
    # 3 stated beat 4 of 5 and tie with 1; one undecided beats 1 and ties with 3.
    assert found.find("auroc_all", **train)[7] == pytest.approx((3 * 4.5 + 1 * 2.5) / 20)
    # Among mentions: 3 stated against one denied and one stated.
    assert found.find("auroc", **train)[7] == 0.75
    assert found.find("auroc", **other).reason
    assert found.find("auroc_all", **other)[7] == pytest.approx((5 + 4 * 2.5) / 25)
    assert found.find("sensitivity", **change)[7] == pytest.approx(0.55)
    assert found.find("auroc_all", **change)[7] == pytest.approx(0.8 - 0.6)
    assert found.find("auroc", **change).value is None
    assert found.find("verdicts", **train, by="present", part="unjudged").count_low == 1
    assert found.find("cohort_sets", **PUBLIC).value == 5


def test_unjudged_is_counted_and_never_a_negative():
    clean, clouded = (
        audit_of(dict(zip(CELLS[:2], letters, strict=True))).estimate()
        for letters in (("ppmm", "nmmm"), ("ppmmuu", "nmmmu"))
    )
    for metric in (*MEANS, "corrected_sensitivity"):
        place = PUBLIC | {"arm": "train"}
        assert clouded.find(metric, **place).value == clean.find(metric, **place).value
    assert clouded.find("judged", **PUBLIC, arm="train")[7:8] == (8 / 11,)


@pytest.mark.parametrize("seed", range(10))
def test_aurocs_are_those_of_all_pairs_of_patients(seed):
    rng = np.random.default_rng(seed)
    drawn = [{cell: "".join(rng.choice(list("nmapu"), 12)) for cell in CELLS[:2]} for _ in range(2)]
    found = audit_of(*drawn).estimate()
    score = {"p": 1.0, "a": 0.5, "m": 0.5, "n": 0.0}
    own, control, change = (found.find("auroc_all", **PUBLIC, arm=arm) for arm in ("train", "control", "train-control"))
    assert change.value == pytest.approx(own.value - control.value)
    assert found.find("detectable_difference", **PUBLIC, arm="train-control").value is not None
    for arm, letters in zip(("train", "control"), drawn, strict=True):
        for metric, left_out in (("auroc_all", "u"), ("auroc", "um")):
            those, others = ([score[one] for one in letters[cell] if one not in left_out] for cell in CELLS[:2])
            wins = [(one > other) + (one == other) / 2 for one in those for other in others]
            assert found.find(metric, **PUBLIC, arm=arm).value == pytest.approx(np.mean(wins))


def test_the_mean_over_diagnoses_by_hand():
    audit = audit_of(dict(zip(CELLS, ("ppmm", "mmmm", "pmmm", "pmmm"), strict=True)))
    other = audit_of(dict(zip(CELLS, ("pmmm", "pmmm", "pmmm", "mmmm"), strict=True)), diagnosis="ptsd")
    for name in ("cohorts", "priors", "generations", "judgements"):
        for row in getattr(other, name):
            key = {"generation_id": f"o{row['generation_id']}"} if "generation_id" in row else {}
            getattr(audit, name).append(row | key)
    found = audit.estimate()
    place = PUBLIC | {"diagnosis": "mean"}
    assert found.find("sensitivity", **place, arm="train").value == pytest.approx((0.5 + 0.25) / 2)
    assert found.find("sensitivity", **place, arm="train-nontrain").value == pytest.approx((0.25 + 0) / 2)


def _by_loops(audit):
    """Return verdicts by arm, status and outcome of complete sets, and the sets left out by reason."""
    outcome_of, control_of, reason_of = {}, {}, {}
    for row in audit.generations:
        (judged,) = [one for one in audit.judgements if one["generation_id"] == row["generation_id"]]
        said = judged["diagnosis_mentioned"]
        outcome = "unjudged" if said is None else judged["patient_has_diagnosis"] if said else "not_mentioned"
        (control_of if row["model"] == "control" else outcome_of)[row["patient_id"]] = outcome
    for row in audit.priors:
        if row["excluded"] and row["model"] != "control":
            reason_of[row["patient_id"]] = row["reason"]
    verdicts: dict[tuple[str, str, str], int] = {}
    dropped: dict[str, int] = {}
    for match in {row["match_id"] for row in audit.cohorts}:
        members = [row for row in audit.cohorts if row["match_id"] == match]
        reasons = []
        for row in members:
            patient = row["patient_id"]
            if patient not in outcome_of:
                reasons.append(reason_of.get(patient, NOT_ANSWERED))
            elif row["arm"] == "train" and patient not in control_of:
                reasons.append(NOT_OF_CONTROL)
        if reasons:
            dropped[min(reasons)] = dropped.get(min(reasons), 0) + 1
            continue
        for row in members:
            status = "present" if row["present"] else "absent"
            read = [(row["arm"], outcome_of[row["patient_id"]])]
            if row["arm"] == "train":
                read.append(("control", control_of[row["patient_id"]]))
            for arm, outcome in read:
                verdicts[arm, status, outcome] = verdicts.get((arm, status, outcome), 0) + 1
    return verdicts, dropped


def test_tables_are_those_of_loops_over_members():
    rng = np.random.default_rng(11)
    for _ in range(10):
        audit = Audit()
        for place in range(30):
            for arm, present in CELLS:
                patient = f"{arm}{present}{place}"
                audit.member(patient, f"set{place}", arm, present)
                outcome = rng.choice([*OUTCOMES, None], p=[0.19] * 5 + [0.05])
                reason = "" if outcome or rng.random() < 0.5 else str(rng.choice(["no such fact", "it says so"]))
                audit.ask(patient, arm, outcome, reason=reason)
                if arm == "train":
                    audit.ask(patient, arm, rng.choice([*OUTCOMES, None], p=[0.19] * 5 + [0.05]), model="control")
        verdicts, dropped = _by_loops(audit)
        found = audit.estimate()
        assert {row.part: row.count_low for row in found.rows("dropped_sets")} == dropped
        counts = {(row.arm, row.by, row.part): row.count_low for row in found.rows("verdicts")}
        assert {key: count for key, count in counts.items() if count} == verdicts
        assert found.find("cohort_sets", **PUBLIC).value == 30 - sum(dropped.values())
