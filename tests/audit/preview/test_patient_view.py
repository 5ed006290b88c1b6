"""`check --show` and `check --prompts`: what they hold, who may read it, and that no note steers a terminal."""

import json
import os
import stat

import pytest
from support.corpus_tables import write_tables
from support.patient_facts import NOTE

from clinaudit.audit.commands.main import run
from clinaudit.priors.tiers import TIERS

PATIENTS = "patient_id,split,name,dob,sex\np1,train,Ada Lund,1960-02-03,female\np2,nontrain,Ian Roth,1970-01-01,male\n"
STEERING = "\x1b[31mred\x1b]0;title\x07 [bold]markup[/bold] [link=http://x]y[/link] \u202ereversed"


@pytest.fixture
def corpus(tmp_path):
    second = "patient: Ian Roth\ncc: cough\nhpi: he coughs. " + STEERING + "\nplan: rest\n"
    notes = [{"patient_id": "p1", "note_id": "1", "text": NOTE}, {"patient_id": "p2", "note_id": "2", "text": second}]
    diagnoses = "patient_id,diagnosis,present\np1,hiv,false\n"
    return write_tables(tmp_path / "corpus", notes=notes, patients=PATIENTS, diagnoses=diagnoses)


def test_a_patient_is_shown_with_every_prompt_and_the_note_by_section(corpus, capsys):
    assert run(["check", str(corpus), "--show", "p1"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("PHI") == 2
    for tier in TIERS:
        assert f"── {tier.id}, text: " in shown
    # The opening is the note's own, the line that no fact owns included; cut is nothing.
    assert "room: 4\nprovider: Jo Ek, MD\nlocation: Elm Clinic\nCC:\n" in shown
    assert "[Plan" in shown
    assert "patients table, name: stands in the notes" in shown


def test_a_note_steers_no_terminal_and_is_no_markup(corpus, capsys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(["check", str(corpus), "--show", "p2"]) == 0
    shown = capsys.readouterr().out
    assert "[bold]markup[/bold] [link=http://x]y[/link]" in shown
    assert not set(shown) & {"\x1b", "\x07", "\u202e"}
    assert "\ufffd[31mred" in shown


def test_a_patient_who_is_not_there_is_bad_input_and_not_named(corpus, capsys):
    assert run(["check", str(corpus), "--show", "p-secret"]) == 3
    assert "p-secret" not in capsys.readouterr().err


def test_prompts_are_left_in_a_private_file(corpus, tmp_path, capsys):
    file = tmp_path / "prompts.jsonl"
    umask = os.umask(0o022)
    try:
        assert run(["check", str(corpus), "--quiet", "--prompts", str(file)]) == 0
    finally:
        os.umask(umask)
    assert "PHI" in capsys.readouterr().err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    rows = [json.loads(line) for line in file.read_text(encoding="ascii").splitlines()]
    assert list(rows[0]) == ["patient_id", "tier", "form", "prompt", "excluded", "reason", "fits"]
    assert len(rows) == 2 * len(TIERS)
    openings = {row["patient_id"]: row for row in rows if row["tier"] == "encounter"}
    assert NOTE.startswith(openings["p1"]["prompt"])
    assert openings["p1"]["prompt"].endswith("location: Elm Clinic\nCC:")
    # No opening can be placed in the other's note: its facts stand there.
    assert openings["p2"]["prompt"] == "dob: 01/01/1970\npatient: Ian Roth\ncc:"
    assert (openings["p1"]["fits"], openings["p2"]["fits"]) == (True, False)
    excluded = [(row["patient_id"], row["tier"], row["reason"], row["prompt"]) for row in rows if row["excluded"]]
    assert ("p2", "public_name_meds", "no distinguishing fact", "") in excluded
