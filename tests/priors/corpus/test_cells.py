"""Single cells: dates, births, ages, flags, sexes and splits, with what each is not read as."""

from contextlib import suppress
from datetime import date, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinaudit.priors.corpus.cells import (
    UNDECIDED,
    Age,
    CellError,
    DayOrder,
    Kind,
    as_text,
    completed_years,
    find_day_order,
    parse_age,
    parse_birth,
    parse_count,
    parse_date,
    parse_flag,
    parse_sex,
    parse_split,
    require_possible_year,
)

DAY_FIRST, MONTH_FIRST, MIXED = DayOrder(7, 0), DayOrder(0, 7), DayOrder(7, 8)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-02-29", date(2024, 2, 29)),
        ("20240229", date(2024, 2, 29)),
        (" 2024-02-29 ", date(2024, 2, 29)),
        ("2024-02-29T23:59:59+14:00", date(2024, 2, 29)),
        ("2024-02-29 10:00", date(2024, 2, 29)),
        ("2024-02-29 00:00:00.000", date(2024, 2, 29)),
        ("2024-2-9", date(2024, 2, 9)),
        ("2024/02/09", date(2024, 2, 9)),
        ("9 Feb 2024", date(2024, 2, 9)),
        ("09-FEB-2024", date(2024, 2, 9)),
        ("February 9, 2024", date(2024, 2, 9)),
        ("Sept. 9 2024", date(2024, 9, 9)),
        ("02/02/2024", date(2024, 2, 2)),
        *[
            (text, None)
            for text in ("2023-02-29", "2024-02", "2024", "2024-W09-4", "2024-060", "1/2/24", "45351", "9 Fe 2024")
        ],
        *[(text, None) for text in ("2024-02-29T", "2024-02-29T25:00", "2024-02-29x10:00", "٢٠٢٤-٠٢-٢٩", "0000-01-01")],
        *[(text, None) for text in ("2024-0229", "31-02-2024", "01/02/2024", "1/2-2024", "9 Mai 2024", "today")],
    ],
)
def test_dates(text: str, expected: date | None) -> None:
    if expected:
        assert parse_date(text)[0] == expected
    else:
        with pytest.raises(CellError):
            parse_date(text)


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("01/02/2024", DAY_FIRST, date(2024, 2, 1)),
        ("01/02/2024", MONTH_FIRST, date(2024, 1, 2)),
        ("1.2.2024", DAY_FIRST, date(2024, 2, 1)),
        ("31-12-2024", DAY_FIRST, date(2024, 12, 31)),
        ("31/12/2024", MONTH_FIRST, None),
        ("01/02/2024", MIXED, None),
        ("2024-01-02", MIXED, date(2024, 1, 2)),
    ],
)
def test_the_column_decides_between_day_and_month(text: str, order: DayOrder, expected: date | None) -> None:
    if expected:
        assert parse_date(text, order)[0] == expected
    else:
        with pytest.raises(CellError):
            parse_date(text, order)


def test_no_date_with_two_readings_is_ever_guessed() -> None:
    for first in range(1, 32):
        for second in range(1, 32):
            text = f"{first}/{second}/2023"
            readings = set()
            for day, month in ((first, second), (second, first)):
                with suppress(ValueError):
                    readings.add(date(2023, month, day))
            order = find_day_order([(1, text)])
            if len(readings) == 1:
                assert {parse_date(text, order)[0]} == readings
            else:
                with pytest.raises(CellError):
                    parse_date(text, order)


@given(st.text(alphabet="0123456789/-.:, +><≥~apmTZJanFeb", max_size=14) | st.text(max_size=8))
def test_any_cell_is_read_or_refused(text: str) -> None:
    for parse in (parse_date, parse_birth, parse_age, parse_flag, parse_sex, parse_split):
        with suppress(CellError):
            parse(text)
    find_day_order([(1, text)])


