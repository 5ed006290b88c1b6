"""Age and sex as notes introduce their patient, where they stand, and what only looks like an introduction."""

from pathlib import Path

import pytest
from support.patient_facts import PROFILE, corpus_of, facts_of, note_rows

from clinaudit.priors.corpus.patient import Patient
from clinaudit.priors.facts import FactReader
from clinaudit.priors.identity import IdentityReader
from clinaudit.priors.introduction import find_introduction, read_age, read_sex
from clinaudit.priors.tiers import Fact
from clinaudit.templates.profile import load_profile
from clinaudit.templates.shown_text import Span

_MARKS = str.maketrans("", "", "[]<>")


@pytest.mark.parametrize(
    "marked",
    [
        "HPI: [46]<F> with cough",
        "[46] <F> with cough",
        "[46yo] <female>",
        "[46 y/o] <M> p/w chest pain",
        "[46 y.o.] <female> here for follow-up",
        "[46 yrs] <F> with cough",
        "[46y]<M> with cough",
        "[46]/<M> c/o pain",
        "<F>/[46] with cough",
        "<Male>, [46 y/o], smoker",
        "Age/Sex: [46]<F>",
        "Ada Lund, [46]<F>\nDOB 01/02/1980",
        "Ada Lund [46] <M> DOB 01/02/1980",
        "Patient: Ada Lund ([46]<F>)",
        "[67y/o] RH<F> with weakness",
        "The patient is a [46-year-old] <female>",
        "This is a pleasant [46-year-old] right-handed, Hispanic <lady> who fell",
        "Mr. Lund is a [46 year old] <gentleman> with cough",
        "Chest pain in a [46-year-old] <male>.",
        "1. [46 y/o] <female> with DM",
        "a [3-month-old] <boy>",
        "The patient is a [4-1/2-year-old] <boy> with reflux",
        "This [1-year-old] <male> child was brought by her mother",
        "This [22-month-old] <female> was brought by her mother",
        "Her mother brought this [22-month-old] <girl>",
        "the patient is a\n[46-year-old]\n<female>",
        # Over 89, as a table may say it.
        "[≥ 90 y/o] <M> with cough",
        "The patient is [over 89 years old].",
        "Ada Lund is a [90+-year-old] <woman>",
        "HPI: [90+]<F> with cough",
        "[90+ yo] <F> with cough",
        # Blanks of a web form.
        "The patient is a [46\u00a0year\u2009old] <female>",
        # A practice is no relative.
        "Lakeshore Family Medicine    DOB: 01/02/1980   [46 y.o.] <F>",
        # No sex, or one that is neither female nor male.
        "[46 year old] presents with cough",
        "The patient is a [46-year-old].",
        "patient is [46 years old]",
        "Pt [46yo] seen today",
        "[3 week old] infant with fever",
        "[46-year-old] transgender woman",
        "[46-year-old] transgender woman. The patient is a 46-year-old woman.",
        "[46-year-old] who lives with a male friend",
        # Others beside the patient, and the patient of years ago.
        "[46]<F> with cough. Mother is a 70F with cancer.",
        "[46-year-old] <female> while at work felt dizzy",
        "[24]<F> with T 98.6F",
        "[46-year-old] <female> with asthma since she was 13 years old. Her 9-year-old brother has none.",
        "[46]<F> with cough.\nASSESSMENT\n46-year-old woman with cough.",
    ],
)
def test_an_introduction_is_found_where_it_stands(marked: str) -> None:
    """The age stands in square brackets, the sex in angled ones."""
    text = marked.translate(_MARKS)
    found = find_introduction(text)
    marks = {span: mark for span, mark in zip(found, ("[]", "<>"), strict=True) if span is not None}
    for start, end in sorted(marks, reverse=True):
        before, after = marks[Span(start, end)]
        text = f"{text[:start]}{before}{text[start:end]}{after}{text[end:]}"
    assert text == marked


@pytest.mark.parametrize(
    "text",
    [
        # Temperatures, and what else is measured.
        "T 46F",
        "T: 98.6 F",
        "98.6F",
        "98F with chills",
        "Temp 98 F",
        "Vitals: BP 120/80, 99F",
        "BP 146/92 F",
        "46 mg daily",
        "6F sheath",
        "6F, catheter left in place",
        "24F catheter placed",
        "room 46, F wing",
        "He took 46M steps",
        # Relatives and others.
        "mother is 70F",
        "Mother: 70F with breast ca",
        "Sister 46F",
        "Her mother, a 70-year-old female, died",
        "she lives next door to her mother, who moved in last spring, a\n70-year-old female with dementia",
        "lives with a 46-year-old male",
        "a 46-year-old male partner",
        "9-year-old brother with autism",
        "He was hit by a 46-year-old male driver",
        # Another time, a duration, a thing, nobody in particular.
        "since she was 13 years old",
        "when she was a 14-year-old girl",
        "at the age of 46 when he fell",
        "The patient was 46 years old when he fell.",
        "She was a 46-year-old woman when she was diagnosed",
        "46 y/o female when diagnosed, now well",
        "Patient was 46 years old at the time of diagnosis.",
        "The patient, a 46 year old male at that time",
        "46-year-old female in 2010",
        "Ada Lund, 46F, when last seen",
        # A bound that tells no age, or nobody's.
        "The patient is over 46 years old.",
        "46+F with cough",
        "<46-year-old female",
        "~46-year-old female",
        "screening is recommended for patients over 89 years old",
        "a woman over 89 years old",
        "as a 14-year-old boy",
        "5 to 10 years of age",
        "Smoked 20 years, female pattern baldness",
        "Duration: 5 years.",
        "Scar: 10 days old.",
        "46-year-old house",
        "10-year-old scar, healed",
        "women 40-46 years old",
        "recommended in 50-year-old females",
        "F/U 46 days",
        "M/W/F",
        "46 F-to-M",
        "146-year-old female",
        # Two that differ: neither counts.
        "46-year-old with cough. The patient is a 47-year-old.",
    ],
)
def test_what_only_looks_like_one_is_none(text: str) -> None:
    assert find_introduction(text) == (None, None)


