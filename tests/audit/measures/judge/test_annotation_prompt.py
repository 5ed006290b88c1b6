"""The question about a whole history (Appendix G): what of it is sent, and which answers its notes bear out."""

import json

import pytest
from support.servers import fault_server
from support.servers.fault_server import says
from support.servers.served_judging import DEPRESSION, PANEL, judge_at

from clinaudit.audit.measures.judge.labels import PatientHistory
from clinaudit.audit.measures.judge.served_judge import ask_about_history

HISTORY = PatientHistory(
    notes=["hx of depression (F33.1)", "takes zoloft"],
    note_start="cc: depression",
    hpi="",
    medications=["zoloft 50 mg daily", "insulin"],
)
READ = ask_about_history(HISTORY, PANEL)[1]


def entries(**depression):
    lists = ("diagnosis_spans", "icd10_spans", "symptom_spans", "medication_spans", "medications_to_remove")
    empty = dict.fromkeys(("present", "in_note_start", "in_hpi"), False) | {name: [] for name in lists}
    return annotation_answer({item.id: {**empty, **(depression if item is DEPRESSION else {})} for item in PANEL})


def annotation_answer(diagnoses):
    """The answer as the question about `HISTORY` asks for it."""
    asked = fault_server.ASKED.search(ask_about_history(HISTORY, PANEL)[0].user)
    assert asked
    return json.dumps({"question": asked[1], "diagnoses": diagnoses})


def test_an_annotation_holds_what_the_answer_says():
    answer = entries(
        present=True,
        in_note_start=True,
        diagnosis_spans=["hx of depression", "hx of depression"],
        icd10_spans=["F33.1"],
        medication_spans=["zoloft"],
        medications_to_remove=[{"substring": "zoloft", "reason": "an antidepressant"}],
    )
    rows = READ(answer)
    assert [row["diagnosis"] for row in rows] == [item.id for item in PANEL]
    row = next(row for row in rows if row["diagnosis"] == "depression")
    assert (row["present"], row["in_note_start"], row["in_hpi"]) == (True, True, False)
    assert [*row["diagnosis_spans"], *row["icd10_spans"], *row["medication_spans"]] == [
        "hx of depression",
        "F33.1",
        "zoloft",
    ]
    assert row["medications_to_remove"] == [{"substring": "zoloft", "reason": "an antidepressant"}]
    assert not any(other["present"] for other in rows if other is not row)


@pytest.mark.parametrize(
    ("field", "span"),
    [
        ("medication_spans", "zoloft"),
        ("symptom_spans", "hx"),
        # A drug of the patient's own list is a drug that the notes give.
        ("medications_to_remove", {"substring": "zoloft", "reason": "x"}),
    ],
)
def test_what_is_not_stated_but_hinted_at_is_unknown(field, span):
    rows = READ(entries(**{field: [span]}))
    assert {row["diagnosis"]: row["present"] for row in rows} == {
        item.id: None if item is DEPRESSION else False for item in PANEL
    }


@pytest.mark.parametrize(
    ("entry", "piece", "is_drug"),
    [
        ("zoloft 50 mg daily", "zoloft 50 mg", True),
        ("sertraline (Zoloft) 50 mg", "Zoloft", True),
        ("TAB sertraline 50 mg", "sertraline", True),
        ("1. buprenorphine/naloxone 8 mg", "naloxone", True),
        ("TAB sertraline 50 mg", "TAB", False),
        ("lisinopril for blood pressure", "blood pressure", False),
        ("insulin at bedtime", "bedtime", False),
        ("once daily", "once daily", False),
    ],
)
def test_only_what_names_a_drug_is_taken_from_all_lists(entry, piece, is_drug):
    history = PatientHistory(["note"], note_start="", hpi="", medications=["aspirin", entry])
    answer = {item.id: json.loads(entries())["diagnoses"][item.id] for item in PANEL}
    answer["depression"]["medications_to_remove"] = [{"substring": piece, "reason": "x"}]
    asked = fault_server.ASKED.search(ask_about_history(history, PANEL)[0].user)
    assert asked
    read = ask_about_history(history, PANEL)[1](json.dumps({"question": asked[1], "diagnoses": answer}))
    assert isinstance(read, str) is not is_drug


