"""Recall of names by where they come from: a rule must not know Smith and miss Olujimi."""

import pytest
from faker import Faker
from support.pii.found_spans import found_by

from clinaudit.audit.pii.detectors.rules import RuleDetector

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
