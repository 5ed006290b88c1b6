"""Each group of rules: what it finds in a text, and what looks like it and is none; names of any origin."""

import pytest
from faker import Faker
from support.cases import read_cases, read_found
from support.pii.found_spans import found_by, recognized

from clinaudit.audit.pii.detectors.numbers_and_dates import is_vin
from clinaudit.audit.pii.detectors.rules import RuleDetector

CASES = [(group, *case) for group, cases in read_cases("pii/rule_cases.txt").items() for case in cases]


@pytest.mark.parametrize(("group", "text", "found"), CASES)
def test_a_group_finds_its_kinds_and_nothing_else(group, text, found):
    assert recognized(group, text) == read_found(found)


@pytest.mark.parametrize("sign", ["*", "#", "x", "•", "#-"])
def test_a_row_of_signs_is_read_once(sign):
    # Read in every way that a row can be taken apart, this does not end.
    assert recognized("last digits", sign * 2_000) == []


def test_the_check_digit_of_a_vehicle_is_computed_over_all_17_characters():
    # 49 CFR 565.15(c): 11111111111111111 gives the digit 1.
    assert is_vin("1" * 17)
    assert not is_vin("1" * 16 + "2")
    assert not is_vin("1M8GDM9AXKP04278O")
    assert is_vin("1M8GDM9AXKP042788")


LOCALES = ("en_US", "en_IN", "es_MX", "pl_PL", "tr_TR", "vi_VN", "yo_NG", "zu_ZA", "az_AZ", "nl_NL", "no_NO", "cs_CZ")
#: What rules must find whole: a label, a title, a degree, an age, a relative or a greeting stands beside the name.
SENTENCES = (
    *(
        "Patient: {}\nDOB: 03/14/1950",
        "Seen today by {}, MD, for cough.",
        "{} is a 50-year-old woman.",
        "My name is {}.",
    ),
    *("Her wife {} called.", "Electronically signed by {}", "Emergency contact: {}\n", "Dear {},\nyour results"),
)
DETECTOR = RuleDetector(kinds={"full_name", "patient_name", "clinician_name", "relative_name"})


@pytest.mark.parametrize("locale", LOCALES)
def test_names_with_something_beside_them_are_found_whatever_their_origin(locale):
    fake = Faker(locale)
    fake.seed_instance(16)
    names = [f"{fake.first_name()} {fake.last_name()}" for _ in range(12)]
    missed = [
        sentence
        for name in names
        for sentence in SENTENCES
        if not any(name in text for _, text in found_by(DETECTOR, sentence.format(name)))
    ]
    assert len(missed) <= 0.03 * len(names) * len(SENTENCES)
