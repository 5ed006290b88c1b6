"""Plain text on a terminal: when colour is wanted, and what is too long."""

from io import StringIO

import pytest

from clinaudit.reports.terminal.layout import wants_colour, wrap


@pytest.mark.parametrize(
    ("terminal", "environment", "wanted"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": "0"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": ""}, False),
        (True, {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_when_colour_is_wanted(terminal: bool, environment: dict[str, str], wanted: bool) -> None:
    stream = StringIO()
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    assert wants_colour(stream, environment) is wanted


def test_text_that_takes_too_many_lines_ends_in_dots() -> None:
    assert wrap("word " * 100, indent="  ", most_lines=2).splitlines()[-1].endswith(" …")
    assert wrap("word", indent="  ", most_lines=2) == "word"
