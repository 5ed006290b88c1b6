"""Invented layouts: every fact is found where it stands, and a learned profile reads them."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support import merged_layouts
from support.corpus_tables import write_tables
from support.merged_layouts import MergedNote, merged_notes
from support.note_layouts import PROFILE, Person, make_people
from support.patient_facts import corpus_of, writer_of

from clinaudit.audit.commands.main import run
from clinaudit.audit.preview.learned_profile import LearnedProfile, learn_profile
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.facts import PatientFacts, read_facts
from clinaudit.priors.prompts import Prior, write_priors
from clinaudit.priors.tiers import TIERS, Fact, ProbedTiers
from clinaudit.templates.profile import NoteProfile, load_profile

Write = Callable[[random.Random], tuple[str, dict[Fact, str]]]
#: Sets of layouts, and how many notes of each.
MERGED: dict[str, dict[str, tuple[Write, int]]] = {
    **{
        marks: {
            "spaced": (merged_layouts.spaced_note, 40),
            "enclosed": (partial(merged_layouts.enclosed_note, marks=marks), 60),
        }
        for marks in ("=== {} ===", "<<{}>>", "--- {} ---")
    },
    "dots": {
        "leader": (merged_layouts.leader_note, 50),
        "letter": (merged_layouts.letter_note, 50),
        "column": (merged_layouts.column_note, 50),
    },
    "dots alone": {
        "leader": (partial(merged_layouts.leader_note, has_colon=False), 50),
        "letter": (merged_layouts.letter_note, 50),
        "column": (merged_layouts.column_note, 50),
    },
}
#: What stands behind no label and in no line of a shipped profile is for the site to place; and beside a sex the age
#: is a number alone.
NOT_LEARNED = {"letter": {Fact.PROVIDER}, "column": {Fact.NAME, Fact.AGE}, "enclosed": {Fact.AGE}}


def write_corpus(folder: Path, notes: list[MergedNote]) -> Path:
    rows = [{"patient_id": note.patient_id, "note_id": note.patient_id, "text": note.text} for note in notes]
    return write_tables(folder, notes=rows)


def read_right(corpus: Path, learned: LearnedProfile, notes: list[MergedNote]) -> Counter[tuple[str, Fact]]:
    """Return layout and fact -> patients for whom it is found as the note holds it, whole."""
    read = read_corpus(corpus)
    facts = read_facts(read, learned.profile, read.patients)
    return Counter(
        (note.layout, fact)
        for note in notes
        for fact, value in note.facts.items()
        if fact in facts[note.patient_id].in_note and facts[note.patient_id].in_note[fact].value == value
    )


@pytest.mark.parametrize(("merged", "layout"), [(merged, layout) for merged in MERGED for layout in MERGED[merged]])
def test_each_layout_is_learned_from_its_notes(tmp_path: Path, merged: str, layout: str) -> None:
    sizes = {layout: MERGED[merged][layout][1]}
    notes = merged_notes(**{layout: MERGED[merged][layout]})
    corpus = write_corpus(tmp_path / "corpus", notes)
    learned = learn_profile(corpus, tmp_path / "learned.toml")
    right = read_right(corpus, learned, notes)
    for note in notes:
        wanted = note.facts.keys() - NOT_LEARNED.get(note.layout, set())
        assert {fact for fact in wanted if right[note.layout, fact] < sizes[note.layout]} == set()
    # The prompts of appointment details are the beginnings of the notes.
    openings = openings_of(corpus, learned)
    equal: Counter[str] = Counter()
    for note in notes:
        # A hand cuts before the complaint: where its header ends, its text begins.
        by_hand = note.text[: note.text.index(note.facts[Fact.CHIEF_COMPLAINT])]
        opening = openings.get(note.patient_id)
        equal[note.layout] += opening is not None and opening.unbroken is True and opening.prompt == by_hand.rstrip()
    assert {layout: equal[layout] for layout in sizes if equal[layout] < 0.95 * sizes[layout]} == {}


def test_a_banner_that_is_a_table_is_said_to_be_open(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", merged_notes(table=(merged_layouts.table_note, 40)))
    learned = learn_profile(corpus, tmp_path / "learned.toml")
    assert "No place was found for dob, visit_date, provider, practice: prompts" in learned.preview.replace(
        "name, ", ""
    )
    assert learned.profile.layouts[0].placed == {"chief_complaint", "hpi"}


def openings_of(corpus: Path, learned: LearnedProfile) -> dict[str, Prior]:
    read = read_corpus(corpus)
    priors = write_priors(
        {patient_id: [] for patient_id in read.patients},
        facts=read_facts(read, learned.profile, read.patients),
        probed=ProbedTiers(("encounter",)),
        writer=writer_of(learned.profile, limit=50),
    )
    return {prior.patient_id: prior for prior in priors if not prior.excluded}


def marked_up(form: str) -> Write:
    def write(rng: random.Random) -> tuple[str, dict[Fact, str]]:
        text, facts = merged_layouts.spaced_note(rng)
        lines = text.split("\n")
        if form == "<br>":
            return "<br>".join(lines), facts
        if form == "HTML":
            return f"<html><body>{''.join(f'<p>{line}</p>' for line in lines)}</body></html>", facts
        return "{\\rtf1\\ansi " + "\\par ".join(lines) + "}", facts

    return write


@pytest.mark.parametrize("form", ["RTF", "HTML", "<br>"])
def test_notes_that_are_not_plain_are_named_with_the_option_that_reads_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    notes = merged_notes(spaced=(marked_up(form), 20))
    corpus = write_corpus(tmp_path / "corpus", notes)
    assert run(["template", "learn", str(corpus), "--out", str(tmp_path / "ours.toml")]) == 3
    assert f"20 notes are {form}, or hold it: plain_text = true in the column map" in capsys.readouterr().err
    assert run(["check", str(corpus), "--template", "soap", "--quiet"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"20 of 20 notes looked at are {form}" in printed
    assert "plain_text = true" in printed
    # And the option does: what is imported with it is learned.
    rows = [{"id": note.patient_id, "note": note.text} for note in notes]
    lines = ["id,note", *(f'{row["id"]},"{row["note"]}"' for row in rows)]
    (tmp_path / "notes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = 'plain_text = true\n[columns]\npatient_id = "id"\ntext = "note"\n'
    (tmp_path / "columns.toml").write_text(columns, encoding="utf-8")
    made = tmp_path / "made"
    command = ["import", "csv", str(tmp_path / "notes.csv"), str(made), "--columns", str(tmp_path / "columns.toml")]
    assert run([*command, "--quiet"]) == 0
    learned = learn_profile(made, tmp_path / "ours.toml")
    right = read_right(made, learned, notes)
    assert {right["spaced", fact] for fact in notes[0].facts if fact is not Fact.HPI} == {20}


def test_a_fact_that_the_template_denies_and_most_notes_hold_is_an_error_of_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_corpus(tmp_path / "corpus", merged_notes(spaced=(merged_layouts.spaced_note, 30)))
    out = tmp_path / "ours.toml"
    learn_profile(corpus, out)
    assert run(["check", str(corpus), "--template", str(out), "--quiet"]) == 0
    capsys.readouterr()
    text = out.read_text(encoding="utf-8")
    for fact, entry in (("dob", "date of birth"), ("hpi", "history of present illness")):
        head, _, tail = text.partition(f"\n[fields.{fact}]\n")
        assert entry in tail
        rest = tail[tail.index("]\n") + 2 :]
        denied = f"{head}\n{rest}".replace("not_in_notes = [", f'not_in_notes = ["{fact}", ')
        (tmp_path / "denied.toml").write_text(denied, encoding="utf-8")
        assert run(["check", str(corpus), "--template", str(tmp_path / "denied.toml"), "--quiet"]) == 3
        said = capsys.readouterr()
        assert f"not_in_notes names {fact}, and 30 of 30 notes looked at hold it" in " ".join(said.err.split())
        assert f"not_in_notes names {fact}, and 30 of 30" in " ".join(said.out.split())


PEOPLE = make_people(25)
ENCOUNTER = {fact for tier in TIERS if tier.is_fragment for fact in tier.facts}


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> NoteProfile:
    path = tmp_path_factory.mktemp("profile") / "three.toml"
    path.write_text(PROFILE, encoding="utf-8")
    return load_profile(path)


def read(directory: Path, people: list[Person], profile: NoteProfile) -> dict[str, PatientFacts]:
    notes = [{"patient_id": who.patient_id, "note_id": who.patient_id, "text": who.note} for who in people]
    corpus = corpus_of(directory, notes)
    return read_facts(corpus, profile, corpus.patients)


@pytest.mark.parametrize("layout", ["banner", "one a line", "shorthand", "all three"])
def test_every_fact_of_the_encounter_tiers_is_found_where_it_stands(
    tmp_path: Path, profile: NoteProfile, layout: str
) -> None:
    people = [who for who in PEOPLE if layout in (who.layout, "all three")]
    facts = read(tmp_path, people, profile)
    assert len(facts) == len(people)
    for who in people:
        known = facts[who.patient_id]
        assert known.layout == who.layout
        assert known.placed >= ENCOUNTER
        found = {
            fact: (field.value.replace("\r\n", "\n"), who.note[slice(*field.value_chars)].replace("\r\n", "\n"))
            for fact, field in known.in_note.items()
        }
        assert found == {fact: (value, value) for fact, value in who.facts.items()}


def test_spans_run_from_a_label_to_the_next_label_of_the_line(tmp_path: Path, profile: NoteProfile) -> None:
    who = PEOPLE[0]
    known = read(tmp_path, [who], profile)[who.patient_id]
    spans = {fact: who.note[slice(*field.span_chars)] for fact, field in known.in_note.items()}
    assert spans[Fact.NAME] == "Patient: Brandon Green "
    assert spans[Fact.DOB] == "DOB: 01/01/1950   "
    assert spans[Fact.SEX] == "Sex: F   "
    assert spans[Fact.PROVIDER] == "Provider: Jo Ek, MD | "
    assert spans[Fact.PRACTICE] == "Location: Elm Clinic, 2nd floor\n"
    assert known.in_note[Fact.PROVIDER].source == "label provider"


def test_british_and_american_dates_are_told_apart_by_layout(tmp_path: Path, profile: NoteProfile) -> None:
    # Patients 1 are born on 2 February 1951 and seen on 27 February 2024: only one order reads 27/02 or 02/27.
    facts = read(tmp_path, PEOPLE, profile)
    assert {facts[key].age for key in ("b001", "o001", "s001")} == {73}


def test_what_stands_in_prose_is_known_but_not_placed(tmp_path: Path) -> None:
    note = "CHIEF COMPLAINT\n\nCough.\n\nHISTORY OF PRESENT ILLNESS\n\nAda Lund is a 46-year-old female.\n\nPLAN\n\nx"
    known = read(tmp_path, [Person("p", "capitals", note, {})], load_profile(Path("capitals")))["p"]
    assert known.in_note.keys() == {Fact.CHIEF_COMPLAINT, Fact.HPI}
    assert {fact: note[slice(*field.value_chars)] for fact, field in known.in_prose.items()} == {
        Fact.NAME: "Ada Lund",
        Fact.AGE: "46",
        Fact.SEX: "female",
    }
    assert known.placed == {Fact.CHIEF_COMPLAINT, Fact.HPI, Fact.MEDICATIONS}
    assert (known.values[Fact.NAME], known.age, known.sex) == ("Ada Lund", 46, "female")
    assert known.banner_end == 0
