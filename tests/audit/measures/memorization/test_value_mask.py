"""Placeholders: where the values of an identity occur in a text, by hand."""

from datetime import date

import pytest

from clinaudit.audit.measures.memorization.masked_notes import (
    PLACEHOLDERS,
    MaskableText,
    MaskedValue,
    ValueMask,
    holds_value,
    mask_text,
)
from clinaudit.priors.identity import Identity
from clinaudit.templates.dates import WrittenDates
from clinaudit.templates.spans import Span

DATES = WrittenDates(["%m/%d/%Y", "%Y-%m-%d", "%m/%d/%y", "%d %B %Y"])
BRANDON = Identity(
    names=frozenset({"Brandon J. Green"}),
    ages=frozenset({46}),
    sexes=frozenset({"male"}),
    birth_dates=frozenset({date(1978, 3, 4)}),
    visit_dates=frozenset({date(2024, 6, 13)}),
    providers=frozenset({"Orla Greene, M.D."}),
    practices=frozenset({"Silverton Square"}),
)
LETTERS = {placeholder: f"<{kind}>" for kind, placeholder in PLACEHOLDERS.items()}


def masked(text: str, identity: Identity = BRANDON) -> str:
    found = mask_text(text, ValueMask(identity, DATES).find(text))
    return "".join(LETTERS.get(char, char) for char in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Brandon Green is a pleasant 46-year-old male who presents today for the",
            "<name> is a pleasant <age>-year-old <sex> who presents today for the",
        ),
        # A name in full, in any order, with its initial or a part of it, in any case, is one placeholder.
        ("Green, Brandon J. came", "<name> came"),
        ("GREEN (brandon j. green) came", "<name>) came"),
        ("Mr. Green's wife, brandon-green", "Mr. <name>'s wife, <name>"),
        ("saw Green. Brandon came", "saw <name>. <name> came"),
        ("Green, a painter", "<name>, a painter"),
        # Whole words only.
        (
            "greenish Brandons evergreen 146 460 4.6 mane manly females",
            "greenish Brandons evergreen 146 460 4.6 mane manly females",
        ),
        # Ages beside a cue: after them, before them, or the letter of the sex joined on.
        (
            "46yo 46y/o 46 y.o. 46 year old 46yrs old 46M",
            "<age>yo <age>y/o <age> y.o. <age> year old <age>yrs old <age>",
        ),
        ("age: 46\nAge 46, aged 46; at the age of 46", "age: <age>\nAge <age>, aged <age>; at the age of <age>"),
        # A number alone is none: a dose, a score, a duration; nor is a part of another number, cue or not.
        (
            "46 mg, 46mg, 46 of 50, for 46 yrs, 46 years, 46 m, stage 46, 46",
            "46 mg, 46mg, 46 of 50, for 46 yrs, 46 years, 46 m, stage 46, 46",
        ),
        (
            "aged 46.5, age 1,046, 46.5 mg, 37.46 y/o, aged 46/80, age 46-50",
            "aged 46.5, age 1,046, 46.5 mg, 37.46 y/o, aged 46/80, age 46-50",
        ),
        ("46mg at 45 or 47-year-old", "46mg at 45 or 47-year-old"),
        # The words and the letter of the patient's own sex; no pronoun.
        ("M, man, gentleman; woman, F, he, his", "<sex>, <sex>, <sex>; woman, F, he, his"),
        ("f/u I'm 98.6 M 5 m m/s a.m", "f/u I'm 98.6 M 5 m m/s a.m"),
        # Birth and visit in every format of the profile, padded or not; no other day, and no other format.
        ("03/04/1978 3/4/78 1978-03-04 4 march 1978", "<date> <date> <date> <date>"),
        ("06/13/2024 6/13/24 13 June 2024", "<date> <date> <date>"),
        (
            "03/05/1978 13/06/2024 13.06.2024 106/13/2024 06/13/20245",
            "03/05/1978 13/06/2024 13.06.2024 106/13/2024 06/13/20245",
        ),
        # Provider and practice in full, whatever white space is between their words.
        ("by orla  greene, m.d. at Silverton\nSquare.", "by <provider> at <practice>."),
        ("Orla Greene, RN; Silverton Squares", "Orla Greene, RN; Silverton Squares"),
        ("", ""),
    ],
)
def test_by_hand(text: str, expected: str) -> None:
    assert masked(text) == expected


