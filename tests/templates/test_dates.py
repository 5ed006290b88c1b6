"""Dates and expressions of a profile, and the markup of notes: what each reads, and what it does not."""

from datetime import date

import pytest

from clinaudit.templates.dates import NAMED_FORMATS, format_problem, other_order, read_birth_date, read_date
from clinaudit.templates.markup import find_styles, is_tag
from clinaudit.templates.names import Pattern


@pytest.mark.parametrize("form", [form for forms in NAMED_FORMATS.values() for form in forms])
def test_every_named_format_reads_what_it_writes(form: str) -> None:
    assert format_problem(form) is None


@pytest.mark.parametrize("form", ["YYYY-MM-DD", "%Y-%m", "%d/%m", "%H:%M", "date", "%Y-%q-%d", "%d/%d/%Y"])
def test_a_format_that_cannot_read_a_date_says_so(form: str) -> None:
    assert format_problem(form) is not None


def test_one_date_has_two_readings() -> None:
    assert read_date("03/04/2024", NAMED_FORMATS["day_first"]) == date(2024, 4, 3)
    assert read_date("03/04/2024", NAMED_FORMATS["month_first"]) == date(2024, 3, 4)
    assert read_date("2024-04-03", NAMED_FORMATS["month_first"]) == date(2024, 4, 3)
    assert read_date("31/04/2024", NAMED_FORMATS["day_first"]) is None


@pytest.mark.parametrize(
    ("form", "other"), [("%d/%m/%Y", "%m/%d/%Y"), ("%m-%d-%y", "%d-%m-%y"), ("%Y-%m-%d", None), ("%d %B %Y", None)]
)
def test_the_other_order(form: str, other: str | None) -> None:
    assert other_order(form) == other


@pytest.mark.parametrize(
    ("text", "born"),
    [
        ("02/01/60", date(1960, 1, 2)),  # strptime reads 2060
        ("02/01/23", date(2023, 1, 2)),
        ("02/01/2060", date(2060, 1, 2)),  # four digits are what they are
        ("29/02/00", date(2000, 2, 29)),
        ("x", None),
    ],
)
def test_a_birth_with_two_digits_of_the_year_is_before_the_visit(text: str, born: date | None) -> None:
    assert read_birth_date(text, ("%d/%m/%Y", "%d/%m/%y"), before=date(2024, 1, 1)) == born


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


@pytest.mark.parametrize(
    ("value", "style"),
    [
        ("[**Known lastname 123**]", "[** **]"),
        ("[**2118-6-2**]", "[** **]"),
        ("Dr. [**First Name8 (NamePattern2) **] [**Last Name (un) 99**], MD", "[** **]"),
        ("___", "___"),
        ("___.", "___"),
        ("Mr. ____", "___"),
        ("<NAME>", "<NAME>"),
        ("<PERSON_1>", "<NAME>"),
        ("<DATE: 3>", "<NAME>"),
        ("[NAME]", "[NAME]"),
        ("[PATIENT NAME]", "[NAME]"),
        ("[REDACTED]", "[NAME]"),
        ("**NAME[AAA, BBB]", "**NAME[ ]"),
        ("**DATE[Jan 1 2007]", "**NAME[ ]"),
        ("XXXXX", "XXXX"),
    ],
)
def test_a_tag_is_no_value(value: str, style: str) -> None:
    assert is_tag(value)
    assert find_styles(f"seen by {value} today") == {style}


SIGNS = ["<5 mg/dL", "[x] yes [ ] no", "**Important**", "<LOW>", "**BOLD", "BP __/__", "XXX", "snake____case"]


@pytest.mark.parametrize(
    "value",
    ["Ada Lund", "Ada ___", "___ HCV cirrhosis", "60 year old [**Last Name**]", "AXXXXB", "", "--", "Mr.", *SIGNS],
)
def test_what_tells_something_is_a_value(value: str) -> None:
    assert not is_tag(value)
    if value in SIGNS:
        assert find_styles(value) == set()
