"""What is found in other readings of a text, and where nothing but a name can stand."""

import pytest
from support.pii.pattern_detector import PatternDetector

from clinaudit.audit.pii.masking.detection import EnsembleDetector
from clinaudit.audit.pii.masking.named_people import NamedPeople

DETECTOR = EnsembleDetector([PatternDetector()])


def found_in(text: str) -> list[tuple[str, str]]:
    return [(span.category, text[span.start : span.end]) for span in DETECTOR.detect(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SSN 1 2 3 - 4 5 - 6 7 8 9 is hers", [("ssn", "1 2 3 - 4 5 - 6 7 8 9")]),
        ("by A d a   L u n d.", [("patient_name", "A d a   L u n d")]),
        ("seen by Ada\n  Lund, who", [("patient_name", "Ada\n  Lund")]),
        ("seen by Ad\na Lund, who", [("patient_name", "Ad\na Lund")]),
        ("seen by Ad\r\na Lund, who", [("patient_name", "Ad\r\na Lund")]),
        ("seen by Ada\x1fLund, who", [("patient_name", "Ada\x1fLund")]),
        ("seen by A\x00da Lund, who", [("patient_name", "A\x00da Lund")]),
        # A label, an item or a heading begins a line of its own.
        ("seen by Ada\nLund: well", []),
        ("seen by Ada\nLUND\n", []),
        ("seen by Ada\n- Lund", []),
        ("a b c d", []),
    ],
)
def test_other_readings_find_what_is_spelled_out_or_runs_on(text: str, found: list[tuple[str, str]]) -> None:
    assert found_in(text) == found


def test_a_name_at_the_end_of_a_line_does_not_take_the_next_word() -> None:
    patterns = PatternDetector({"patient_name": r"Ada \w+"})
    text = "seen by Ada Lund\nreports wheezing"
    assert [text[span.start : span.end] for span in EnsembleDetector([patterns]).detect(text)] == ["Ada Lund"]


def test_spans_that_overlap_all_stand() -> None:
    patterns = [PatternDetector({"patient_name": "Ada Lund"}), PatternDetector({"city": "Lund of Aarhus"})]
    text = "Ada Lund of Aarhus"
    assert [text[span.start : span.end] for span in EnsembleDetector(patterns).detect(text)] == [
        "Ada Lund",
        "Lund of Aarhus",
    ]
    assert EnsembleDetector(patterns).name == "patterns + patterns"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Mr. April Good reports", ["April Good"]),
        ("Patient: Will A. May.", ["Will A. May"]),
        ("The patient, June Street, was", ["June Street"]),
        ("Her husband Will Best came", ["Will Best"]),
        ("Dear April Drug, please", ["April Drug"]),
        ("Name: August O'Brien", ["August O'Brien"]),
        ("Dr. May agreed, Dr. Good-Bell too", ["May", "Good-Bell"]),
        ("Will May is a 45-year-old", ["Will May"]),
        ("Will May (DOB 01/02/1950)", ["Will May"]),
        ("MS Contin 15 mg", []),
        ("the patient will be seen in May", []),
        ("Patient: alert, oriented", []),
        ("Her husband Will", []),
        ("Foley catheter, Parkinson disease", []),
    ],
)
def test_a_name_is_whatever_stands_where_names_stand(text: str, names: list[str]) -> None:
    assert [text[span.start : span.end] for span in NamedPeople().detect(text)] == names