def test_of_age_and_sex_each_must_agree() -> None:
    text = "46-year-old female with cough.\n\nASSESSMENT\n\nThe patient is a 47-year-old woman."
    found = find_introduction(text)
    assert found.age_chars is None
    assert found.sex_chars is not None
    assert text[slice(*found.sex_chars)] == "female"


@pytest.mark.parametrize(
    ("field", "age", "sex"),
    [
        ("46", 46, None),
        ("46 yrs", 46, None),
        ("46-year-old", 46, None),
        ("46 y.o.", 46, None),
        ("46F", 46, "female"),
        ("46 y.o. / female", 46, "female"),
        ("F, 46", 46, "female"),
        ("M/46", 46, "male"),
        ("46 (F)", 46, "female"),
        ("3-month-old", 0, None),
        ("22-month-old", 1, None),
        ("90+", 90, None),
        (">89 y.o. F", 90, "female"),
        ("90+F", 90, "female"),
        (">46", None, None),
        ("W", None, "female"),
        ("F.", None, "female"),
        ("BOY", None, "male"),
        ("other", None, None),
        ("131", None, None),
        ("1.5", None, None),
        ("", None, None),
    ],
)
def test_a_field_may_hold_both(field: str, age: int | None, sex: str | None) -> None:
    found = read_age(field)
    assert (found and found.years, read_sex(field)) == (age, sex)


def test_facts_without_a_table(tmp_path: Path) -> None:
    known = facts_of(tmp_path, "patient: Ada Lund\ncc: cough\nhpi: 46F with cough.\nfamily history:\n70M, stroke\n")
    assert (known.age, known.sex, known.values[Fact.AGE], known.values[Fact.SEX]) == (46, "female", "46", "female")
    assert {fact: field.value for fact, field in known.in_prose.items()} == {Fact.AGE: "46", Fact.SEX: "F"}
    assert known.in_note.keys().isdisjoint(known.in_prose)


def test_a_table_and_a_place_of_the_template_come_before_an_introduction(tmp_path: Path) -> None:
    note = "sex: M\nage: 47\ncc: cough\nhpi: 46F with cough.\n"
    known = facts_of(tmp_path / "a", note)
    assert (known.age, known.sex, known.in_prose) == (47, "male", {})
    of_table = facts_of(tmp_path / "b", "cc: cough\nhpi: 46F\n", "patient_id,split,age,sex\np,train,48,male\n")
    assert (of_table.age, of_table.sex, of_table.values[Fact.SEX]) == (48, "male", "male")
    by_birth = facts_of(tmp_path / "c", "dob: 02/03/1960\nvisit date: 05/01/2024\ncc: cough\nhpi: 46F with cough\n")
    assert (by_birth.age, by_birth.sex) == (64, "female")


@pytest.mark.parametrize(
    ("told", "age"),
    [
        ("Ada Lund is a >89-year-old female.", "90 or over"),
        ("Ada Lund is over 89 years old.", "90 or over"),
        (">89F with cough.", "90 or over"),
        ("A 46-year-old female.", "46"),
        ("A 46-year-old female when she fell.", None),
        ("Diagnosed when she was 46 years old.", None),
    ],
)
def test_an_age_that_only_a_pattern_of_the_template_finds_is_of_now_and_may_be_bounded(
    tmp_path: Path, told: str, age: str | None
) -> None:
    corpus = corpus_of(tmp_path, note_rows([("p", f"CHIEF COMPLAINT: fall.\nHPI: {told}\nPLAN: rest.\n")]))
    facts = FactReader(load_profile(Path("dictation"))).read(corpus, "p")
    assert facts.values.get(Fact.AGE) == age


def test_whose_note_it_is_says_an_introduction_too(tmp_path: Path) -> None:
    text = "cc: cough\nhpi: 46F with cough"
    corpus = corpus_of(tmp_path, note_rows([("p", text)]))
    (identity,) = IdentityReader(PROFILE).read(corpus.patients["p"], corpus.notes_of("p"))
    assert (identity.ages, identity.sexes, identity.age_place) == ({46}, {"F"}, len("cc: cough\nhpi: "))
    # A table that tells both leaves no need to look.
    told = Patient("p", "train", age=47, sex="male")
    (identity,) = IdentityReader(PROFILE).read(told, corpus.notes_of("p"))
    assert (identity.ages, identity.sexes, identity.age_place) == ({47}, {"male"}, None)


@pytest.mark.parametrize(
    ("piece", "start"),
    [
        # No field, line or sentence begins at the last age, and the first says too little.
        *[(piece, None) for piece in ("46", "46 ", "Ab ", "A", "46-year-old ", "a-", "F/4", "half-", "great-")],
        # The first of the pieces that follows a comma.
        ("46F, ", len("46-year-old 46F, ")),
        # The last age, after a comma, and on a line of its own.
        *[(piece, len("46-year-old ") + 2_000 * len(piece)) for piece in ("Ada, ", "\n")],
    ],
)
def test_among_thousands_of_odd_pieces_an_age_counts_where_a_field_begins(piece: str, start: int | None) -> None:
    """A pattern that backtracked over them would not come to an end."""
    found = find_introduction("46-year-old " + piece * 2_000 + "46F")
    assert found == ((None, None) if start is None else (Span(start, start + 2), Span(start + 2, start + 3)))
