"""Single cells: dates, births, ages, flags, sexes and splits, with what each is not read as."""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, time
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinaudit.priors.corpus import cells
from clinaudit.priors.corpus.cells import Age, CellError, DayOrder, Kind

POOLED = Age(90, is_pooled=True)
TEN = (date(2024, 2, 29), time(10))
DAY_FIRST, MONTH_FIRST, MIXED = DayOrder(7, 0), DayOrder(0, 7), DayOrder(7, 8)
LEAP, FEBRUARY = (date(2024, 2, 29), time()), (date(2024, 2, 9), time())
NO_SEX = "is no word for a sex that is read"
NO_DATE = "is not a date; write it as 2024-01-31"
NOTHING, IS_ERROR = "holds a program's word for nothing", "holds the error of a spreadsheet's formula"
SHORTENED = "is a long number as a spreadsheet or data frame shortens it; format the column as text"

Parse = Callable[[str], object]


day_first, month_first, mixed = (partial(cells.parse_date, order=of) for of in (DAY_FIRST, MONTH_FIRST, MIXED))


def january(*clock: int) -> tuple[date, time]:
    return date(2024, 1, 5), time(*clock)


# (parser, texts between bars, what all of them are)
READ: list[tuple[Parse, str, object]] = [
    (cells.parse_date, "2024-02-29|20240229| 2024-02-29 |2024-02-29 00:00:00.000", LEAP),
    (cells.parse_date, "2024-02-29T23:59:59+14:00|2024-02-29 23:59:59 UTC", (date(2024, 2, 29), time(23, 59, 59))),
    # BigQuery, PostgreSQL, SQL Server, Java, R: the time as it is written, whatever its zone.
    (cells.parse_date, "2024-02-29 10:00:00.000000 UTC|2024-02-29 10:00:00+00|2024-02-29 10:00:00.0000000 +01:00", TEN),
    (cells.parse_date, "2024-02-29T10:00Z|2024-02-29T10:00:00-0500|2024-02-29 10:00 GMT+1|2024-02-29 10:00 EST", TEN),
    (cells.parse_date, "2024-02-29T10:00+02:00|29 Feb 2024 10:00 AM CEST|2024-02-29 10:00 America/New_York", TEN),
    (cells.parse_date, "2024-02-29 10:00", (date(2024, 2, 29), time(10))),
    (cells.parse_date, "2024-2-9|2024/02/09|9 Feb 2024|09-FEB-2024|February 9, 2024", FEBRUARY),
    (cells.parse_date, "Sept. 9 2024", (date(2024, 9, 9), time())),
    (cells.parse_date, "02/02/2024", (date(2024, 2, 2), time())),
    # The column decides between day and month.
    (day_first, "01/02/2024|1.2.2024", (date(2024, 2, 1), time())),
    (month_first, "01/02/2024", (date(2024, 1, 2), time())),
    (day_first, "31-12-2024", (date(2024, 12, 31), time())),
    (mixed, "2024-01-02", (date(2024, 1, 2), time())),
    (month_first, "2024-01-05T14:00", january(14)),
    (month_first, "1/5/2024 9:30", january(9, 30)),
    (month_first, "1/5/2024 2:05 PM", january(14, 5)),
    (month_first, "1/5/2024 12:05:30 am", january(0, 5, 30)),
    (month_first, "Jan 5, 2024, 12:00 p.m.", january(12)),
    (cells.parse_birth, "1950|1950.0", 1950),
    (cells.parse_birth, " 2024 ", 2024),
    (cells.parse_birth, "1950-03-04|1950-03-04 00:00:00", date(1950, 3, 4)),
    *[(cells.parse_age, text, Age(years)) for text, years in (("0", 0), ("130", 130), ("50.0", 50), (" 7 ", 7))],
    *[(cells.parse_age, text, Age(years)) for text, years in (("22-month", 1), ("11 months", 0), ("24-month-old", 2))],
    (cells.parse_age, "46,0|46 years|46y|46 yo|46-year-old|46 years old", Age(46)),
    (cells.parse_age, "90+|90 +|>89|> 89|>=90|≥90|≥ 90|over 89|90 or above|90 or over|95+|>90", POOLED),
    (cells.parse_age, "90 and older|90 years or older|90+ years|older than 89 years|At least 90", POOLED),
    (cells.parse_flag, "TRUE|true|T|Yes|y|1|1.0| yes ", True),
    (cells.parse_flag, " false|F|NO|n|0|0.0", False),
    (cells.parse_sex, "F|f|female|Woman|w|W|girl|FEMALE |f.", "female"),
    (cells.parse_sex, "M|m|male|Man|boy| m", "male"),
    (cells.parse_sex, "U|unknown|Not known|n/a|?|-", None),
    (cells.parse_sex, "other|X", "other"),
    (cells.parse_sex, "Intersex", "intersex"),
    (cells.parse_sex, "Non-binary", "non-binary"),
    (cells.parse_split, "Train", "train"),
    (cells.parse_split, " NONTRAIN ", "nontrain"),
    (cells.parse_split, "validation", "validation"),
    (cells.parse_count, "2.0|2,0|2", "2"),
    (cells.parse_count, "two", "two"),
    (cells.parse_count, "2.5", "2.5"),
]
# (parser, texts between bars, words of the message)
REFUSED: list[tuple[Parse, str, str]] = [
    (cells.parse_date, "2023-02-29|2024-02|2024|2024-W09-4|2024-060|9 Fe 2024|2024-02-29T|31-02-2024", NO_DATE),
    (cells.parse_date, "2024-02-29T25:00|2024-02-29x10:00|٢٠٢٤-٠٢-٢٩|0000-01-01|2024-0229", NO_DATE),
    (cells.parse_date, "1/2/24|13/02/50|13-FEB-60", "has a year of two digits; write it as 2024-01-31"),
    (cells.parse_date, "2024-02-29 UTC|2024-02-29 10:00 PDX|2024-02-29 10:00 utc|2024-02-29 noon", NO_DATE),
    (cells.parse_date, "45351|18295|21916.0", "is the number by which a spreadsheet keeps a date; format the column"),
    (cells.parse_date, "1/2-2024|9 Mai 2024|today", "is not a date"),
    (cells.parse_date, "01/02/2024", "can be read with the day or the month first"),
    (month_first, "31/12/2024|1/5/2024 14:05 PM|1/5/2024 0:05 AM|1/5/2024 9|1/5/2024 25:00", "is not a date"),
    (month_first, "1/5/2024 9 o'clock", "is not a date"),
    (mixed, "01/02/2024", "day first in some rows"),
    (cells.parse_birth, "1750|2150|50|1950-03|1950?|c. 1950|19500", "is not a date|is the number"),
    (cells.parse_age, "131|300", "is not a whole number of years from 0 to 130"),
    (cells.parse_age, "-1|+5|5.5|5,5|1e2|nan|inf|٥٠|46 m|1,000|" + "9" * 5000, "is not a whole number of years"),
    (cells.parse_age, "40-49|40 to 49|65+|89+|>64|>88|131+|<1|~50|over 60", "is not a whole number of years"),
    (cells.parse_flag, "2|-1|10|0.8|ja|positive|present|x|maybe|unknown", "is neither true nor false"),
    (cells.parse_sex, "1|2|0|9|1.0|46", NO_SEX),
    # A word that could be counted as the wrong sex.
    (cells.parse_sex, "weiblich|v|fem|Mr|female patient", NO_SEX),
    (cells.parse_split, "test|valid|non-train|held out|1|0|training", "is none of train, nontrain"),
]