@pytest.mark.parametrize(
    ("cells", "expected", "described"),
    [
        ([(1, "01/02/2024"), (2, None), (3, "12/12/2024")], UNDECIDED, None),
        (
            [(1, "01/02/2024"), (2, "13/02/2024"), (3, "14/02/2024")],
            DayOrder(2, 0),
            "read as day, month, year: row 2 leaves no other reading",
        ),
        (
            [(1, "01/02/2024"), (2, "2024-31-01"), (3, "2/14/2024 10:00")],
            DayOrder(0, 3),
            "read as month, day, year: row 3 leaves no other reading",
        ),
        ([(1, "13/02/2024"), (2, "02/13/2024")], DayOrder(1, 2), None),
        ([(1, "32/02/2024"), (2, "13/13/2024"), (3, "2024-01-31")], UNDECIDED, None),
    ],
)
def test_one_row_decides_for_its_column(
    cells: list[tuple[int, str | None]], expected: DayOrder, described: str | None
) -> None:
    order = find_day_order(cells)
    assert order == expected
    assert order.describe() == described


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("2024-01-05T14:00", time(14)),
        ("1/5/2024 9:30", time(9, 30)),
        ("1/5/2024 2:05 PM", time(14, 5)),
        ("1/5/2024 12:05:30 am", time(0, 5, 30)),
        ("Jan 5, 2024, 12:00 p.m.", time(12)),
        *[(f"1/5/2024 {text}", None) for text in ("14:05 PM", "0:05 AM", "9", "25:00", "9 o'clock")],
    ],
)
def test_times_of_day(text: str, clock: time | None) -> None:
    if clock:
        assert parse_date(text, MONTH_FIRST) == (date(2024, 1, 5), clock)
    else:
        with pytest.raises(CellError):
            parse_date(text, MONTH_FIRST)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1950", 1950),
        ("1950.0", 1950),
        (" 2024 ", 2024),
        ("1950-03-04", date(1950, 3, 4)),
        ("1950-03-04 00:00:00", date(1950, 3, 4)),
        *[(text, None) for text in ("1750", "2150", "50", "1950-03", "1950?", "c. 1950", "19500")],
    ],
)
def test_births_are_days_or_years(text: str, expected: date | int | None) -> None:
    if expected:
        assert parse_birth(text) == expected
    else:
        with pytest.raises(CellError):
            parse_birth(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[("0", 0), ("130", 130), ("50.0", 50), (" 7 ", 7), ("22-month", 1), ("11 months", 0), ("24-month-old", 2)],
        *[("46,0", 46), ("46 years", 46), ("46y", 46), ("46 yo", 46), ("46-year-old", 46), ("46 years old", 46)],
        *[(text, None) for text in ("131", "-1", "+5", "5.5", "5,5", "1e2", "nan", "inf", "٥٠", "9" * 5000, "46 m")],
        *[(text, None) for text in ("1,000", "40-49", "40 to 49", "65+", ">64", "<1", "~50", "over 60", "300")],
    ],
)
def test_ages(text: str, expected: int | None) -> None:
    if expected is not None:
        assert parse_age(text) == Age(expected)
    else:
        with pytest.raises(CellError):
            parse_age(text)


@pytest.mark.parametrize(
    "text",
    [
        *("90+", "90 +", ">89", "> 89", ">=90", "≥90", "≥ 90", "over 89", "90 or above", "90 or over", "90 and older"),
        *("90 years or older", "90+ years", "older than 89 years", "95+", ">90", "At least 90"),
    ],
)
def test_ages_over_89_may_be_pooled(text: str) -> None:
    assert parse_age(text) == Age(90, is_pooled=True)


def test_a_range_of_ages_says_that_it_is_one() -> None:
    for text in ("65+", "40-49", "89+", ">88", "131+", "<1"):
        with pytest.raises(CellError, match="is a range; give the age in years"):
            parse_age(text)


