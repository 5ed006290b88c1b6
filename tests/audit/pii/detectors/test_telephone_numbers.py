"""Telephone numbers as several countries write them, and figures of notes that are none."""

import pytest
from support.pii.found_spans import found_by

from clinaudit.audit.pii.masking.detection import TelephoneNumbers


@pytest.mark.parametrize(
    "number",
    [
        *("020 7946 0018", "0161 496 0000", "07911 123456", "+44 20 7946 0018", "030 12345678", "0171/1234567"),
        *("+49 30 901820", "(02) 9876 5432", "0412 345 678", "1800 123 456", "01 42 68 53 00", "98765 43210"),
        *("+353 1 234 5678", "+48 22 123 45 67", "+1 418 555 0192"),
    ],
)
def test_numbers_of_several_countries_are_found_whole(number: str) -> None:
    assert ("phone", number) in found_by(TelephoneNumbers(), f"Ring {number} before noon.")


@pytest.mark.parametrize(
    "text",
    [
        *("BP 120/80, HR 98, RR 16, temp 98.6, SpO2 96", "120/80 110/70 130/85", "WBC 10 200, platelets 250 000"),
        *("Na 140 K 4.1 Cl 102 HCO3 24 BUN 12 Cr 0.9", "I/O 1200 850 2050 900", "05/06/2023 07:15", "2023 11 05 1200"),
        *("dry weight 71.5 kg, dose 1000 1500 2000 mg", "lot 0123 456789", "GCS 15 14 13 12, NIHSS 4"),
    ],
)
def test_values_and_dates_are_no_numbers(text: str) -> None:
    assert found_by(TelephoneNumbers(), text) == []
