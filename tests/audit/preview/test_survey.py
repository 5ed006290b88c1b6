"""What `check` counts of a small corpus, and of notes of other forms, whose prompts let no rule pass."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.corpus_tables import write_tables
from support.matched_people import labels_of
from support.prompt_status import prompt_status

import clinaudit
from clinaudit.audit.measures.cohorts.stage import SAMPLE_SIZE
from clinaudit.audit.measures.everyday.tasks import load_tasks
from clinaudit.audit.preview import survey as surveying
from clinaudit.audit.preview.prompt_fit import PromptCount
from clinaudit.audit.preview.survey import Survey, survey_corpus
from clinaudit.audit.preview.survey_text import problems_of, survey_text
from clinaudit.audit.results.gate import words
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.templates.profile import locate_profile

HPI = "x" * 400


def survey(directory: Path, *, diagnoses: str | None = "patient_id,diagnosis,present\np0,hiv,true\n") -> Survey:
    notes = []
    for number in range(8):
        provider = "provider: Jo Ek, MD\nroom: 4\n" if number else ""
        who = f"patient: Ada Lund {number}\ndob: 02/03/1960\nvisit date: 05/01/2024\n"
        text = f"{who}{provider}cc: cough\nhpi: {HPI}\nplan: rest\n"
        notes.append({"patient_id": f"p{number}", "note_id": f"n{number}", "text": text})
    rows = "".join(f"p{number},{'train' if number < 5 else 'nontrain'},Ada Lund {number}\n" for number in range(8))
    patients = f"Patient ID,split,name\n{rows}"
    corpus = write_tables(directory / "corpus", notes=notes, patients=patients, diagnoses=diagnoses)
    return survey_corpus(AuditSettings(model="", corpus=corpus, out=directory), Progress(quiet=True))


def test_prompts_are_counted_by_tier_and_split(tmp_path: Path) -> None:
    found = {count.tier: count for count in survey(tmp_path).prompts}
    assert len(found) == 6
    meds = found["public_name_meds"]
    assert meds.excluded == {"no distinguishing fact": 8}
    # The practice that the template places is in no note.
    arms = found["encounter"].arms.values()
    assert [(arm["made"], arm["missed"], arm["fitting"]) for arm in arms] == [(5, 0, 0), (3, 0, 0)]


def test_work_is_estimated_from_targets_and_prompts(tmp_path: Path) -> None:
    work = survey(tmp_path)
    assert work.targets == {"train": 5, "nontrain": 3}
    assert set(work.most_sets.values()) == {0}
    assert sum(made for (tier, _), made in work.generations.items() if tier == "encounter") == 8
    # Two background tiers of 1,000 tokens; after `cc:`, `hpi:` and `plan:` stand 424, 413 and 6 characters, of four a
    # token, in 8 prompts each.
    of_patients = 8 * 2 * 1000 + 8 * (106 + 104 + 2)
    # Every task that ships, greedily and drawn.
    assert work.everyday_answers == 2 * len(load_tasks().tasks)
    assert work.written_tokens == of_patients + work.everyday_answers * 1000


def test_a_policy_is_told_of_the_patients_who_would_be_asked_about_and_of_no_others(tmp_path: Path) -> None:
    text, numbers = f"cc: cough\nhpi: {HPI}\n", range(SAMPLE_SIZE + 9)
    notes = [{"patient_id": f"p{n}", "note_id": f"n{n}", "text": text} for n in numbers]
    rows = "".join(f"p{n},train,Ada Lund {n}\n" for n in numbers)
    patients, diagnoses = f"patient_id,split,name\n{rows}", "patient_id,diagnosis,present\np0,hiv,true\n"
    corpus = write_tables(tmp_path / "corpus", notes=notes, patients=patients, diagnoses=diagnoses)
    found = survey_corpus(AuditSettings(model="", corpus=corpus, out=tmp_path), Progress(quiet=True))
    assert found.coverage.tiers["public_name"] == (SAMPLE_SIZE, 0)


def test_where_nobody_was_held_out_pairs_are_foreseen(tmp_path: Path) -> None:
    """An audit with a control model matches those trained on among themselves: of 3 and 4 who may be, 3 pairs."""
    notes = [{"patient_id": f"p{n}", "note_id": f"n{n}", "text": f"cc: cough\nhpi: {HPI}\n"} for n in range(7)]
    rows = "".join(f"p{n},train,Ada Lund {n},4{n},female\n" for n in range(7))
    labels = "".join(f"p{n},hiv,{str(n < 3).lower()}\np{n},ptsd,{str(n >= 3).lower()}\n" for n in range(7))
    patients, diagnoses = f"patient_id,split,name,age,sex\n{rows}", f"patient_id,diagnosis,present\n{labels}"
    corpus = write_tables(tmp_path / "corpus", notes=notes, patients=patients, diagnoses=diagnoses)
    found = survey_corpus(AuditSettings(model="", corpus=corpus, out=tmp_path), Progress(quiet=True))
    assert found.most_sets["hiv"] == 3
    assert found.coverage.smallest_groups is not None
    assert found.coverage.smallest_groups["hiv"] == 3
    text = survey_text(found, minimum_unbroken_share=0.9)
    assert "the most matched pairs" in " ".join(text.split())


def test_labels_are_the_lexicons_without_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The lexicon itself takes seconds to load.
    read = labels_of({f"p{number}": {"hiv": False} for number in range(8)})
    monkeypatch.setattr(surveying, "make_judge", lambda *_, **__: None)
    monkeypatch.setattr(surveying, "label_patients", lambda *_: (read, None))
    found = survey(tmp_path, diagnoses=None)
    assert found.label_source == "lexicon"
    assert found.coverage.smallest_groups is None
    assert found.groups["hiv"]["train", False] == 5
    text = survey_text(found, minimum_unbroken_share=0.9)
    assert "labels read off the notes with the lexicon" in text


def test_the_text_says_what_cannot_be_audited_and_what_cannot_pass(tmp_path: Path) -> None:
    found = survey(tmp_path)
    lines = survey_text(found, minimum_unbroken_share=0.9).splitlines()

    def line(start: str) -> str:
        return next(" ".join(text.split()) for text in lines if text.strip().startswith(start))

    assert lines[3:5] == [f"  note: {said}" for said in (*found.corpus.readings, *found.corpus.warnings)]
    assert line("public_name_meds ") == (
        "public_name_meds 0 / 0 fit - / -; 8 excluded: not found: medications; CANNOT BE AUDITED"
    )
    assert line("no prompt can").startswith("no prompt can be made at public_name_meds, which needs medications")
    assert not any("No problem was found" in text for text in lines)
    assert line("clinaudit template learn ").endswith(" --out ours.toml")
    assert line("encounter ") == "encounter 5 / 3 fit 0% / 0%; NO RULE CAN PASS (a policy asks for 90%)"
    assert line("public_name ") == "public_name 5 / 3 fit 100% / 100%"
    assert line("provider") == "provider 4 / 3"
    assert line("name ") == "name 8 of 8 values stand in the notes (100%)"
    assert found.coverage.tiers["encounter"] == (5, 3)


def test_headers_that_prompts_run_on_into_are_named_and_problems_are_those_of_the_text(tmp_path: Path) -> None:
    survey(tmp_path)
    notes = tmp_path / "corpus" / "notes.jsonl"
    rows = notes.read_text(encoding="utf-8").splitlines()
    rows[:2] = [row.replace("cc: cough", "cc: cough\\nPMHx: nil") for row in rows[:2]]
    rows[2] = rows[2].replace("hpi: ", "Hx ")
    notes.write_text("\n".join(rows) + "\n", encoding="utf-8")
    ours = tmp_path / "ours.toml"
    ours.write_bytes(locate_profile(Path("soap")).read_bytes())
    found = survey_corpus(
        AuditSettings(model="", corpus=tmp_path / "corpus", out=tmp_path, template=ours), Progress(quiet=True)
    )
    counts = {count.tier: count for count in found.prompts}
    assert counts["encounter_cc"].runs_on["pmhx"] == 2
    text = survey_text(found, minimum_unbroken_share=0.9)
    assert "prompts run on into: pmhx 2;" in " ".join(text.split())
    lines = problems_under(found)
    said = " ".join(" ".join(lines[1:]).split())
    assert said.startswith(" ".join(problems_of(found)) + " what to do:")
    looked_at = clinaudit.check(tmp_path / "corpus", template=ours, quiet=True)
    assert looked_at.problems == problems_of(found)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_policys_share_is_what_counts(tmp_path: Path, share: float) -> None:
    text = survey_text(survey(tmp_path), minimum_unbroken_share=share)
    assert ("NO RULE CAN PASS" in text) is (share == 1.0)


def problems_under(found: Survey) -> list[str]:
    text = survey_text(found, minimum_unbroken_share=0.9)
    block = next(block for block in text.split("\n\n") if block.startswith("PROBLEMS"))
    return block.splitlines()


def test_a_template_of_other_notes_is_named_before_the_table_is_blamed(tmp_path: Path) -> None:
    survey(tmp_path)
    settings = AuditSettings(model="", corpus=tmp_path / "corpus", out=tmp_path, template=Path("mimic-discharge"))
    lines = problems_under(survey_corpus(settings, Progress(quiet=True)))
    assert ": 0 of 8 notes have a header of the profile" in lines[1]
    assert lines[-1].endswith("corpus --out ours.toml")


PEOPLE = 24
BANNER = (
    "patient: {name}\ndob: 02/{day:02}/1960\nvisit date: 05/{day:02}/2024\nprovider: Jo Ek, MD\nlocation: Elm Clinic\n"
)
BODY = "cc: cough number {n}\nhpi: tired since the {n}th of May and short of breath on stairs\nros:\nnone\n"
ADDENDUM = "addendum\nThe result came back and was discussed by telephone.\n"
DISCHARGE = (
    " \nName:  ___                     Unit No:   ___\n \nAdmission Date:  ___              Discharge Date:   ___\n \n"
    "Date of Birth:  ___             Sex:   F\n \nService: MEDICINE\n \nAllergies: \nNo Known Allergies\n \n"
    "Attending: ___.\n \n"
    "Chief Complaint:\nfall\n \nMajor Surgical or Invasive Procedure:\nnone\n\nHistory of Present Illness:\n"
    "___ yo with a fall from {n} stairs.\n\nPast Medical History:\nnone\n"
)


def named(number: int) -> str:
    return BANNER.format(name=f"Ada{chr(97 + number)} Lund", day=number + 1)


def survey_notes(directory: Path, notes_of: Callable[[int], list[str]], template: str = "soap") -> tuple[Survey, str]:
    rows = [
        {"patient_id": f"p{n:02}", "note_id": f"p{n:02}/{place}", "text": text, "visit_date": f"2024-01-{place + 1:02}"}
        for n in range(PEOPLE)
        for place, text in enumerate(notes_of(n))
    ]
    corpus = write_tables(directory / "corpus", notes=rows)
    settings = AuditSettings(model="", corpus=corpus, out=directory, template=Path(template))
    found = survey_corpus(settings, Progress(quiet=True))
    return found, survey_text(found, minimum_unbroken_share=0.9)


def of_tier(found: Survey, tier: str) -> PromptCount:
    return next(count for count in found.prompts if count.tier == tier)


def surveyed_status(found: Survey, tier: str) -> tuple[str, str]:
    """Return what the gate says of a model that gives nothing away, and why, at a tier with these prompts."""
    arm = of_tier(found, tier).arms["train"]
    return prompt_status(tier, fitting=arm["fitting"], own=arm["own"], asked=arm["made"] + arm["missed"])


def test_discharge_summaries_with_underscores_are_one_prompt_for_everybody(tmp_path: Path) -> None:
    found, text = survey_notes(tmp_path, lambda n: [DISCHARGE.format(n=n)], "mimic-discharge")
    arm = of_tier(found, "encounter").arms["train"]
    assert (arm["made"], arm["own"]) == (PEOPLE, 0)
    assert "CANNOT BE DECIDED (fewer than half of the prompts are one patient's own)" in " ".join(text.split())
    assert surveyed_status(found, "encounter") == ("inconclusive", words.PROMPTS_SHARED.reason)


def test_an_addendum_that_comes_last_is_passed_over(tmp_path: Path) -> None:
    found, text = survey_notes(tmp_path, lambda n: [named(n) + BODY.format(n=n), ADDENDUM])
    for tier in ("encounter", "encounter_cc", "encounter_cc_hpi"):
        arm = of_tier(found, tier).arms["train"]
        assert [arm[name] for name in ("made", "fitting", "own", "earlier")] == [PEOPLE] * 4
        assert surveyed_status(found, tier)[0] == "pass"
    assert f"of an earlier note {PEOPLE} / 0" in text
