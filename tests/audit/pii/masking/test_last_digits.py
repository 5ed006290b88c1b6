"""Digits that are hidden but for the last: which are found, and that a row of signs is read once."""

import pytest

from clinaudit.audit.pii.detectors.rule import Source
from clinaudit.audit.pii.masking.loose_numbers import LastDigits


def digits_in(text: str) -> list[str]:
    return [text[found.start : found.end] for found in LastDigits().find(Source.of(text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SSN xxx-xx-6789", ["6789"]),
        ("card ****6789 and #### #### #### 1234", ["6789", "1234"]),
        ("MRN###1234", ["1234"]),
        ("•••• 321", ["321"]),
        ("#### 12.5 mg", []),
        ("a row ######## and nothing after it", []),
    ],
)
def test_the_last_digits_of_hidden_numbers(text: str, found: list[str]) -> None:
    assert digits_in(text) == found


@pytest.mark.parametrize("sign", ["*", "#", "x", "•", "#-"])
def test_a_row_of_signs_is_read_once(sign: str) -> None:
    # Read in every way that a row can be taken apart, this does not end.
    assert digits_in(sign * 2_000) == []
