"""Where a text writes a known telephone number, and where it writes another."""

import pytest

from clinaudit.audit.pii.values.known_values import DateReader, ValueScanner
from clinaudit.audit.pii.values.normal_form import normalize


@pytest.mark.parametrize(
    ("written", "text", "is_held"),
    [
        ("555-010-0199x12", "call 555-010-0199x12.", True),
        ("555-010-0199", "call (555) 010-0199ext. 4 or her son", True),
        ("555-010-0199x12", "1-555-010-0199 extension 12", True),
        ("555-010-0199", "555-010-0199xray", False),
        ("555-010-0199", "555-010-0199x12345678", False),
        ("555-010-0199", "5550101991", False),
        ("+44 20 7946 0958", "tel +44 (0)20 7946 0958", True),
        ("+44 (0)20 7946 0958", "tel 0044 20 7946 0958", True),
        ("0044 20 7946 0958", "tel +442079460958x3", True),
        ("+44 20 7946 0958", "tel 020 7946 0958", False),
        ("+44 20 7946 0958", "tel 99442079460958", False),
    ],
)
def test_a_number_is_held_however_it_is_written(written: str, text: str, *, is_held: bool) -> None:
    value = normalize("phone", written)
    assert value is not None
    assert ValueScanner([value], DateReader(())).find(text) == ({0} if is_held else set())


def test_what_is_no_telephone_number_has_no_extension() -> None:
    value = normalize("mrn", "5550100199")
    assert value is not None
    assert ValueScanner([value], DateReader(())).find("mrn 5550100199x12") == set()
