import pytest

from clinaudit.audit.pii.values.dates_in_text import find_dates, read_written_date


@pytest.mark.parametrize(
    "written",
    [
        *("03/14/2024", "3/14/24", "3-14-24", "03-14-2024", "03.14.2024", "14.03.2024", "03 / 14 / 2024", "2024-03-14"),
        *(
            *("2024/03/14", "20240314", "14 March 2024", "14th of March, 2024", "14-Mar-2024", "14MAR2024"),
            *("Mar 14th, 2024",),
        ),
        *("March 14 2024", "march 14, 2024", "Mar. 14, '24", "March fourteenth, 2024", "the 14th day of March 2024"),
    ],
)
def test_one_day_is_read_in_every_form(written):
    (found,) = find_dates(f"seen {written}.")
    assert found.readings[0] == "2024-03-14"


@pytest.mark.parametrize(
    ("written", "readings"),
    [
        ("03/04/2024", ("2024-03-04", "2024-04-03")),
        ("25/12/1999", ("1999-12-25",)),
        ("1/2/45", ("1945-01-02", "2045-01-02", "1945-02-01", "2045-02-01")),
        ("March 2024", ("2024-03",)),
        ("03/2024", ("2024-03",)),
        ("March 14", ("--03-14",)),
        ("3/14", ("--03-14",)),
        ("29 February 2023", ()),
        ("02/30/2024", ()),
        ("2024", ()),
    ],
)
def test_a_date_that_can_be_read_twice_says_so(written, readings):
    assert read_written_date(written) == readings


@pytest.mark.parametrize(
    "text",
    [
        *("BP 120/80", "grade 3/6 murmur", "strength 5/5", "pain 7/10", "1/2 tablet", "may 10 mg be given", "v1.2.10"),
        *("SSN 555-12-0345", "phone 617-555-0142", "decreased 12 units", "the second may follow", "on 1/2 tablet"),
        *("in 2003", "ratio 1:100", "24/7", "marked 5 times", "123456789012", "A20240314B", "ICD I48.0", "margin 2019"),
    ],
)
def test_other_numbers_are_no_dates(text):
    assert find_dates(text) == []


def test_a_range_is_two_dates():
    text = "admitted 3/1/24-3/5/24"
    assert [text[found.start : found.end] for found in find_dates(text)] == ["3/1/24", "3/5/24"]


def test_a_day_without_a_year_needs_a_word_of_time():
    text = "seen on 3/14 with 3/14 points"
    assert [(found.start, found.readings) for found in find_dates(text)] == [(8, ("--03-14",))]
