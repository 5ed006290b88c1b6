"""What is found in other readings of a text; telephone numbers as several countries write them."""

import pytest
from support.cases import read_cases, read_found, read_rows
from support.pii.found_spans import found_by
from support.pii.pattern_detector import PatternDetector

from clinaudit.audit.pii.masking.detection import EnsembleDetector, TelephoneNumbers, spoken
from clinaudit.audit.pii.plain_text import normalize_text

ROWS = read_rows("pii/rows.txt")
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


@pytest.mark.parametrize("number", ROWS["numbers of several countries are found whole"])
def test_numbers_of_several_countries_are_found_whole(number: str) -> None:
    assert ("phone", number) in found_by(TelephoneNumbers(), f"Ring {number} before noon.")


@pytest.mark.parametrize("text", ROWS["values and dates are no numbers"])
def test_values_and_dates_are_no_numbers(text: str) -> None:
    assert found_by(TelephoneNumbers(), text) == []