@pytest.mark.parametrize(("parse", "texts", "meaning"), READ)
def test_what_a_cell_means(parse: Parse, texts: str, meaning: object) -> None:
    assert {text: parse(text) for text in texts.split("|")} == dict.fromkeys(texts.split("|"), meaning)


@pytest.mark.parametrize(("parse", "texts", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_no_cell_may_hold(parse: Parse, texts: str, said: str) -> None:
    for text in texts.split("|"):
        with pytest.raises(CellError, match=said):
            parse(text)


def test_no_date_with_two_readings_is_ever_guessed() -> None:
    for first in range(1, 32):
        for second in range(1, 32):
            text = f"{first}/{second}/2023"
            readings = set()
            for day, month in ((first, second), (second, first)):
                with suppress(ValueError):
                    readings.add(date(2023, month, day))
            order = cells.find_day_order([(1, text)])
            if len(readings) == 1:
                assert {cells.parse_date(text, order)[0]} == readings
            else:
                with pytest.raises(CellError):
                    cells.parse_date(text, order)


@given(st.text(alphabet="0123456789/-.:, +><≥~apmTZJanFeb", max_size=14) | st.text(max_size=8))
def test_any_cell_is_read_or_refused(text: str) -> None:
    for parse in {parse for parse, *_ in READ}:
        with suppress(CellError):
            parse(text)
    cells.find_day_order([(1, text)])


@pytest.mark.parametrize(
    ("column", "expected", "described"),
    [
        (["01/02/2024", None, "12/12/2024"], cells.UNDECIDED, None),
        (
            *(["01/02/2024", "13/02/2024", "14/02/2024"], DayOrder(2, 0)),
            "read as day, month, year: row 2 leaves no other reading",
        ),
        (
            *(["01/02/2024", "2024-31-01", "2/14/2024 10:00"], DayOrder(0, 3)),
            "read as month, day, year: row 3 leaves no other reading",
        ),
        (["13/02/2024", "02/13/2024"], DayOrder(1, 2), None),
        (["32/02/2024", "13/13/2024", "2024-01-31"], cells.UNDECIDED, None),
    ],
)
def test_one_row_decides_for_its_column(column: list[str | None], expected: DayOrder, described: str | None) -> None:
    order = cells.find_day_order(enumerate(column, start=1))
    assert (order, order.describe()) == (expected, described)


@pytest.mark.parametrize(
    ("ids", "bare"),
    [
        ("p1|\ufeffp1|p1\u200b|p\u00ad1|\u2060p1 |ｐ１|p１|\u200ep1|p1\t", "p1"),
        ("Ünal|U\u0308nal", "Ünal"),
        # What can be told apart, or is no mark: the rest is for `look`.
        ("P1", "P1"), ("p²", "p²"), ("p 1", "p 1"), ("p-1", "p-1"), ("p–1", "p–1"), ("٧", "٧"),
    ],
)  # fmt: skip
def test_what_nobody_sees_is_no_part_of_an_identifier(ids: str, bare: str) -> None:
    assert {one: cells.without_marks(one) for one in ids.split("|")} == dict.fromkeys(ids.split("|"), bare)


@pytest.mark.parametrize(
    ("ids", "alike"),
    [
        ("p1|P1|ｐ1|\ufeffP1|р1", True),  # the last letter is Cyrillic
        ("MRN-1|mrn–1|MRN\u20111", True),
        ("p 1|p\u00a01|P\u20091", True),
        ("ABC|АВС", True),
        ('7|007|7.0|07.00|7,0|\'007|"7"|="007"|7,|\u2019007|#7', True),
        ("P 1|p  1|'P 1|P 1;", True),
        ("0|00|0.0", True),
        ("1|l|I|one|1.1|1 1|11|-1|10|1-0|P1|P01|1.05", False),
        ("a-1|a_1|a1|a 1|a.1|ä1", False),
    ],
)
def test_which_identifiers_look_alike(ids: str, alike: bool) -> None:
    looks = [cells.look(one) for one in ids.split("|")]
    assert len(set(looks)) == (1 if alike else len(looks))


def test_ages_from_births() -> None:
    days = (date(2010, 6, 14), date(2010, 6, 15), date(2000, 6, 15))
    assert [cells.completed_years(date(2000, 6, 15), day) for day in days] == [9, 10, 0]
    # Of a year alone the least: 130 until the birthday.
    assert [cells.completed_years(year, date(2010, 1, 1)) for year in (2010, 1879)] == [-1, 130]
    for year in (2011, 1878):
        with pytest.raises(CellError):
            cells.completed_years(year, date(2010, 1, 1))


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (float("nan"), Kind.NUMBER, None),
        (float("nan"), Kind.DATE, None),
        (1950.0, Kind.DATE, "1950.0"),
        (1, Kind.FLAG, "1"),
        (True, Kind.FLAG, "true"),
        ("HIV", Kind.CODE, "hiv"),
        *((text, Kind.ID, text) for text in ("A1", "7E12", "12.0", "1234567890123456789", "１", "NAN1", "Ünal", "x-")),
        ("None", Kind.WORD, "None"),
        ("NaN", Kind.TEXT, "NaN"),
        ("Nan", Kind.WORD, "Nan"),
    ],
)
def test_raw_values_as_text(value: object, kind: Kind, expected: str | None) -> None:
    assert cells.as_text(value, kind) == expected


