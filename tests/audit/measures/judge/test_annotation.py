"""Annotation of a history by a judge of single notes: what is present, unknown or revealing, and the labels of all."""

import pytest
from support.cases import read_cases

from clinaudit.audit.measures.judge.labels import (
    HINTED,
    NO_ANSWER,
    OPEN,
    UNKNOWN,
    PatientHistory,
    annotate_patient,
    labels_of_annotations,
)
from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.verdict import Verdict
from clinaudit.audit.runtime.run.evidence_tables import as_table
from clinaudit.priors.diagnoses import load_panel

PANEL = load_panel()


@pytest.fixture(scope="module")
def judge():
    return LexiconJudge(PANEL)


def _annotate(judge, *notes, start="", hpi="", meds=()):
    rows = annotate_patient(PatientHistory(notes, start, hpi, meds), panel=PANEL, judge=judge)
    assert [row["diagnosis"] for row in rows] == [diagnosis.id for diagnosis in PANEL]
    return {row["diagnosis"]: row for row in rows}


def test_a_diagnosis_named_in_any_note_is_present(judge):
    rows = _annotate(judge, "hpi: doing well.", "assessment: generalized anxiety disorder (F41.1).", "no complaints.")
    assert rows["anxiety"]["present"]
    assert rows["anxiety"]["diagnosis_spans"] == ("generalized anxiety disorder",)
    assert rows["anxiety"]["icd10_spans"] == ("F41.1",)
    assert not any(row["present"] for row in rows.values() if row["diagnosis"] != "anxiety")


@pytest.mark.parametrize(("note", "said"), read_cases("measure_cases.txt")["annotated"])
def test_a_drug_a_symptom_or_a_query_is_unknown_and_a_denial_or_a_relative_absent(judge, note, said):
    row = _annotate(judge, "no complaints.", note, "no complaints.")["depression"]
    assert row["present"] is {"unknown": None, "absent": False}[said]
    assert row["diagnosis_spans"] == ()
    # What another note names stands, whatever this one gives.
    assert _annotate(judge, "major depression.", note)["depression"]["present"] is True


def test_where_the_latest_note_refers_to_it(judge):
    rows = _annotate(judge, "x", start="cc: follow-up of PTSD", hpi="takes lithium; crying spells")
    assert (rows["ptsd"]["in_note_start"], rows["ptsd"]["in_hpi"]) == (True, False)
    assert (rows["bipolar"]["in_note_start"], rows["bipolar"]["in_hpi"]) == (False, True)
    # A symptom does not refer to the diagnosis.
    assert not rows["depression"]["in_hpi"]


def test_revealing_medications_are_named_for_negatives_too(judge):
    rows = _annotate(judge, "no concerns.", meds=("Biktarvy 50-200-25 mg daily", "lisinopril 10 mg", "Zoloft 50 mg"))
    assert not rows["hiv"]["present"]
    assert rows["hiv"]["medications_to_remove"] == (
        {"substring": "Biktarvy 50-200-25 mg daily", "reason": "primarily used for HIV"},
    )
    assert [removal["substring"] for removal in rows["depression"]["medications_to_remove"]] == ["Zoloft 50 mg"]
    assert rows["abortion"]["medications_to_remove"] == ()


class ByEvidence:
    """Reads every note as positive for what is asked, by evidence that names nothing."""

    name = "evidence"

    def identity(self):
        return {"kind": self.name}

    def judge_many(self, items):
        for text, _ in items:
            yield Verdict(True, "positive", evidence_spans=(text,))


def test_what_is_read_without_a_name_makes_no_case_and_no_control():
    history = PatientHistory(["back on the tablets"], "", "", ())
    assert {row["present"] for row in annotate_patient(history, panel=PANEL, judge=ByEvidence())} == {None}


class SilentOn:
    """The lexicon judge, but for notes that hold a word: those it leaves unjudged."""

    name = "silent"

    def __init__(self, word):
        self._word = word
        self._judge = LexiconJudge(PANEL)

    def identity(self):
        return {"kind": self.name}

    def judge_many(self, items):
        for (text, _), verdict in zip(items, self._judge.judge_many(items), strict=True):
            yield Verdict(None, attempts=2, invalid_reason="no answer") if self._word in text else verdict


def test_an_unjudged_note_leaves_unknown_what_no_other_note_states():
    notes = ("assessment: PTSD.", "illegible.", "denies depression.")
    history = PatientHistory(notes, note_start="", hpi="", medications=())
    rows = annotate_patient(history, panel=PANEL, judge=SilentOn("illegible"))
    present = {row["diagnosis"]: row["present"] for row in rows}
    assert present == {**dict.fromkeys(present, None), "ptsd": True}
    rows = annotate_patient(history, panel=PANEL, judge=SilentOn("nothing of the kind"))
    assert {row["diagnosis"]: row["present"] for row in rows} == {**dict.fromkeys(present, False), "ptsd": True}


TWO = load_panel(only=["depression", "hiv"])


def test_labels_from_notes_say_why_one_is_unknown():
    history = PatientHistory(["HIV, stable. Takes sertraline."], "", "", ())
    read = annotate_patient(history, panel=TWO, judge=LexiconJudge(TWO))
    annotations = {
        "b": [{"diagnosis": diagnosis.id, **UNKNOWN} for diagnosis in TWO],
        "a": read,
        "c": [{**row, "present": None, "medication_spans": ()} for row in read],
    }
    rows = [{"patient_id": who, **row} for who, of_patient in annotations.items() for row in of_patient]
    labels = labels_of_annotations(as_table("annotations", rows), source="lexicon")
    assert labels.select("patient_id", "present", "reason").rows() == [
        ("a", None, HINTED),
        ("a", True, None),
        ("b", None, NO_ANSWER),
        ("b", None, NO_ANSWER),
        ("c", None, OPEN),
        ("c", None, OPEN),
    ]
    assert set(labels["source"]) == {"lexicon"}
