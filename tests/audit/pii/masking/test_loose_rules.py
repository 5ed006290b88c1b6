"""Ages that nothing calls one, and the last digits of hidden numbers; and what looks like them."""

import pytest
from support.pii.found_spans import found_in_group


def ages_in(text: str) -> list[tuple[str, str]]:
    return [(span.category, text[span.start : span.end]) for span in found_in_group("bare ages", text)]


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("Her son in Boston is 31.", "31"),
        ("Mr. Lund, seen today, is 93.", "93"),
        ("the patient, who lives alone, is 93.", "93"),
        ("the patient who lives with her son in Boston is 93 and frail", "93"),
        ("Mr. Lund at 93 is doing well", "93"),
        ("At 93, Mr. Lund still gardens.", "93"),
        ("His mother, a retired nurse, was 97 when she died.", "97"),
        ("My father - a heavy smoker - was 91.", "91"),
        ("Her mother died of a stroke at 97.", "97"),
        ("mother (d. 97) of MI", "97"),
        ("Father: 97, healthy", "97"),
        ("Her husband Per, now 91, drives.", "91"),
        ("The patient (93) was seen.", "93"),
        ("His grandmother lived to be 102.", "102"),
        ("My wife turned ninety-three last week.", "ninety-three"),
        ("the patient will turn 90 in May", "90"),
        ("she's 96 next week", "96"),
        ("Mr. Lund came with his wife and, being 93, tires.", "93"),
        ("She and her twin are both 92.", "92"),
        ("<PATIENT_1>, seen today, is 93.", "93"),
        ("Patient is 93+ and frail.", "93"),
    ],
)
def test_a_bare_number_of_somebody_is_an_age(text: str, age: str) -> None:
    assert ages_in(text) == [("age" if age == "31" else "age_over_89", age)]


@pytest.mark.parametrize(
    "text",
    [
        *("heart rate is 93, SpO2 is 93, glucose was 110, weight is 93",),
        *("Mr. Lund has diabetes; his glucose was 110 and weight is 93 kg.", "The patient's heart rate was 93."),
        *("Mr. Lund's LDL is 98, HDL 45.", "The creatinine of the patient was 2."),
        *("She reports her pain was 10 and now is 4.", "His dog is 12. His dog was 93."),
        *("He checked and it was 110.", "She checked her sugar, which was 110.", "The patient on room air was 93."),
        *("Patient, on 2 L, sats at 93. She was satting at 93, then 95.",),
        *("He is 93% on room air. The patient was 98 systolic.", "She states that her systolic was 110 at home."),
        *("Lower rate limit is 60, the patient is paced at 90.", "Diagnosed with sepsis, pulse at 110."),
        *("She was 93 at rest. BP 120/80, P 93.",),
    ],
)
def test_a_vital_sign_a_value_and_a_score_are_none(text: str) -> None:
    assert ages_in(text) == []


def digits_in(text: str) -> list[str]:
    return [text[found.start : found.end] for found in found_in_group("last digits", text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SSN xxx-xx-6789", ["6789"]),
        ("card ****6789 and #### #### #### 1234", ["6789", "1234"]),
        ("MRN###1234", ["1234"]),
        ("•••• 321", ["321"]),
        ("#### 12.5 mg", []),
        ("a row ######## and nothing after it", []),
    ],
)
def test_the_last_digits_of_hidden_numbers(text: str, found: list[str]) -> None:
    assert digits_in(text) == found


@pytest.mark.parametrize("sign", ["*", "#", "x", "•", "#-"])
def test_a_row_of_signs_is_read_once(sign: str) -> None:
    # Read in every way that a row can be taken apart, this does not end.
    assert digits_in(sign * 2_000) == []
