"""What looks like a name and is nobody's stays; beside it the same words as names are masked."""

import pytest
from support.cases import read_cases
from support.pii.masked_by_rules import masked

CASES = [case for cases in read_cases("pii/named_nobody.txt").values() for case in cases]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_what_bears_a_name_stays_and_who_has_it_is_masked(text: str, expected: str | None) -> None:
    assert masked(text) == (text if expected is None else expected)