def test_what_is_unknown_masks_nothing() -> None:
    nobody = Identity(*[frozenset()] * 7)  # type: ignore[arg-type]
    text = "Brandon Green, 46, male, F, 03/04/1978"
    assert masked(text, nobody) == text


def test_a_sex_without_words_of_its_own_is_masked_as_written() -> None:
    other = Identity(*[frozenset()] * 2, frozenset({"Non-binary"}), *[frozenset()] * 4)  # type: ignore[arg-type]
    assert masked("a non-binary patient, male", other) == "a <sex> patient, male"


def test_without_a_sex_that_is_known_either_letter_tells_an_age_and_other_is_a_word_as_any() -> None:
    other = Identity(*[frozenset(), frozenset({46}), frozenset({"Other"})], *[frozenset()] * 4)  # type: ignore[arg-type]
    assert masked("46F, 46M: the other side, 46 mg", other) == "<age>, <age>: the other side, 46 mg"
    # Of a known sex the other letter is somebody else's.
    assert masked("46F, 46M") == "46F, <age>"


def test_an_apostrophe_is_one_however_it_is_written() -> None:
    names = Identity(frozenset({"Ann O'Brien"}), *[frozenset()] * 6)  # type: ignore[arg-type]
    assert masked("Ms. O’Brien, Ann; O'BRIEN", names) == "Ms. <name>; <name>"


def test_letters_that_change_length_in_lower_case_move_no_place() -> None:
    assert masked("İİİ Brandon ran") == "İİİ <name> ran"
    turkish = Identity(frozenset({"İpek Şen"}), *[frozenset()] * 6)  # type: ignore[arg-type]
    assert masked("Dr İPEK ŞEN, İpek", turkish) == "Dr <name>"


def test_a_note_that_holds_a_placeholder_has_another_character_there() -> None:
    name = PLACEHOLDERS["name"]
    text = f"{name} is Brandon"
    assert mask_text(text, ValueMask(BRANDON, DATES).find(text)) == f"\ufffd is {name}"


def test_a_value_that_a_part_cuts_has_its_placeholder() -> None:
    text = "Mr. Brandon Green is, aged 46."
    values = ValueMask(BRANDON, DATES).find(text)
    cut = mask_text(text, values, Span(text.index("don"), text.index("6.")))
    assert cut == f"{PLACEHOLDERS['name']} is, aged {PLACEHOLDERS['age']}"
    # A part that ends before a value, or begins after one, has none of it.
    assert mask_text(text, values, Span(0, 4)) == "Mr. "
    assert mask_text(text, values, Span(text.index(" is"), text.index("46"))) == " is, aged "


@pytest.mark.parametrize(("part", "is_text"), [("", 0), (" \n\n ", 0), ("46yo", 1), (" Brandon\n", 0), ("ran", 1)])
def test_placeholders_and_white_space_alone_are_no_text(part: str, is_text: int) -> None:
    text, mask = f"{part}|", ValueMask(BRANDON, DATES)
    assert (MaskableText(text, mask.find(text), mask).mask_part(Span(0, len(part))) is not None) == is_text


def test_an_age_in_the_age_field_needs_no_cue() -> None:
    text = "Green / 46 / male; 46 mg"
    found = ValueMask(BRANDON, DATES).find(text, text.index("46"))
    assert [text[slice(*value.span_chars)] for value in found if value.kind == "age"] == ["46"]
    assert mask_text(text, found).endswith("; 46 mg")
    # Not where the field holds another number than the patient's age.
    assert not [value for value in ValueMask(BRANDON, DATES).find("47 / male", 0) if value.kind == "age"]


@pytest.mark.parametrize(
    ("prompt", "text", "held"),
    [
        ("patient: Brandon Green", "green", True),
        ("patient: Brandon", "Brandon Green", False),
        ("dob: 03/04/1978", "4 March 1978", True),
        ("dob: 03/04/1978", "06/13/2024", False),
        ("sex: male", "gentleman", True),
        ("46M", "46-year-old", True),
        ("44M", "46-year-old", False),
        ("location: silverton square", "Silverton Square", True),
        ("", "Brandon", False),
    ],
)
def test_what_a_prompt_holds(prompt: str, text: str, held: bool) -> None:
    mask = ValueMask(BRANDON, DATES)
    value = mask.find(text)[0]
    assert isinstance(value, MaskedValue)
    assert holds_value(mask.find(prompt), value) is held
