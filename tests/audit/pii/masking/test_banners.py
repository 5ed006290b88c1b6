"""Is what is masked in the story masked in the banner too: age, sex and occupation, however they stand there?"""

import pytest
from support.pii.masked_by_rules import FIRST, SECOND

from clinaudit.audit.pii.masking import mask_prompt


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (
            "Name: Ada Lund   58   F   MRN 123456\n\nThis 58-year-old woman coughs.",
            "Name: <PATIENT_1>   <AGE_1>   <GENDER_1>   MRN <MRN_1>\n\nThis <AGE_1> <GENDER_2> coughs.",
        ),
        (
            "Ada Lund | F | 58 | 12 Jan 2020\n\n58yo woman, teacher, with cough.",
            "<PERSON_1> | <GENDER_1> | <AGE_1> | <DATE_1>\n\n<AGE_1>yo <GENDER_2>, <OCCUPATION_1>, with cough.",
        ),
        ("Patient: Ada Lund (F) DOB 03/04/1960", "Patient: <PATIENT_1> (<GENDER_1>) DOB <BIRTH_DATE_1>"),
        ("Ada Lund\n58 years\nM\nSmoker\n", "<PERSON_1>\n<AGE_1> years\n<GENDER_1>\nSmoker\n"),
        ("Age/Sex: 58/M", "Age/Sex: <AGE_1>/<GENDER_1>"),
        ("Age / Sex : 58 / M", "Age / Sex : <AGE_1> / <GENDER_1>"),
        ("Sex/Age: F, 93", "Sex/Age: <GENDER_1>, <AGE_OVER_89_1>"),
        ("58 M\nCough.", "<AGE_1> <GENDER_1>\nCough."),
        # In no banner a letter and a number are neither.
        ("Cough.\nM\n58\nHR 58, T 37", "Cough.\nM\n58\nHR 58, T 37"),
        ("Mr. Lund, HR 72, BP 120/80, M protein", "Mr. <PERSON_1>, HR 72, BP 120/80, M protein"),
        ("Dr. Lund, F/U in 2 weeks, M/W/F", "Dr. <CLINICIAN_1>, F/U in 2 weeks, M/W/F"),
        # Another number than the age.
        ("Name: Ada Lund   72   98%\nShe is 58 years old.", "Name: <PATIENT_1>   72   98%\nShe is <AGE_1> years old."),
    ],
)
def test_age_and_sex_of_a_banner_are_masked(text: str, masked: str) -> None:
    assert mask_prompt(text, None, FIRST, second=SECOND).text == masked


def test_what_a_question_needs_stays_in_banner_and_story() -> None:
    text = "Ada Lund | F | 58\n\n58-year-old with cough."
    masked = mask_prompt(text, "How old is the patient?", FIRST, second=SECOND)
    assert masked.text == "<PERSON_1> | <GENDER_1> | 58\n\n58-year-old with cough."


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Job: chef.", "Job: <OCCUPATION_1>."),
        ("He works in landscaping.", "He works in <OCCUPATION_1>."),
        ("Employed in healthcare, lives alone", "Employed in <OCCUPATION_1>, lives alone"),
        ("by trade I am a qualified paralegal.", "by trade I am a qualified <OCCUPATION_1>."),
        ("being a full-time cellist pays the rent", "being a full-time <OCCUPATION_1> pays the rent"),
        ("Retired nurse.", "Retired <OCCUPATION_1>."),
        ("He works in the yard.", "He works in the yard."),
    ],
)
def test_occupations_are_masked(text: str, masked: str) -> None:
    assert mask_prompt(text, None, FIRST, second=SECOND).text == masked