@pytest.mark.parametrize(
    ("older", "present"),
    [
        ("seen for a cough", False),
        ("takes sertraline", None),
        ("crying spells", None),
        ("hx of depression", None),
        ("denies depression", None),
    ],
)
def test_what_only_a_note_brings_up_that_the_judge_was_not_given_is_unknown(server, cache, older, present):
    judge = judge_at(server, note_tokens=10)
    judge.use_cache(cache)
    history = PatientHistory([older, "no complaints. " * 2], "", "", [])
    (rows,) = judge.annotate_many(lambda: [history], PANEL)
    assert older not in server.seen[0][1]["messages"][-1]["content"]
    assert {row["diagnosis"]: row["present"] for row in rows} == {
        item.id: present if item is DEPRESSION else False for item in PANEL
    }


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("{}", "schema"),
        (annotation_answer({}), "keys"),
        (
            annotation_answer({**(own := json.loads(entries())["diagnoses"]), "gout": own["hiv"]}),
            "keys",
        ),
        (json.dumps({**json.loads(entries()), "question": "Q00000000"}), "does not repeat the id"),
        (entries(present="true"), "schema"),
        (entries(more=1), "schema"),
        (entries(present=True), "without diagnosis_spans or icd10_spans"),
        # A symptom or a drug alone does not make it present (Appendix G).
        (entries(present=True, symptom_spans=["hx"]), "without diagnosis_spans or icd10_spans"),
        (entries(present=True, medication_spans=["zoloft"]), "without diagnosis_spans or icd10_spans"),
        (entries(diagnosis_spans=["hx of depression"]), "not present, but"),
        (entries(present=True, diagnosis_spans=["history of depression"]), "in none of the notes"),
        # Not over the border of two notes.
        (entries(present=True, diagnosis_spans=["(F33.1)\n\n[note 2]"]), "in none of the notes"),
        (entries(symptom_spans=[""]), "empty span"),
        (entries(in_hpi=True), "part that is empty"),
        (entries(medications_to_remove=[{"substring": "prozac", "reason": "x"}]), "names no drug of"),
        (entries(medications_to_remove=[{"substring": "in", "reason": "x"}]), "names no drug of"),
        (entries(medications_to_remove=[{"substring": "sulin", "reason": "x"}]), "names no drug of"),
        (entries(medications_to_remove=[{"substring": "daily; insulin", "reason": "x"}]), "names no drug of"),
        *(
            (entries(medications_to_remove=[{"substring": piece, "reason": "x"}]), "names no drug of")
            for piece in ("daily", "50 mg", "50", " mg", "mg daily")
        ),
        (entries(medications_to_remove=[{"substring": "zoloft"}]), "schema"),
        (entries(symptom_spans=["."]), "tells nothing"),
        (entries(symptom_spans=["epr"]), "piece of a word"),
    ],
)
def test_an_annotation_that_the_notes_do_not_bear_out_is_refused(answer, reason):
    read = READ(answer)
    assert reason in read


def test_patients_are_annotated_in_order_and_an_unusable_answer_leaves_all_unknown(server, cache):
    def histories():
        return [
            PatientHistory([f"{number} (f33.1)"], "", "", []) if number % 2 else PatientHistory(["fine"], "", "", [])
            for number in range(6)
        ]

    server.faults["[note 1]\n3 (f33.1)"] = [says("no")] * 2
    judge = judge_at(server)
    judge.use_cache(cache)
    rows = list(judge.annotate_many(histories, PANEL))
    present = [next(row["present"] for row in of if row["diagnosis"] == "depression") for of in rows]
    assert present == [False, True, False, None, False, True]
    assert {(row["present"], row["in_note_start"], row["in_hpi"]) for row in rows[3]} == {(None, None, None)}


def test_a_thought_before_an_answer_about_a_history_is_taken_off_and_said(server, capsys):
    server.always = says(f"<think>Let me see.</think>{entries()}")
    (rows,) = judge_at(server).annotate_many(lambda: [HISTORY], PANEL)
    assert {row["present"] for row in rows} == {False}
    assert capsys.readouterr().err.count("a thought (<think>) stands before answers") == 1
