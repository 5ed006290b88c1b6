"""What the command's detectors mask and what they leave: tables of texts, names of common words, clinical words."""

import json
import re

import pytest
from support.aci_bench import ACI_BENCH
from support.cases import read_cases, read_rows
from support.pii.found_spans import found_in_group
from support.pii.labelled_identifiers import labelled_texts
from support.pii.masked_by_rules import BY_RULES, mask_prompt, masked

from clinaudit.audit.pii.masking import filter_detectors
from clinaudit.audit.pii.masking.not_masked import is_clinical, without_larger_places
from clinaudit.audit.pii.plain_text import decoded_stretches
from clinaudit.audit.pii.taxonomy import EntitySpan

ROWS = read_rows("pii/rows.txt")

CASES = read_cases("pii/masked_cases.txt")
NAMED_NOBODY, NUMBERS = (
    [case for cases in read_cases(f"pii/{name}.txt").values() for case in cases]
    for name in ("named_nobody", "number_cases")
)
TAG = r"<[A-Z][A-Z_0-9]*_\d+>"
#: How many days a tag is after another is the tags' matter.
INTERVAL = re.compile(r"(?<=\d)[+-]\d+d(?=>)")
NAMES = (
    *("Hope Rivers", "Joy Waters", "Rose Field", "April Day", "Summer Hill", "Grace Banks", "Will Stone", "Mark Wood"),
    *("Faith Brooks", "Iris Lake", "Dawn Frost", "Ivy Marsh", "Art King", "Bill Rich", "Grant Young", "Stone Bishop"),
)
SENTENCES = (
    *("Pt is {}.", "RE: {}", "Sister: {}", "Contact: {}", "Patient is {}, seen today.", "Subject: {} follow up"),
    *("I saw {} in clinic today.", "Labs for {} are pending.", "{}: chest pain, resolved.", "{}'s wound is healing."),
    *("Her brother, {}, drove her home.", "Patient ({}) has asthma.", "Discussed with {} by phone."),
)
NOTES = ACI_BENCH / "notes.jsonl"
BY_DEFAULT = filter_detectors()


@pytest.mark.parametrize(("text", "expected"), [*CASES["masked"], *NAMED_NOBODY])
def test_identifiers_are_masked_and_nothing_else_nor_what_bears_a_name(text: str, expected: str | None) -> None:
    assert masked(text) == (text if expected is None else expected)


@pytest.mark.parametrize(("text", "query", "expected"), ROWS["what a question needs stays"])
def test_what_a_question_needs_stays(text: str, query: str, expected: str) -> None:
    assert mask_prompt(text, query, BY_RULES).text == expected


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_name_of_common_words_is_masked_whole(sentence: str) -> None:
    texts = {name: masked(sentence.format(name)) for name in NAMES}
    assert [name for name, text in texts.items() if any(part in text for part in name.split())] == []


@pytest.mark.skipif(not NOTES.exists(), reason="the notes of ACI-Bench are not here")
def test_notes_that_others_wrote_lose_nothing_but_names() -> None:
    texts = [json.loads(line)["text"] for line in NOTES.read_text(encoding="utf-8").splitlines()]
    found = {text[span.start : span.end] for text in texts for span in found_in_group("places of names", text)}
    # Whoever has two names begins their note, or is spoken of with a verb.
    whole = {one for one in found if " " in one}
    said = ("is a", "presents", "is here", "was seen", "returns", "came", "underwent")
    assert {one for one in whole if not any(f"{one} {verb}" in text for text in texts for verb in said)} <= {
        *("Ruth Sanchez", "Tyler Sanchez", "Henry Howard", "Betty Hill", "Alice Davis", "Betty Ross")
    }
    assert len(whole) > len(texts) // 3


def test_a_town_that_a_model_takes_for_a_person_is_a_town_without_its_state() -> None:
    text = "She is in Gilbert AZ."
    assert without_larger_places(text, EntitySpan(10, 20, "full_name", "model")) == EntitySpan(10, 17, "city", "model")
    name = EntitySpan(0, 7, "full_name", "model")
    assert without_larger_places("Lund AZ is here.", name) == name


def test_a_word_that_decodes_to_nothing_readable_is_no_encoding() -> None:
    assert list(decoded_stretches("Hypertension Metronidazole1 Electrocardiogram")) == []
    assert [one.text for one in decoded_stretches("NDEyLTU1LTY3ODk=")] == ["412-55-6789"]


def test_a_term_of_the_panel_a_drug_and_shorthand_are_clinical_and_a_first_name_is_not() -> None:
    assert all(map(is_clinical, ("depression", "Anxiety", "HIV", "sertraline", "CVA", "FBC", "MSU", "Ex-smoker")))
    # "Heather" and "Camila" are pills as well.
    assert not any(map(is_clinical, ("Heather", "Camila", "Lund", "Lindqvist")))


def masked_by_rules(text: str) -> str:
    return INTERVAL.sub("", masked(text))


def masked_with_a_model(text: str) -> str | None:
    return mask_prompt(text, None, BY_DEFAULT).text


@pytest.mark.parametrize(
    "text", [text for text, expected in (*CASES["masked"], *CASES["kept by a model"]) if expected is None]
)
def test_what_rules_leave_a_language_model_leaves(text: str) -> None:
    assert masked_with_a_model(text) == text


@pytest.mark.parametrize("text", ROWS["a language model adds no clinical word"])
def test_a_language_model_adds_no_clinical_word(text: str) -> None:
    assert masked_with_a_model(text) == mask_prompt(text, None, BY_RULES).text


def test_a_language_model_sees_a_name_that_ends_as_drugs_do() -> None:
    left = masked_with_a_model(
        "We discussed this with Bartolone and his wife. Bartolone and Politis agreed. Robert Bartolone SSN 412-55-6789."
    )
    assert left is not None
    assert not [name for name in ("Bartolone", "Politis") if name in left]
    assert left.endswith(" SSN <SSN_1>.")


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_a_kind_is_masked_whole_and_nothing_else_is(text: str, expected: str | None) -> None:
    assert masked_by_rules(text) == (text if expected is None else expected)


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.simulation)])
def test_of_a_thousand_identifiers_with_a_label_none_is_left_and_nothing_beside_them_is_masked(count: int) -> None:
    planted = list(labelled_texts(count, seed=1))
    wrong = [
        one.kind
        for one in planted
        if not re.fullmatch(re.escape(one.before) + TAG + re.escape(one.behind), masked_by_rules(one.text))
    ]
    assert wrong == []
    assert len({one.kind for one in planted}) > 20
