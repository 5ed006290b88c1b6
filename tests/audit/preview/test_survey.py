"""What `check` counts, against hand-computed figures of a small corpus."""

import json
from pathlib import Path

import pytest

import clinaudit
from clinaudit.audit.measures.judge.labels import Labels
from clinaudit.audit.preview import survey as surveying
from clinaudit.audit.preview.survey import Survey, survey_corpus
from clinaudit.audit.preview.survey_text import problems_of, survey_text
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.templates.profile import locate_profile

HPI = "x" * 400


def survey(directory: Path, *, diagnoses: str | None = "patient_id,diagnosis,present\np0,hiv,true\n") -> Survey:
    corpus = directory / "corpus"
    corpus.mkdir()
    notes = []
    for number in range(8):
        provider = "provider: Jo Ek, MD\nroom: 4\n" if number else ""
        who = f"patient: Ada Lund {number}\ndob: 02/03/1960\nvisit date: 05/01/2024\n"
        text = f"{who}{provider}cc: cough\nhpi: {HPI}\nplan: rest\n"
        notes.append({"patient_id": f"p{number}", "note_id": f"n{number}", "text": text})
    (corpus / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    rows = "".join(f"p{number},{'train' if number < 5 else 'nontrain'},Ada Lund {number}\n" for number in range(8))
    (corpus / "patients.csv").write_text(f"patient_id,split,name\n{rows}", encoding="utf-8")
    if diagnoses is not None:
        (corpus / "diagnoses.csv").write_text(diagnoses, encoding="utf-8")
    return survey_corpus(AuditSettings(model="", corpus=corpus, out=directory), Progress(quiet=True))


def test_prompts_are_counted_by_tier_form_and_split(tmp_path: Path) -> None:
    found = {(count.tier, count.rendering): count for count in survey(tmp_path).prompts}
    assert len(found) == 9
    meds = found["public_name_meds", "text"]
    assert meds.excluded == {"no distinguishing fact": 8}
    opening, facts = found["encounter", "opening"], found["encounter", "facts"]
    # The practice that the template places is in no note; the facts alone lack the room.
    assert [(arm.made, arm.missed, arm.fitting) for arm in opening.arms.values()] == [(5, 0, 0), (3, 0, 0)]
    assert (opening.differing, facts.differing) == (0, 7)


def test_work_is_estimated_from_targets_and_prompts(tmp_path: Path) -> None:
    work = survey(tmp_path).work
    assert work.targets == {"train": 5, "nontrain": 3}
    assert work.sampled == work.targets
    assert set(work.most_sets.values()) == {0}
    forms = {tier: [form for of, form in work.generations if of == tier] for tier, _ in work.generations}
    assert forms["encounter"] == ["opening", "facts"]
    # One form's prompt of p0 is the other's: asked once.
    assert sum(made for (tier, _), made in work.generations.items() if tier == "encounter") == 8 + 7
    # Two background tiers of 1,000 tokens; after `cc:`, `hpi:` and `plan:` stand 424, 413 and 6 characters, of four a
    # token, in 15 prompts each.
    assert work.written_tokens == 8 * 2 * 1000 + 15 * (106 + 104 + 2)


def test_labels_are_the_lexicons_without_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The lexicon itself takes seconds to load.
    read = {f"p{number}": {"hiv": False} for number in range(8)}
    monkeypatch.setattr(surveying, "make_judge", lambda *_, **__: None)
    monkeypatch.setattr(surveying, "label_patients", lambda *_: Labels("lexicon", read, {}))
    found = survey(tmp_path, diagnoses=None)
    assert found.work.label_source == "lexicon"
    assert found.coverage.smallest_groups is None
    assert found.groups["hiv"]["train", False] == 5
    text = survey_text(found, template=None, minimum_unbroken_share=0.9)
    assert "labels read off the notes with the lexicon" in text


def test_the_text_says_what_cannot_be_audited_and_what_cannot_pass(tmp_path: Path) -> None:
    found = survey(tmp_path)
    lines = survey_text(found, template=None, minimum_unbroken_share=0.9).splitlines()

    def line(start: str) -> str:
        return next(" ".join(text.split()) for text in lines if text.strip().startswith(start))

    assert line("public_name_meds ") == (
        "public_name_meds 0 / 0 fit - / -; 8 excluded: not found: medications; CANNOT BE AUDITED"
    )
    assert line("no prompt can").startswith("no prompt can be made at public_name_meds, which needs medications")
    assert not any("No problem was found" in text for text in lines)
    assert line("one proposed:").startswith("one proposed: clinaudit template learn ")
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
    counts = {count.tier: count for count in found.prompts if count.rendering == "opening"}
    assert [of.runs_on["pmhx"] for of in counts["encounter_cc"].arms.values()] == [2, 0]
    text = survey_text(found, template=ours, minimum_unbroken_share=0.9)
    assert "prompts run on into: pmhx 2;" in " ".join(text.split())
    lines = problems_under(found, ours)
    said = " ".join(" ".join(lines[1:]).split())
    assert said.startswith(" ".join(problems_of(found, ours)) + " what to do:")
    looked_at = clinaudit.check(tmp_path / "corpus", template=ours, quiet=True)
    assert looked_at.problems == problems_of(found, ours)
    notes_only = {finding.text for finding in found.fit.findings if finding.level == "note"}
    assert notes_only
    assert not any(text in problem for text in notes_only for problem in looked_at.problems)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_policys_share_is_what_counts(tmp_path: Path, share: float) -> None:
    text = survey_text(survey(tmp_path), template=None, minimum_unbroken_share=share)
    assert ("NO RULE CAN PASS" in text) is (share == 1.0)


def problems_under(found: Survey, template: Path | None) -> list[str]:
    text = survey_text(found, template=template, minimum_unbroken_share=0.9)
    block = next(block for block in text.split("\n\n") if block.startswith("PROBLEMS"))
    return block.splitlines()


def test_a_template_of_other_notes_is_named_before_the_table_is_blamed(tmp_path: Path) -> None:
    survey(tmp_path)
    settings = AuditSettings(model="", corpus=tmp_path / "corpus", out=tmp_path, template=Path("mimic-discharge"))
    lines = problems_under(survey_corpus(settings, Progress(quiet=True)), Path("mimic-discharge"))
    assert lines[1].startswith("  THE TEMPLATE finds a header in 0% of the notes (0 of 8): it is not of these notes.")
    assert any("clinaudit template learn" in line for line in lines)


def test_a_template_that_finds_the_headers_is_not_proposed_to_be_learned_again(tmp_path: Path) -> None:
    found = survey(tmp_path)
    ours = tmp_path / "ours.toml"
    ours.write_bytes(locate_profile(Path("soap")).read_bytes())
    chosen = problems_under(found, ours)
    assert "  what to do: mend the template where it is named here (docs/note-templates.md)" in chosen
    assert not any("THE TEMPLATE" in line or "template learn" in line for line in chosen)
    assert any("template learn" in line for line in problems_under(found, None))


def test_no_file_is_proposed_to_be_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = survey(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ours.toml").touch()
    assert any(line.endswith("--out ours-2.toml") for line in problems_under(found, None))
