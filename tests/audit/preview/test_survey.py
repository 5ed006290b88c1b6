"""What `check` counts of a small corpus, and of notes of other forms, whose prompts let no rule pass."""

from pathlib import Path

from support.corpus_tables import write_tables

from clinaudit.audit.measures.everyday.tasks import load_tasks
from clinaudit.audit.preview.survey import Survey, survey_corpus
from clinaudit.audit.preview.survey_text import survey_text
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.settings import AuditSettings

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


def test_prompts_are_counted_by_tier_and_split(tmp_path):
    found = {count.tier: count for count in survey(tmp_path).prompts}
    assert len(found) == 6
    meds = found["public_name_meds"]
    assert meds.excluded == {"no distinguishing fact": 8}
    # The practice that the template places is in no note.
    arms = found["encounter"].arms.values()
    assert [(arm["made"], arm["missed"], arm["fitting"]) for arm in arms] == [(5, 0, 0), (3, 0, 0)]


def test_work_is_estimated_from_targets_and_prompts(tmp_path):
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


def problems_under(found: Survey) -> list[str]:
    text = survey_text(found, minimum_unbroken_share=0.9)
    block = next(block for block in text.split("\n\n") if block.startswith("PROBLEMS"))
    return block.splitlines()


def test_a_template_of_other_notes_is_named_before_the_table_is_blamed(tmp_path):
    survey(tmp_path)
    settings = AuditSettings(model="", corpus=tmp_path / "corpus", out=tmp_path, template=Path("mimic-discharge"))
    lines = problems_under(survey_corpus(settings, Progress(quiet=True)))
    assert ": 0 of 8 notes have a header of the profile" in lines[1]
    assert lines[-1].endswith("corpus --out ours.toml")
