"""What is found in other readings of a text."""

import pytest
from support.cases import read_cases, read_found
from support.pii.found_spans import found_by
from support.pii.pattern_detector import PatternDetector

from clinaudit.audit.pii.masking.detection import EnsembleDetector, spoken
from clinaudit.audit.pii.plain_text import normalize_text

CASES = read_cases("pii/value_cases.txt")
DETECTOR = EnsembleDetector([PatternDetector()])


@pytest.mark.parametrize(("text", "found"), CASES["other readings"])
def test_other_readings_find_what_is_spelled_out_or_runs_on(text: str, found: str | None) -> None:
    assert found_by(DETECTOR, text) == read_found(found)


@pytest.mark.parametrize(("text", "figures"), CASES["spelled numbers"])
def test_spelled_numbers_are_read_as_figures(text: str, figures: str | None) -> None:
    plain = normalize_text(text)
    read = plain.replaced(spoken(plain.text))
    assert (None if read is plain else read.text) == figures


def test_spans_that_overlap_all_stand() -> None:
    patterns = [PatternDetector({"patient_name": "Ada Lund"}), PatternDetector({"city": "Lund of Aarhus"})]
    text = "Ada Lund of Aarhus"
    assert [text[span.start : span.end] for span in EnsembleDetector(patterns).detect(text)] == [
        "Ada Lund",
        "Lund of Aarhus",
    ]
