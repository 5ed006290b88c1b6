"""The labels of all patients in the evidence: what is known, where from, and why not."""

from dataclasses import replace
from typing import Any

from clinaudit.audit.measures.judge.annotation import PatientHistory, annotate_patient
from clinaudit.audit.measures.judge.annotation_prompt import unknown_annotations
from clinaudit.audit.measures.judge.labels import Labels, label_rows
from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.priors.diagnoses import load_panel

PANEL = load_panel(only=["depression", "hiv"])
#: `label_rows` takes the patients of the corpus from it, and nothing else.
FACTS: dict[str, Any] = {"b": None, "a": None}


def test_a_table_gives_every_patient_a_row_for_every_diagnosis() -> None:
    labels = Labels("table", {"a": {"hiv": False}, "b": {"depression": True}}, {})
    no_row = "the diagnoses table has no row"
    assert [tuple(row.values()) for row in label_rows(labels, FACTS, PANEL)] == [
        ("a", "depression", None, None, no_row),
        ("a", "hiv", False, "table", None),
        ("b", "depression", True, "table", None),
        ("b", "hiv", None, None, no_row),
    ]


def test_labels_from_notes_say_why_one_is_unknown() -> None:
    history = PatientHistory(["HIV, stable. Takes sertraline."], "", "", ())
    annotations = {
        "a": annotate_patient(history, panel=PANEL, judge=LexiconJudge(PANEL)),
        "b": unknown_annotations(PANEL),
    }
    status = {"a": {"hiv": True}, "b": {}}
    rows = list(label_rows(Labels("lexicon", status, annotations), FACTS, PANEL))
    assert [(row["present"], row["reason"]) for row in rows] == [
        (None, "the notes do not name it, but give a drug or a symptom of it"),
        (True, None),
        (None, "the judge gave no usable answer"),
        (None, "the judge gave no usable answer"),
    ]
    assert {row["source"] for row in rows} == {"lexicon"}
    unread = {"a": [replace(row, present=None, medication_spans=()) for row in annotations["a"]], "b": []}
    reason = next(label_rows(Labels("lexicon", {}, unread), FACTS, PANEL))["reason"]
    assert reason == "some note asks whether the patient has it, or was not judged"
