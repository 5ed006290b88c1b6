"""Date formats: which can be used, and the order of day and month."""

from datetime import date

import pytest

from clinaudit.templates.dates import NAMED_FORMATS, format_problem, other_order, read_birth_date, read_date


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
