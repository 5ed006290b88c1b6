"""A profile's regular expressions: groups in characters, and no expression that can hang."""

import pytest

from clinaudit.templates.patterns import Pattern


def test_spans_are_in_characters_of_the_note() -> None:
    text = "Zoë, 5 µg\nNuñez 34F"
    spans = Pattern(r"^(?P<name>\pL+) (?P<age>\d+)(?P<sex>[MF])(?P<dob> \d+)?").spans(text)
    assert {name: text[slice(*span)] for name, span in spans.items()} == {"name": "Nuñez", "age": "34", "sex": "F"}
    assert Pattern("(?P<name>x)").spans(text) == {}


def test_an_expression_that_would_backtrack_without_end_does_not() -> None:
    # A backtracking engine needs 2^60000 steps for this.
    assert not Pattern(r"^(a+)+(a|aa)*$").found_in("a" * 60_000 + "b")


@pytest.mark.parametrize("source", ["(", r"(?=a)", r"(a)\1", "a{1,100000}", "x" * 1001])
def test_what_cannot_be_matched_in_linear_time_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"regular expression|longer than"):
        Pattern(source)