@pytest.mark.parametrize(
    ("values", "kind", "said"),
    [
        (
            ["nan", "NaN", "NaT", "<NA>", "NA", "null", "NULL", "(null)", "\\N", "None", ".", "-", "N/A"],
            Kind.ID,
            NOTHING,
        ),
        (["nan", "NaT", "NA"], Kind.WORD, NOTHING),
        (["NA"], Kind.DATE, NOTHING),
        (["#N/A", "#REF!", "########"], Kind.ID, IS_ERROR),
        (["#VALUE!", "########"], Kind.DATE, IS_ERROR),
        (["1.23457E+11", "1,2E+11", "1e+20", "1.e+20", "9007199254740992.0"], Kind.ID, SHORTENED),
        (['="007"', '=""'], Kind.ID, "is a spreadsheet's formula for a text"),
        (["\ufeffp1", "p\u200b1", "p1\u00ad", "p\ufe0f1", "p\u180e1"], Kind.ID, "holds a mark that nobody sees"),
        ([1.0, float("nan")], Kind.ID, "is a number with a fraction, as 7.0"),
        ([True, False], Kind.NUMBER, "is not text"),
        ([b"x", 7], Kind.TEXT, "is not text"),
        ([1.5], Kind.WORD, "is not text"),
    ],
)
def test_raw_values_that_hold_nothing_usable(values: list[object], kind: Kind, said: str) -> None:
    for value in values:
        with pytest.raises(CellError, match=re.escape(said)):
            cells.as_text(value, kind)
