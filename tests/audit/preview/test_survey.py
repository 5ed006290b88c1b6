"""What `check` counts, says and writes of a small corpus."""

import json
import os
import stat
from pathlib import Path

import pytest
from support.corpus_tables import write_tables
from support.patient_facts import NOTE

from clinaudit.audit.commands.main import run
from clinaudit.audit.measures.cohorts.cohort import SAMPLE_SIZE
from clinaudit.audit.measures.everyday.tasks import load_tasks
from clinaudit.audit.preview.survey import survey_corpus
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.priors.tiers import TIERS

HPI = "x" * 400


def survey(directory, *, diagnoses="patient_id,diagnosis,present\np0,hiv,true\n"):
    notes = []
    for number in range(8):
        provider = "provider: Jo Ek, MD\nroom: 4\n" if number else ""
        who = f"patient: Ada Lund {number}\ndob: 02/03/1960\nvisit date: 05/01/2024\n"
        text = f"{who}{provider}cc: cough\nhpi: {HPI}\nplan: rest\n"
        notes.append({"patient_id": f"p{number}", "note_id": f"n{number}", "text": text})
    rows = "".join(f"p{number},{'train' if number < 5 else 'nontrain'},Ada Lund {number}\n" for number in range(8))
    patients = f"Patient ID,split,name\n{rows}"
    corpus = write_tables(directory / "corpus", notes=notes, patients=patients, diagnoses=diagnoses)
    return survey_of(corpus)


def survey_of(corpus, **options):
    settings = AuditSettings(model="", corpus=corpus, out=corpus.parent, **options)
    return survey_corpus(settings, Progress(quiet=True), minimum_unbroken_share=0.9)


def test_prompts_are_counted_by_tier_and_split(tmp_path):
    found = {count.tier: count for count in survey(tmp_path).prompts}
    assert len(found) == 6
    meds = found["public_name_meds"]
    assert meds.excluded == {"no distinguishing fact": 8}
    # The practice that the template places is in no note.
    arms = found["encounter"].arms.values()
    assert [(arm["made"], arm["missed"], arm["fitting"]) for arm in arms] == [(5, 0, 0), (3, 0, 0)]


def test_what_holds_of_one_patient_is_counted(tmp_path):
    notes = [
        {"patient_id": f"p{at}", "note_id": f"n{at}", "text": f"name: Una{'' if at < 2 else 'x'}\nplan: x\n"}
        for at in range(3)
    ]
    patients = "patient_id,split,name\np0,train,Una\np1,train,Una\np2,nontrain,Unax\n"
    text = " ".join(survey_of(write_tables(tmp_path / "corpus", notes=notes, patients=patients)).text.split())
    assert "shared with no other patient 0 / 1" in text


def test_work_is_estimated_from_targets_and_prompts(tmp_path):
    text = " ".join(survey(tmp_path).text.split())
    assert "whom an audit would probe (train / nontrain): 5 / 3. " in text
    assert text.count("matched sets: none") == 6
    assert "encounter text 8" in text
    # Two background tiers of 1,000 tokens; after `cc:`, `hpi:` and `plan:` stand 424, 413 and 6 characters, of four a
    # token, in 8 prompts each.
    of_patients = 8 * 2 * 1000 + 8 * (106 + 104 + 2)
    # Every task that ships, greedily and drawn.
    everyday = 2 * len(load_tasks().tasks)
    assert f"about nobody: {everyday} answers" in text
    assert f"at most {of_patients + everyday * 1000:,} to write" in text


def problems_under(found):
    block = next(block for block in found.text.split("\n\n") if block.startswith("PROBLEMS"))
    return block.splitlines()


def test_a_template_of_other_notes_is_named_before_the_table_is_blamed(tmp_path):
    survey(tmp_path)
    lines = problems_under(survey_of(tmp_path / "corpus", template=Path("mimic-discharge")))
    assert ": 0 of 8 notes have a header of the profile" in lines[1]
    assert lines[-1].endswith("corpus --out ours.toml")


PATIENTS = "patient_id,split,name,dob,sex\np1,train,Ada Lund,1960-02-03,female\np2,nontrain,Ian Roth,1970-01-01,male\n"


@pytest.fixture
def corpus(tmp_path):
    second = "patient: Ian Roth\ncc: cough\nhpi: he coughs.\nplan: rest\n"
    notes = [{"patient_id": "p1", "note_id": "1", "text": NOTE}, {"patient_id": "p2", "note_id": "2", "text": second}]
    diagnoses = "patient_id,diagnosis,present\np1,hiv,false\n"
    return write_tables(tmp_path / "corpus", notes=notes, patients=PATIENTS, diagnoses=diagnoses)


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


def test_a_policy_is_told_of_the_patients_who_would_be_asked_about_and_of_no_others(tmp_path):
    text, numbers = f"cc: cough\nhpi: {HPI}\n", range(SAMPLE_SIZE + 9)
    notes = [{"patient_id": f"p{n}", "note_id": f"n{n}", "text": text} for n in numbers]
    rows = "".join(f"p{n},train,Ada Lund {n}\n" for n in numbers)
    patients, diagnoses = f"patient_id,split,name\n{rows}", "patient_id,diagnosis,present\np0,hiv,true\n"
    corpus = write_tables(tmp_path / "corpus", notes=notes, patients=patients, diagnoses=diagnoses)
    found = survey_of(corpus)
    assert found.coverage.tiers["public_name"] == (SAMPLE_SIZE, 0)