def test_ages_from_births() -> None:
    assert completed_years(date(2000, 6, 15), date(2010, 6, 14)) == 9
    assert completed_years(date(2000, 6, 15), date(2010, 6, 15)) == 10
    assert completed_years(date(2000, 6, 15), date(2000, 6, 15)) == 0
    require_possible_year(2010, date(2010, 1, 1))
    require_possible_year(1879, date(2010, 1, 1))  # 130 until the birthday
    for year in (2011, 1878):
        with pytest.raises(CellError):
            require_possible_year(year, date(2010, 1, 1))


def test_flags() -> None:
    for text in ("TRUE", "true", "T", "Yes", "y", "1", "1.0", " yes "):
        assert parse_flag(text) is True
    for text in (" false", "F", "NO", "n", "0", "0.0"):
        assert parse_flag(text) is False
    for text in ("2", "-1", "10", "ja", "positive", "present", "x", "maybe", "unknown"):
        with pytest.raises(CellError, match="is neither true nor false"):
            parse_flag(text)


@pytest.mark.parametrize(
    ("text", "sex"),
    [
        *[(text, "female") for text in ("F", "f", "female", "Woman", "w", "W", "girl", "FEMALE ", "f.")],
        *[(text, "male") for text in ("M", "m", "male", "Man", "boy", " m")],
        *[(text, None) for text in ("U", "unknown", "Not known", "n/a", "?", "-")],
        *[("Intersex", "intersex"), ("Non-binary", "non-binary"), ("other", "other"), ("X", "other")],
    ],
)
def test_sexes(text: str, sex: str | None) -> None:
    assert parse_sex(text) == sex


@pytest.mark.parametrize("text", ["1", "2", "0", "9", "1.0"])
def test_a_code_for_a_sex_is_refused(text: str) -> None:
    with pytest.raises(CellError, match="is a code; write female or male"):
        parse_sex(text)


@pytest.mark.parametrize("text", ["weiblich", "v", "fem", "Mr", "female patient", "46"])
def test_a_word_that_could_be_counted_as_the_wrong_sex_is_refused(text: str) -> None:
    with pytest.raises(CellError):
        parse_sex(text)


def test_splits_are_three_words() -> None:
    read = [parse_split(text) for text in ("Train", " NONTRAIN ", "validation")]
    assert read == ["train", "nontrain", "validation"]
    for text in ("test", "valid", "non-train", "held out", "1", "0", "training"):
        with pytest.raises(CellError, match="is none of train, nontrain"):
            parse_split(text)


def test_counts_lose_the_fraction_of_a_spreadsheet() -> None:
    assert [parse_count(text) for text in ("2.0", "2,0", "2", "two", "2.5")] == ["2", "2", "2", "two", "2.5"]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (float("nan"), Kind.NUMBER, None),
        (float("nan"), Kind.DATE, None),
        (1950.0, Kind.DATE, "1950.0"),
        (1, Kind.FLAG, "1"),
        (True, Kind.FLAG, "true"),
        ("HIV", Kind.CODE, "hiv"),
        ("A1", Kind.ID, "A1"),
        ("None", Kind.WORD, "None"),
        ("NaN", Kind.TEXT, "NaN"),
        ("Nan", Kind.WORD, "Nan"),
    ],
)
def test_raw_values_as_text(value: object, kind: Kind, expected: str | None) -> None:
    assert as_text(value, kind) == expected


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *[
            (word, kind)
            for word in ("nan", "NaN", "NaT", "<NA>", "null", "NULL", "#N/A", "#REF!")
            for kind in (Kind.ID,)
        ],
        *[("nan", Kind.WORD), ("NaT", Kind.DATE), ("None", Kind.ID), ("#VALUE!", Kind.WORD), ("########", Kind.DATE)],
        *[("1.23457E+11", Kind.ID), ("1,2E+11", Kind.ID), (1.0, Kind.ID), (float("nan"), Kind.ID), (1.5, Kind.WORD)],
        *[(True, Kind.NUMBER), (False, Kind.DATE), (b"x", Kind.TEXT), (7, Kind.TEXT)],
    ],
)
def test_raw_values_that_hold_nothing_usable(value: object, kind: Kind) -> None:
    with pytest.raises(CellError):
        as_text(value, kind)
