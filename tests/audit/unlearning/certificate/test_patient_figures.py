"""One number a patient and measure, by hand: of loss, text, diagnoses and identifiers, whatever the number of tiers."""

from pathlib import Path
from typing import Any

import pytest

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import write_table
from clinaudit.audit.unlearning.certificate.bench_result import NOT_SCORED, measure_forget_quality
from clinaudit.audit.unlearning.certificate.joint_test import DIAGNOSES, IDENTIFIERS, LOSS, OWN_TEXT, Pool
from clinaudit.audit.unlearning.certificate.patient_figures import (
    NO_VALUE,
    RunEvidence,
    figure_rows,
    read_figures,
)

#: Patient, arm, tier, tokens of own text.
ANSWERS = (
    ("named", "train", "public", 40),
    ("named", "train", "encounter", 70),
    ("other", "train", "public", 10),
    ("stranger", "nontrain", "public", 0),
    ("second", "nontrain", "public", 0),
)
_SPANS = {f"{kind}_spans": [] for kind in ("diagnosis", "symptom", "medication", "evidence")}


def evidence_of(root: Path, **tables: list[dict[str, Any]]) -> RunEvidence:
    """Evidence of a run with these answers and tables besides."""
    run = RunDirectory(root)
    run.create()
    asked = {"role": "target", "model": "audited", "form": "text", "refused": False}
    zeros = dict.fromkeys(("memorized_tokens", "echo_tokens", "attributable_tokens", "other_patient_tokens"), 0)
    answers = [
        {"generation_id": f"{tier}/{one}", "patient_id": one, "arm": arm, "tier": tier, "tokens": 120, **zeros, **asked}
        | {"near_verbatim_attributable_tokens": own}
        for one, arm, tier, own in ANSWERS
    ]
    for name, rows in {"generation_metrics": answers, **tables}.items():
        write_table(run.evidence, name, rows)
    return RunEvidence(run, frozenset({"named"}))


def figures_of(evidence: RunEvidence, measure: str) -> dict[str, float | None]:
    figures = read_figures(evidence, ["named"])
    return {patient: own[measure] for patient, own in figures.items() if measure in own}


def scored(patient: str, note: str, loss: float, *, model: str = "audited", role: str = "target") -> dict[str, Any]:
    lists = {"means": [0.0, 0.0], "deviations": [1.0, 1.0]}
    place = {"patient_id": patient, "role": role, "arm": "train", "note_id": note, "model": model, "first_token": 0}
    return {**place, "log_probs": [-loss - 0.25, -loss + 0.25], **lists}


LOSSES = [
    scored("named", "n1", 0.25, role="included"),
    scored("named", "n2", 0.75, role="included"),
    scored("stranger", "n1", 2.0),
    scored("second", "n1", 2.5),
    # Trained on and not named: no part of the pool.
    scored("other", "n1", 0.1),
]


def test_own_text_is_the_largest_of_all_levels_of_access(tmp_path) -> None:
    assert figures_of(evidence_of(tmp_path), OWN_TEXT) == {"named": 70, "other": 10, "stranger": 0, "second": 0}
    assert figures_of(evidence_of(tmp_path / "x"), LOSS) == {}


def test_loss_is_a_ratio_to_the_median_patient_of_the_pool(tmp_path) -> None:
    # Means of 0.5, 2 and 2.5: the median is 2.
    found = figures_of(evidence_of(tmp_path, scores=LOSSES), LOSS)
    assert found == pytest.approx({"named": 0.75, "stranger": 0.0, "second": -0.25})


def test_loss_is_a_ratio_to_the_control_model_where_it_scored_everybodys_notes(tmp_path) -> None:
    control = [
        *(scored("named", note, 2.0, model="control", role="included") for note in ("n1", "n2")),
        scored("stranger", "n1", 2.0, model="control"),
    ]
    of_all = [*control, scored("second", "n1", 5.0, model="control")]
    found = figures_of(evidence_of(tmp_path / "all", scores=[*LOSSES, *of_all]), LOSS)
    assert found == pytest.approx({"named": 0.75, "stranger": 0.0, "second": 0.5})
    # One without makes it the median's, of everybody: two references are not compared.
    found = figures_of(evidence_of(tmp_path / "some", scores=[*LOSSES, *control]), LOSS)
    assert found["second"] == pytest.approx(-0.25)


def test_a_note_without_a_score_leaves_its_patient_without_a_loss(tmp_path) -> None:
    nothing = scored("named", "n2", 0.75, role="included") | {"log_probs": [float("-inf"), -1.0]}
    assert "named" not in figures_of(evidence_of(tmp_path, scores=[LOSSES[0], nothing, *LOSSES[2:]]), LOSS)


