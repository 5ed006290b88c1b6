"""The labels of all patients in the evidence: what is known, where from, and why not."""

from dataclasses import asdict, replace

from clinaudit.audit.measures.judge.annotation import PatientHistory, annotate_patient
from clinaudit.audit.measures.judge.annotation_prompt import unknown_annotations
from clinaudit.audit.measures.judge.labels import (
    HINTED,
    NO_ANSWER,
    OPEN,
    labels_of_annotations,
)
from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.runtime.run.evidence_tables import as_table
from clinaudit.priors.diagnoses import load_panel

PANEL = load_panel(only=["depression", "hiv"])


def test_labels_from_notes_say_why_one_is_unknown():
    history = PatientHistory(["HIV, stable. Takes sertraline."], "", "", ())
    read = annotate_patient(history, panel=PANEL, judge=LexiconJudge(PANEL))
    annotations = {
        "b": unknown_annotations(PANEL),
        "a": read,
        "c": [replace(row, present=None, medication_spans=()) for row in read],
    }
    rows = [{"patient_id": who, **asdict(row)} for who, of_patient in annotations.items() for row in of_patient]
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
