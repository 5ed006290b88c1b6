"""Names that are made of common words: what stands beside them tells them, and clinical words are none."""

import json

import pytest
from support.aci_bench import ACI_BENCH
from support.pii.masked_by_rules import masked

from clinaudit.audit.pii.masking.named_people import NamedPeople

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


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_name_of_common_words_is_masked_whole(sentence: str) -> None:
    texts = {name: masked(sentence.format(name)) for name in NAMES}
    assert [name for name, text in texts.items() if any(part in text for part in name.split())] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Reviewed Raman's labs.", "Reviewed <PERSON_1>'s labs."),
        ("Frost's old CT was normal.", "<PERSON_1>'s old CT was normal."),
        ("Spoke with nurse kelly at mercy general.", "Spoke with nurse <PERSON_1> at mercy general."),
    ],
)
def test_a_name_alone_is_told_by_what_it_has(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("Patient is Spanish Speaking.", "Pt is Full Code.", "Mother: Breast Cancer", "RE: Prior Authorization"),
        *("Father: Multiple Sclerosis", "Today's labs. Patient's wounds. Parkinson's medications. Mom's surgery."),
        *("PATIENT IS ALERT ORIENTED", "Contact: P T", "history of Major Depression", "Blood Pressure: 120/80"),
        *("Will Follow up", "May Return to work", "Art Therapy", "Grace was said. A summer hill."),
    ],
)
def test_words_of_notes_are_no_name(text: str) -> None:
    assert NamedPeople().detect(text) == []


@pytest.mark.skipif(not NOTES.exists(), reason="the notes of ACI-Bench are not here")
def test_notes_that_others_wrote_lose_nothing_but_names() -> None:
    texts = [json.loads(line)["text"] for line in NOTES.read_text(encoding="utf-8").splitlines()]
    found = {text[span.start : span.end] for text in texts for span in NamedPeople().detect(text)}
    # Whoever has two names begins their note, or is spoken of with a verb.
    whole = {one for one in found if " " in one}
    said = ("is a", "presents", "is here", "was seen", "returns", "came", "underwent")
    assert {one for one in whole if not any(f"{one} {verb}" in text for text in texts for verb in said)} <= {
        *("Ruth Sanchez", "Tyler Sanchez", "Henry Howard", "Betty Hill", "Alice Davis"),
    }
    assert len(whole) > len(texts) // 3
