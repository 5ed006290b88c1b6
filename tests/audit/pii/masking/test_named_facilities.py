"""Is a hospital that was named after somebody a place, and somebody before a word of the ward still a person?"""

import pytest
from support.pii.masked_by_rules import FIRST, SECOND, masked

from clinaudit.audit.pii.masking import mask_prompt


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Admitted to Mercy Ridge Hospital", "Admitted to <FACILITY_1>"),
        ("Mercy Ridge Hospital called today", "<FACILITY_1> called today"),
        ("Seen at Mercy Ridge Hospital on 10/28.", "Seen at <FACILITY_1> on <DATE_1>."),
        ("Transferred from Grace Hill Clinic", "Transferred from <CLINIC_1>"),
        ("Faith Regional Medical Center and Ada Lund Memorial Hospital", "<FACILITY_1> and <FACILITY_2>"),
        # Of a name with a title more is known, and the word may belong to what follows.
        ("Dr. Mercy Ridge saw her at Mercy Ridge Hospital", "Dr. <CLINICIAN_1> saw her at <FACILITY_1>"),
        ("Ada Lund Hospital day 3", "<PERSON_1> day 3"),
        ("Patient Ada Lund Hospital course was short.", "<PERSON_1> course was short."),
        ("Ada Lund Clinic visit", "<PERSON_1> visit"),
    ],
)
def test_a_facility_is_told_from_a_person(text: str, expected: str) -> None:
    assert masked(text) == expected


def test_a_facility_stays_where_the_question_needs_it() -> None:
    text = "Ada Lund was admitted to Mercy Ridge Hospital."
    result = mask_prompt(text, "Which hospital was the patient admitted to?", FIRST, second=SECOND)
    assert result.text == "<PERSON_1> was admitted to Mercy Ridge Hospital."
