"""Three invented layouts, alone and in one corpus: every fact is found where it stands (docs/note-templates.md)."""

from pathlib import Path

import pytest
from support.note_layouts import PROFILE, Person, make_people
from support.patient_facts import corpus_of

from clinaudit.audit.preview.profile_fit import Kind, measure_fit
from clinaudit.priors.facts import PatientFacts, read_facts
from clinaudit.priors.tiers import TIERS, Fact
from clinaudit.templates.names import NO_LAYOUT
from clinaudit.templates.profile import NoteProfile, load_profile

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


def test_the_three_layouts_fit_without_a_problem(tmp_path: Path, profile: NoteProfile) -> None:
    fit = measure_fit(read(tmp_path, PEOPLE, profile), profile)
    assert [(item.layout, item.patients) for item in fit.layouts] == [
        ("banner", 25),
        ("one a line", 25),
        ("shorthand", 25),
    ]
    assert [finding.text for finding in fit.findings if finding.level == "problem"] == []
    assert fit.layouts[2].facts[Fact.DOB].read == 25
    assert [item.sections["Past Medical History"] for item in fit.layouts] == [0, 0, 25]
    assert [item.sections["Plan"] for item in fit.layouts] == [25, 25, 25]


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


def test_a_note_that_fits_no_layout_is_counted_as_such(tmp_path: Path, profile: NoteProfile) -> None:
    stray = Person("stray", "none", "Letter\n\nC/O cough\nHPC worse\nPlan rest\n", {})
    facts = read(tmp_path, [*PEOPLE[:6], stray], profile)
    assert facts["stray"].layout == NO_LAYOUT
    # It is read under the last layout, in silence nowhere.
    assert facts["stray"].in_note[Fact.CHIEF_COMPLAINT].value == "cough"
    (finding,) = [item for item in measure_fit(facts, profile).findings if item.kind is Kind.NO_LAYOUT]
    assert (finding.found, finding.of, finding.level) == (6, 7, "problem")


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
