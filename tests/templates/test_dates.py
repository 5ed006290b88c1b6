"""Dates and expressions of a profile, and the markup of notes: what each reads, and what it does not."""

import re
from datetime import date

import pytest
from support.cases import read_rows

from clinaudit.templates.dates import (
    NAMED_FORMATS,
    WrittenDates,
    format_problem,
    other_order,
    read_birth_date,
    read_date,
    without_birth,
    without_time,
)
from clinaudit.templates.header_styles import Pattern
from clinaudit.templates.shown_text import find_styles, is_tag

CASES = read_rows("template_cases.txt")


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


DAY = date(2021, 3, 5)


@pytest.mark.parametrize("text", CASES["days_with_one_reading"])
@pytest.mark.parametrize("order", NAMED_FORMATS)
def test_a_day_with_one_reading_is_read_in_every_spelling_whatever_the_order(text: str, order: str) -> None:
    assert read_date(text, NAMED_FORMATS[order]) == DAY


@pytest.mark.parametrize(
    ("text", "month_first", "day_first"),
    [
        ("03/05/2021 14:30", DAY, date(2021, 5, 3)),
        ("03.05.2021T14:30Z", DAY, date(2021, 5, 3)),
        ("3 / 5 / 2021", DAY, date(2021, 5, 3)),
        ("24. 6. 1987", None, date(1987, 6, 24)),
        ("06/24/1987", date(1987, 6, 24), None),
    ],
)
def test_the_order_of_day_and_month_is_the_formats_own(
    text: str, month_first: date | None, day_first: date | None
) -> None:
    assert read_date(text, NAMED_FORMATS["month_first"]) == month_first
    assert read_date(text, NAMED_FORMATS["day_first"]) == day_first


@pytest.mark.parametrize("text", CASES["no_dates"])
def test_what_is_no_date_is_read_by_no_format(text: str) -> None:
    assert read_date(text, [form for forms in NAMED_FORMATS.values() for form in forms]) is None


def test_a_day_may_begin_with_its_month_in_any_length() -> None:
    assert {"sep", "sept", "september"} <= WrittenDates(("%b %d, %Y",)).first_words(date(2021, 9, 3))


def test_digits_without_marks_are_read_whole() -> None:
    # strptime alone reads the day of VistA as one of the year 3210.
    assert read_date("3210305", ("%Y%m%d",)) is None
    assert read_date("20210305", ("%Y%m%d",)) == DAY
    assert WrittenDates(("%Y%m%d",)).find("id 3210305, seen 20210305") == {DAY}


@pytest.mark.parametrize(("text", "day"), CASES["test_a_time_and_an_age_are_no_part_of_a_date"])
def test_a_time_and_an_age_are_no_part_of_a_date(text: str, day: str) -> None:
    assert without_time(text) == day


@pytest.mark.parametrize(("text", "name"), CASES["test_an_age_and_a_birth_are_no_part_of_a_name"])
def test_an_age_and_a_birth_are_no_part_of_a_name(text: str, name: str) -> None:
    assert without_birth(text) == name


def test_days_in_a_text_may_be_ordinals() -> None:
    dates = WrittenDates(("%d %B %Y", "%B %d, %Y"))
    text = "Seen on the 3rd of March 2021, March 4th, 2021, 5 Mar. 2021 and 6 March 2021; not on 7 mars or 3rd 2021."
    assert dates.find(text) == {date(2021, 3, day) for day in (3, 4, 5, 6)}
    assert {"3", "3rd", "march"} <= dates.first_words(date(2021, 3, 3))


@pytest.mark.parametrize("written", CASES["days_in_a_text"])
def test_a_day_stands_in_a_text_in_every_spelling_that_is_read(written: str) -> None:
    dates = WrittenDates(NAMED_FORMATS["day_first"])
    text = f"Seen ({written}), no 12345678, 3214305 or 2021-13-05; A20210305"
    assert dates.find(text) == {DAY}
    (word, *_) = re.findall(r"\w+", written.lower().replace("t14", " 14"))
    assert word in dates.first_words(DAY)
    assert max(dates.at(text, text.index(written)))[1] == DAY


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
        ("02/01/60 (63 y.o.)", date(1960, 1, 2)),
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


@pytest.mark.parametrize(("value", "style"), CASES["test_a_tag_is_no_value"])
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
