"""Annotation of a history: what is present, what is unknown, and what reveals it; by a judge of single notes."""

from collections.abc import Iterator, Sequence

import pytest

from clinaudit.audit.measures.judge.annotation import Annotation, MedicationRemoval, PatientHistory, annotate_patient
from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.verdict import Judgement, Verdict
from clinaudit.priors.diagnoses import Diagnosis, load_panel

PANEL = load_panel()


@pytest.fixture(scope="module")
def judge() -> LexiconJudge:
    return LexiconJudge(PANEL)


def _annotate(
    judge: LexiconJudge, *notes: str, start: str = "", hpi: str = "", meds: tuple[str, ...] = ()
) -> dict[str, Annotation]:
    rows = annotate_patient(PatientHistory(notes, start, hpi, meds), panel=PANEL, judge=judge)
    assert [row.diagnosis for row in rows] == [diagnosis.id for diagnosis in PANEL]
    return {row.diagnosis: row for row in rows}


def test_a_diagnosis_named_in_any_note_is_present(judge: LexiconJudge) -> None:
    rows = _annotate(judge, "hpi: doing well.", "assessment: generalized anxiety disorder (F41.1).", "no complaints.")
    assert rows["anxiety"].present
    assert rows["anxiety"].diagnosis_spans == ("generalized anxiety disorder",)
    assert rows["anxiety"].icd10_spans == ("F41.1",)
    assert not any(row.present for row in rows.values() if row.diagnosis != "anxiety")


def test_a_misspelled_name_is_a_name(judge: LexiconJudge) -> None:
    row = _annotate(judge, "pmh: deppression (F32.9)")["depression"]
    assert (row.present, row.diagnosis_spans, row.icd10_spans) == (True, ("deppression",), ("F32.9",))


def test_a_code_alone_makes_present(judge: LexiconJudge) -> None:
    row = _annotate(judge, "primary diagnosis: (b20)")["hiv"]
    assert (row.present, row.diagnosis_spans, row.icd10_spans) == (True, (), ("b20",))


@pytest.mark.parametrize(
    ("note", "present"),
    [
        # The patient's own symptom or drug: neither a case nor a control.
        ("patient has crying spells and feels hopeless.", None),
        ("current medications: sertraline 50 mg.", None),
        ("denies depression. current medications: sertraline 50 mg.", None),
        # Asked for, and neither stated nor denied.
        ("Imp: ?depression", None),
        ("Imp: ? depression. Plan: PHQ-9", None),
        ("r/o depression", None),
        ("on setraline 50 mg.", None),
        # Not the patient's.
        ("denies depression.", False),
        ("psychiatric: negative for crying spells, anhedonia and depression.", False),
        ("allergies: sertraline.", False),
        ("family history: mother: positive for depression, takes sertraline ;", False),
        ("depression screening offered.", False),
        ("worried about depression.", False),
        ("no longer tearful.", False),
        ("duloxetine for neuropathic pain.", False),
        ("Fhx -\ndepression", False),
        ("no complaints.", False),
    ],
)
def test_a_drug_a_symptom_or_a_query_is_unknown_and_a_denial_or_a_relative_absent(
    judge: LexiconJudge, note: str, present: bool | None
) -> None:
    row = _annotate(judge, "no complaints.", note, "no complaints.")["depression"]
    assert row.present is present
    assert row.diagnosis_spans == ()
    # What another note names stands, whatever this one gives.
    assert _annotate(judge, "major depression.", note)["depression"].present is True


def test_symptoms_and_drugs_are_listed_verbatim_and_once(judge: LexiconJudge) -> None:
    row = _annotate(judge, "Crying Spells. Zoloft 50", "crying spells again; Zoloft 100")["depression"]
    assert row.symptom_spans == ("Crying Spells", "crying spells")
    assert row.medication_spans == ("Zoloft",)


def test_where_the_latest_note_refers_to_it(judge: LexiconJudge) -> None:
    rows = _annotate(judge, "x", start="cc: follow-up of PTSD", hpi="takes lithium; crying spells")
    assert (rows["ptsd"].in_note_start, rows["ptsd"].in_hpi) == (True, False)
    assert (rows["bipolar"].in_note_start, rows["bipolar"].in_hpi) == (False, True)
    # A symptom does not refer to the diagnosis.
    assert not rows["depression"].in_hpi


def test_revealing_medications_are_named_for_negatives_too(judge: LexiconJudge) -> None:
    rows = _annotate(judge, "no concerns.", meds=("Biktarvy 50-200-25 mg daily", "lisinopril 10 mg", "Zoloft 50 mg"))
    assert not rows["hiv"].present
    assert rows["hiv"].medications_to_remove == (
        MedicationRemoval("Biktarvy 50-200-25 mg daily", "primarily used for HIV"),
    )
    assert [removal.substring for removal in rows["depression"].medications_to_remove] == ["Zoloft 50 mg"]
    assert rows["abortion"].medications_to_remove == ()


class ByEvidence:
    """Reads every note as positive for what is asked, by evidence that names nothing."""

    name = "evidence"

    def identity(self) -> dict[str, str]:
        return {"kind": self.name}

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Judgement]:
        for text, _ in items:
            yield Judgement(Verdict(True, "positive", evidence_spans=(text,)), self.name, 1, None)


def test_what_is_read_without_a_name_makes_no_case_and_no_control() -> None:
    history = PatientHistory(["back on the tablets"], "", "", ())
    assert {row.present for row in annotate_patient(history, panel=PANEL, judge=ByEvidence())} == {None}


@pytest.mark.parametrize(("entry", "present"), [("Zoloft 50 mg", None), ("lisinopril 10 mg", False)])
def test_a_drug_of_the_medication_list_leaves_no_control(judge: LexiconJudge, entry: str, present: bool | None) -> None:
    assert _annotate(judge, "no complaints.", meds=(entry,))["depression"].present is present


class SilentOn:
    """The lexicon judge, but for notes that hold a word: those it leaves unjudged."""

    name = "silent"

    def __init__(self, word: str) -> None:
        self._word = word
        self._judge = LexiconJudge(PANEL)

    def identity(self) -> dict[str, str]:
        return {"kind": self.name}

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Judgement]:
        for (text, _), judgement in zip(items, self._judge.judge_many(items), strict=True):
            yield Judgement(None, self.name, 2, "no answer") if self._word in text else judgement


def test_an_unjudged_note_leaves_unknown_what_no_other_note_states() -> None:
    notes = ("assessment: PTSD.", "illegible.", "denies depression.")
    history = PatientHistory(notes, note_start="", hpi="", medications=())
    rows = annotate_patient(history, panel=PANEL, judge=SilentOn("illegible"))
    present = {row.diagnosis: row.present for row in rows}
    assert present == {**dict.fromkeys(present, None), "ptsd": True}
    rows = annotate_patient(history, panel=PANEL, judge=SilentOn("nothing of the kind"))
    assert {row.diagnosis: row.present for row in rows} == {**dict.fromkeys(present, False), "ptsd": True}


def test_no_notes_and_an_empty_panel(judge: LexiconJudge) -> None:
    assert not any(row.present for row in _annotate(judge).values())
    assert annotate_patient(PatientHistory(["x"], "", "", ()), panel=(), judge=judge) == []
