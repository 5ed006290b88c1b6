"""The labels of all patients in the evidence: what is known, where from, and why not."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from support.patient_facts import NOTE, PROFILE, TIER, corpus_of, facts_of, note_rows, writer_of

from clinaudit.audit.measures.judge.annotation import PatientHistory, annotate_patient
from clinaudit.audit.measures.judge.annotation_prompt import unknown_annotations
from clinaudit.audit.measures.judge.labels import (
    HINTED,
    NO_ANSWER,
    NO_ROW,
    OPEN,
    Annotator,
    labels_of_annotations,
    labels_of_table,
)
from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.runtime.run.evidence_tables import as_table
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.diagnoses import load_panel

PANEL = load_panel(only=["depression", "hiv"])


def test_a_table_gives_every_patient_a_row_for_every_diagnosis(tmp_path: Path) -> None:
    notes = note_rows([("a", "cc: cough\n"), ("b", "cc: cough\n")])
    assert labels_of_table(corpus_of(tmp_path, notes), PANEL) is None
    table = "patient_id,diagnosis,present\na,hiv,false\nb,depression,true\nb,anxiety,true\n"
    (tmp_path / "diagnoses.csv").write_text(table, encoding="utf-8")
    labels = labels_of_table(corpus_of(tmp_path, notes), PANEL)
    assert labels is not None
    assert labels.rows() == [
        ("a", "depression", None, None, NO_ROW),
        ("a", "hiv", False, "table", None),
        ("b", "depression", True, "table", None),
        ("b", "hiv", None, None, NO_ROW),
    ]


def test_labels_from_notes_say_why_one_is_unknown() -> None:
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


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("with_history", [True, False])
def test_a_judge_is_shown_as_the_opening_what_a_prompt_with_the_complaint_shows(
    tmp_path: Path, ending: str, *, with_history: bool
) -> None:
    note = NOTE if with_history else NOTE.replace("hpi: 64-year-old female, tired.\n", "")
    known = facts_of(tmp_path, note.replace("\n", ending))
    history = Annotator("lexicon", LexiconJudge(PANEL), PANEL, read_corpus(tmp_path))._history_of(known)
    (prompt,) = writer_of(PROFILE).write(known, TIER["encounter_cc"], [], "text")
    # The prompt runs on through the header that follows.
    assert history.note_start.splitlines()[:7] == prompt.prompt.splitlines()[:7]
    assert "psychiatric" not in history.note_start
    assert bool(history.hpi) is with_history
