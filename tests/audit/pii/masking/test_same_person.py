"""Which names of a record share a tag: those of one person, told apart by generations and titles."""

import pytest
from support.pii.masked_by_rules import masked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("John Smith's son John Smith Jr. came.", "<PERSON_1>'s son <RELATIVE_1>. came."),
        ("John Smith III and John Smith IV came.", "<PERSON_1> III and <PERSON_2> IV came."),
        ("Mr. Lee's wife, Mrs. Lee, called.", "Mr. <PERSON_1>'s wife, Mrs. <PERSON_2>, called."),
        # It can be either's.
        ("Mr. Lee's wife, Mrs. Lee. Lee is well.", "Mr. <PERSON_1>'s wife, Mrs. <PERSON_2>. <PERSON_3> is well."),
        ("Mr. John Lee and Mrs. Lee. Mr. Lee agrees.", "Mr. <PERSON_1> and Mrs. <PERSON_2>. Mr. <PERSON_1> agrees."),
        # A doctor of the patient's last name is somebody else.
        (
            "Patient: Ada Lund. Dr. Lund saw her. Mrs. Lund is well.",
            "Patient: <PATIENT_1>. Dr. <CLINICIAN_1> saw her. Mrs. <PATIENT_1> is well.",
        ),
        # One person, with a title or without.
        (
            "Mrs. Ada Lund came. Ada Lund left. Ms. Lund agrees. Ada is well.",
            "Mrs. <PERSON_1> came. <PERSON_1> left. Ms. <PERSON_1> agrees. <PERSON_1> is well.",
        ),
        ("Dr. Orla Estermont came. Dr. Estermont left.", "Dr. <CLINICIAN_1> came. Dr. <CLINICIAN_1> left."),
    ],
)
def test_two_people_have_two_tags_and_one_has_one(text: str, expected: str) -> None:
    assert masked(text) == expected
