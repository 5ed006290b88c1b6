"""Placeholders: where the values of an identity occur in a text, by hand."""

import random
import re
from datetime import date

import pytest
from support.cases import read_cases

from clinaudit.audit.measures.memorization.masked_notes import (
    PLACEHOLDERS,
    MaskableText,
    ValueMask,
    holds_value,
    mask_text,
)
from clinaudit.priors.identity import Identity
from clinaudit.templates.dates import WrittenDates
from clinaudit.templates.shown_text import Span

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


def masked(text, identity=BRANDON):
    found = mask_text(text, ValueMask(identity, DATES).find(text))
    return "".join(LETTERS.get(char, char) for char in found)


@pytest.mark.parametrize(("text", "expected"), read_cases("measure_cases.txt")["masked values"])
def test_by_hand(text, expected):
    assert masked(text) == (expected or text)


def test_without_a_sex_that_is_known_either_letter_tells_an_age_and_other_is_a_word_as_any():
    other = Identity(*[frozenset(), frozenset({46}), frozenset({"Other"})], *[frozenset()] * 4)
    assert masked("46F, 46M: the other side, 46 mg", other) == "<age>, <age>: the other side, 46 mg"
    # Of a known sex the other letter is somebody else's.
    assert masked("46F, 46M") == "46F, <age>"


def masked_by_pattern(text, parts):
    """Return a text without its names, as one pattern of all their parts finds them."""
    whole = "|".join(sorted((part for part in parts if part[1:]), key=lambda part: (-len(part), part)))
    between, part = r"[^\w\n.;:!?]{1,3}", rf"(?:{whole})(?!\w)"
    initial = rf"(?:{'|'.join(part for part in parts if not part[1:])})(?:\.|(?={between}{part}))"
    return re.sub(rf"(?<!\w){part}(?:{between}(?:{part}|{initial}))*", "<name>", text, flags=re.IGNORECASE)


def test_names_are_found_as_one_pattern_of_their_parts_finds_them():
    identity = Identity(frozenset({"Green, Brandon J.", "A. O'Brien"}), *[frozenset()] * 6)
    parts = ["green", "brandon", "j", "a", "o'brien"]
    pieces = [*parts, "Green", "greene", "'s", "J.", "x", "_", "9", *" ,.-\n;'", "  ", ", "]
    rng = random.Random(5)
    texts = ["".join(rng.choices(pieces, k=rng.randrange(12))) for _ in range(3000)]
    for text in texts:
        assert masked(text, identity) == masked_by_pattern(text, parts)
    assert sum("<name>" in masked_by_pattern(text, parts) for text in texts) > 500


def test_letters_that_change_length_in_lower_case_move_no_place():
    turkish = Identity(frozenset({"İpek Şen"}), *[frozenset()] * 6)
    assert masked("İİİ Dr İPEK ŞEN, İpek", turkish) == "İİİ Dr <name>"


def test_a_note_that_holds_a_placeholder_has_another_character_there():
    name = PLACEHOLDERS["name"]
    text = f"{name} is Brandon"
    assert mask_text(text, ValueMask(BRANDON, DATES).find(text)) == f"\ufffd is {name}"


def test_a_value_that_a_part_cuts_has_its_placeholder():
    text = "Mr. Brandon Green is, aged 46."
    values = ValueMask(BRANDON, DATES).find(text)
    cut = mask_text(text, values, Span(text.index("don"), text.index("6.")))
    assert cut == f"{PLACEHOLDERS['name']} is, aged {PLACEHOLDERS['age']}"
    # A part that ends before a value, or begins after one, has none of it.
    assert mask_text(text, values, Span(0, 4)) == "Mr. "
    assert mask_text(text, values, Span(text.index(" is"), text.index("46"))) == " is, aged "


@pytest.mark.parametrize(("part", "is_text"), [("", 0), (" \n\n ", 0), ("46yo", 1), (" Brandon\n", 0), ("ran", 1)])
def test_placeholders_and_white_space_alone_are_no_text(part, is_text):
    text, mask = f"{part}|", ValueMask(BRANDON, DATES)
    assert (MaskableText(text, mask.find(text), mask).mask_part(Span(0, len(part))) is not None) == is_text


def test_an_age_in_the_age_field_needs_no_cue():
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
def test_what_a_prompt_holds(prompt, text, held):
    mask = ValueMask(BRANDON, DATES)
    value = mask.find(text)[0]
    assert holds_value(mask.find(prompt), value) is held