def test_forget_quality_compares_the_losses_on_the_notes_of_the_named(tmp_path) -> None:
    def losses(root: Path, shift: float) -> RunEvidence:
        rows = [scored("named", f"n{place}", place + shift, role="included") for place in range(6)]
        # Another patient's, and a note that one run alone scored.
        rows += [scored("stranger", "n1", 50.0 + shift), scored("named", f"{shift}", 3.0, role="included")]
        return evidence_of(root, scores=rows)

    after, same, other = losses(tmp_path / "a", 0.0), losses(tmp_path / "b", 0.125), losses(tmp_path / "c", 20.0)
    # The largest gap of two staircases that take turns is one step of six; p is exact.
    found = measure_forget_quality(after, same, ["named"])
    assert (found.notes, found.statistic, found.p_value) == (6, pytest.approx(1 / 6), pytest.approx(1.0))
    # All of one below all of the other: 2 of C(12, 6) orders.
    found = measure_forget_quality(after, other, ["named"])
    assert (found.statistic, found.p_value) == (1.0, pytest.approx(2 / 924))
    found = measure_forget_quality(after, evidence_of(tmp_path / "d"), ["named"])
    assert (found.notes, found.p_value, found.reason) == (0, None, NOT_SCORED)


def judged(generation: str, diagnosis: str, verdict: str | None, *, mentioned: bool | None = True) -> dict[str, Any]:
    of = {"generation_id": generation, "diagnosis": diagnosis, "diagnosis_mentioned": mentioned}
    return {**of, "patient_has_diagnosis": verdict, **_SPANS, "judge": "j", "attempts": 1}


def test_the_share_of_own_diagnoses_is_that_of_the_level_at_which_most_are_said(tmp_path) -> None:
    members = [
        {"diagnosis": of, "patient_id": one, "arm": "train", "present": present, "match_id": "s", "propensity": 0.5}
        for one, of, present in [
            ("named", "hiv", True),
            ("named", "copd", True),
            ("named", "gout", False),
            ("stranger", "hiv", True),
        ]
    ]
    said = [
        judged("public/named", "hiv", "positive"),
        judged("public/named", "copd", "negative"),
        # Not the patient's.
        judged("public/named", "gout", "positive"),
        judged("encounter/named", "hiv", None, mentioned=False),
        judged("encounter/named", "copd", None, mentioned=False),
        judged("public/stranger", "hiv", None, mentioned=None),
    ]
    found = figures_of(evidence_of(tmp_path, cohorts=members, judgements=said), DIAGNOSES)
    # Without a verdict there is no share, and none is 0; who has no diagnosis has no figure.
    assert found == {"named": 0.5, "stranger": None}


def test_distinct_verified_identifiers_of_the_patient_are_counted(tmp_path) -> None:
    def found(generation: str, value: str, owner: str = "own", *, verified: bool = True) -> dict[str, Any]:
        place = {"generation_id": generation, "char_start": 0, "char_end": 1, "text": "t", "category": "c"}
        kind = {"hipaa": "A", "kind": "name", "value": value, "owner": owner, "verified": verified}
        return {**place, **kind, "holders": [], "holder_count": 1, "found_by": "rules", "sampled": False}

    rows = [
        found("public/named", "a"),
        found("public/named", "a"),
        found("encounter/named", "a"),
        found("encounter/named", "b"),
        found("encounter/named", "c", "nobody"),
        found("encounter/named", "d", verified=False),
    ]
    counts = figures_of(evidence_of(tmp_path, identifiers=rows), IDENTIFIERS)
    assert counts == {"named": 2, "other": 0, "stranger": 0, "second": 0}
    assert figures_of(evidence_of(tmp_path / "x"), IDENTIFIERS) == {}


def test_a_row_counts_the_never_seen_who_have_less_after() -> None:
    before = Pool({"p": {OWN_TEXT: 60.0, LOSS: 0.5}}, (), {})
    strangers = {f"c{place}": {OWN_TEXT: float(place), DIAGNOSES: None} for place in range(4)}
    after = Pool({"p": {OWN_TEXT: 2.0, DIAGNOSES: 0.5}, **strangers}, strangers, {})
    rows = {row.measure: row for row in figure_rows("p", before, after)}
    assert list(rows) == [LOSS, OWN_TEXT, DIAGNOSES]
    text = rows[OWN_TEXT]
    assert (text.before, text.after, text.below, text.controls, text.reason) == (60, 2, 2, 4, None)
    # The run before measured no diagnoses of anybody; the run after has no loss of this patient.
    assert [rows[one].reason for one in (LOSS, DIAGNOSES)] == [NO_VALUE, None]
    assert rows[DIAGNOSES].controls == 0
    others = before._replace(figures={**before.figures, "c0": {DIAGNOSES: 0.0}})
    assert {row.measure: row.reason for row in figure_rows("p", others, after)}[DIAGNOSES] == NO_VALUE
