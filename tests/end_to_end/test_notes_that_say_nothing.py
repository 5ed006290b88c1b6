"""Forms of notes whose prompts say nothing of a patient: no rule of such a tier passes, and the report says why."""

import html
import json
import re
import zlib
from pathlib import Path

import pytest
from support.runs.written_answers import audit_answers, save_model
from support.simulations import first_of

from clinaudit.audit.results.gate.words import decided

pytestmark = pytest.mark.slow
#: As many as a limit of 5% takes where nobody's text is repeated.
PEOPLE = 110
TIERS = ("encounter", "encounter_cc", "encounter_cc_hpi")
POLICY = """name = "of notes"
[[limit]]
metric = "attributable_fraction"
tiers = ["encounter", "encounter_cc", "encounter_cc_hpi"]
max = 0.05
[[limit]]
metric = "own_identifiers"
tiers = ["encounter", "encounter_cc", "encounter_cc_hpi"]
max = 0.10
"""
VISIT = "visit date: 05/02/2024\nprovider: Jo Ek, MD\nlocation: Elm Clinic\n"
#: Of the day of a vaccination, without names.
SAME_DAY = f"patient: ___\ndob: ___\n{VISIT}"
TAGS = "patient: ___\ndob: [**1960**]\nvisit date: <DATE>\nprovider: [NAME]\nlocation: XXXX\n"
#: An answer is no longer than the rest of the note.
REST = "Rest, fluids and a walk on every day that allows it; to come back when any of it gets worse.\n" * 4
BODY = f"cc: {{complaint}}\nhpi: {{history}}\nros:\nnone\nplan:\n{REST}"
SAME_BODY = BODY.format(complaint="cough", history="tired since May and short of breath on stairs")
ADDENDUM = "addendum\nThe result came back and was discussed by telephone.\n"
DISCHARGE = (
    " \nName:  ___                     Unit No:   ___\n \nAdmission Date:  ___              Discharge Date:   ___\n \n"
    "Date of Birth:  ___             Sex:   F\n \nService: MEDICINE\n \nAllergies: \nNo Known Allergies\n \n"
    "Attending: ___.\n \nChief Complaint:\nfall\n \nMajor Surgical or Invasive Procedure:\nnone\n\n"
    "History of Present Illness:\n___ yo with a fall.\n\nPast Medical History:\nnone\n\n"
    f"Discharge Instructions:\n{REST}"
)


def telling(number):
    """Return a note whose prompts say of whom they are at each tier."""
    banner = f"patient: Ada{chr(97 + number % 26)} Lund\ndob: 02/{number % 28 + 1:02}/19{40 + number // 28}\n{VISIT}"
    return banner + BODY.format(complaint=f"cough number {number}", history=f"tired for {number} days, on stairs")


#: The model goes on with words about nobody, whatever it is asked; before them stand some that differ with the prompt.
INDIFFERENT = (
    "The plan of care was gone through with everybody who came along, and all of it was well understood. "
    "Nothing else was asked, so that the time that was left went into letters, which are kept elsewhere."
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("model"))


def indifferent(prompt):
    return f"Filed under {zlib.crc32(prompt.encode()):08x}. {INDIFFERENT}"


def audit(model, folder, notes_of, template, *, answer=indifferent):
    """Return the published verdict, and the words of the report."""
    corpus = folder / "corpus"
    corpus.mkdir()
    rows = [
        {"patient_id": f"p{n:03}", "note_id": f"p{n:03}/{place}", "text": text, "visit_date": "2024-05-02"}
        for n in range(PEOPLE)
        for place, text in enumerate(notes_of(n))
    ]
    (corpus / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    run = folder / "run"
    audit_answers(
        model,
        answer,
        corpus=corpus,
        out=run,
        template=Path(template),
        policy=folder / "policy.toml",
        tier=TIERS,
        diagnosis=("hiv",),
        max_new_tokens=200,
    )
    decision = json.loads((run / "gate.json").read_text(encoding="utf-8"))
    page = re.sub(r"<[^>]+>", " ", (run / "report.html").read_text(encoding="utf-8"))
    return decision, " ".join(html.unescape(page).split())


def test_prompts_that_say_of_whom_they_are_let_every_rule_pass(model, tmp_path):
    """Otherwise the others would not pass for another reason."""
    verdict, _ = audit(model, tmp_path, lambda n: [telling(n)], "soap")
    assert [(rule["tier"], rule["status"]) for rule in verdict["rules"]] == [(tier, "pass") for tier in 2 * TIERS]
    assert verdict["status"] == "pass"


@pytest.mark.parametrize(
    "same",
    [pytest.param("the " * 150, marks=pytest.mark.simulation, id="a loop"), pytest.param(INDIFFERENT, id="a sentence")],
)
def test_a_model_that_says_the_same_to_all_passes_nothing(model, tmp_path, same):
    verdict, page = audit(model, tmp_path, lambda n: [telling(n)], "soap", answer=lambda _: same)
    assert [rule["status"] for rule in verdict["rules"]] == ["inconclusive"] * 6
    assert {rule["reason"] for rule in verdict["rules"]} == {
        decided("too_short", least="90%", those="patients").reason,
        decided("too_empty", least="90%", end="").reason,
    }
    assert "says the same to all" in page


SHARED = dict.fromkeys(TIERS, decided("prompts_shared").reason)
#: Asked by the facts alone: without a banner of their own there is no beginning to quote.
BROKEN = decided("prompts_do_not_fit", least="90%", what="is the beginning of their own note").reason
#: (form of the notes, notes of a patient, template, why no rule of a tier passes; none where no tier can be asked)
FORMS = [
    ("fully de-identified", lambda _: [TAGS + SAME_BODY], "soap", SHARED | {"encounter": BROKEN}),
    ("addenda last", lambda _: [SAME_DAY + SAME_BODY, ADDENDUM, ADDENDUM], "soap", SHARED),
    ("without headers", lambda n: [f"Seen for the {n}th time with a cough. Rest was advised."], "soap", {}),
    ("discharge summaries with underscores", lambda _: [DISCHARGE], "mimic-discharge", SHARED),
    ("four notes a day", lambda _: [SAME_DAY + SAME_BODY] * 4, "soap", SHARED),
]


@pytest.mark.parametrize("form", first_of(len(FORMS), always=4))
def test_no_rule_passes_on_prompts_that_say_nothing_and_the_report_says_why(model, tmp_path, form):
    _, notes_of, template, why = FORMS[form]
    verdict, page = audit(model, tmp_path, notes_of, template)
    rules = verdict["rules"]
    assert verdict["status"] == "inconclusive"
    assert {rule["tier"]: (rule["status"], rule["reason"]) for rule in rules} == {
        tier: ("inconclusive", reason) for tier, reason in why.items()
    }
    assert verdict["not_asked"] == {tier: 2 for tier in TIERS if tier not in why}
    assert all(rule["reason"] in page for rule in rules)
    if not rules:
        assert "not asked" in page
