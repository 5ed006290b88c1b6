"""Are clinical words left alone, and names that look like them masked?"""

import pytest
from support.pii.masked_by_rules import FIRST, SECOND

from clinaudit.audit.pii.masking import filter_detectors, mask_prompt
from clinaudit.audit.pii.masking.not_masked import count_clinical_terms, is_clinical


@pytest.mark.parametrize(
    "text",
    [
        "FHx: father CVA LAS, mother well",
        "Mother CVA LAS",
        "Driver. Ex-smoker.",
        "Nurse: Ex-smoker",
        "Patient: Ex-smoker, lives alone",
        "Husband: Ex-smoker Builder",
        "Patient is Ex-smoker Non-drinker",
        "Friend Thompson test",
        "Wife: Anxiety Depression",
        "Patient sees a counselor once a week. Her trainer wrapped her foot. Consult with her physical therapist.",
        "As he is now 8 years post-op, he walks.",
        "VITALS\n\nBP: 169/74.\nHR: 88 bpm.\nSpO2: 98%.",
    ],
)
def test_clinical_words_are_no_names(text: str) -> None:
    assert mask_prompt(text, None, FIRST, second=SECOND).text == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Ms. Thompson, knee pain. Thompson test negative.", "Ms. <PERSON_1>, knee pain. Thompson test negative."),
        ("Mr. Cva came.", "Mr. <PERSON_1> came."),
        # A first name that is shorthand as well.
        ("PATIENT: ED SMITH\n", "PATIENT: <PATIENT_1>\n"),
        ("HER BROTHER ED HARRIS", "HER BROTHER <RELATIVE_1>"),
        ("AK is a 45-year-old", "<PATIENT_1> is a <AGE_1>"),
        ("Occupation: driver\nEx-smoker", "Occupation: <OCCUPATION_1>\nEx-smoker"),
    ],
)
def test_a_name_beside_them_is_one(text: str, masked: str) -> None:
    assert mask_prompt(text, None, FIRST, second=SECOND).text == masked


def test_a_term_of_the_panel_a_drug_and_shorthand_are_clinical_and_a_first_name_is_not() -> None:
    assert all(map(is_clinical, ("depression", "Anxiety", "HIV", "sertraline", "CVA", "FBC", "MSU", "Ex-smoker")))
    # "Heather" and "Camila" are pills as well.
    assert not any(map(is_clinical, ("Heather", "Camila", "Lund", "Lindqvist")))
    assert count_clinical_terms({"PERSON_1": ("Ada sertraline",), "PERSON_2": ("Ada Lund",)}) == 1


@pytest.mark.parametrize(
    "text",
    [
        "MSU sent. Dx: Headaches.\nHypothyroid.\nPrediabetes.\nFBC, MSU, U&E, LFTs",
        "Plan: FBC and MSU. Headaches reported since May day; hypothyroid, prediabetes.",
    ],
)
def test_a_language_model_adds_no_clinical_word(text: str) -> None:
    by_rules = mask_prompt(text, None, FIRST, second=SECOND).text
    first, second = filter_detectors(ner=True)
    assert mask_prompt(text, None, first, second=second).text == by_rules
