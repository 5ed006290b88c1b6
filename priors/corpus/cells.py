"""Parsing of one cell of an input table: valid content and its meaning. Knows nothing of files and rows.

Each function returns the meaning or raises `CellError`, whose message is in fixed words and holds no content. The
caller decides about blank cells (nothing, or white space alone): an error in one column, unknown in another.
"""

import re
from datetime import date, time
from enum import Enum, auto

from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.corpus.records import is_encodable

#: Nobody is known to have lived longer than 122 years; beyond this an age is a slip or a code such as 999.
MAX_AGE_YEARS = 130
NOT_UNICODE = "holds half a surrogate pair, which is not Unicode text"
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})(?:[T ](\S+))?")
_AGE = re.compile(r"([0-9]{1,9})(?:\.0+)?")
_AGE_IN_MONTHS = re.compile(r"([0-9]{1,9})[ -]months?(?:[ -]old)?", re.IGNORECASE)
_WHOLE_FLOAT = re.compile(r"([0-9]+)\.0+")
_SEXES = {"f": "female", "m": "male"}


class CellError(ValueError):
    """A cell that cannot be used; the message says what is wrong with it, never what it holds."""


class Kind(Enum):
    """How a column is read."""

    #: Identifier: kept exactly; a whole number of JSONL or Parquet is read as its digits.
    ID = auto()
    #: Note text: a string, kept exactly.
    TEXT = auto()
    #: Free words or a number.
    WORD = auto()
    DATE = auto()
    #: A number that a spreadsheet or data frame may have turned into a fraction (`50.0`).
    NUMBER = auto()
    FLAG = auto()


def as_text(value: object, kind: Kind) -> str | None:
    """Return a raw value as text, None for a null; numbers become their digits, no other type is converted."""
    match value:
        case None:
            return None
        case str():
            if not is_encodable(value):
                raise CellError(NOT_UNICODE)
            if "\0" in value:
                raise CellError("holds a NUL character")
            return value
        case bool():
            if kind is Kind.FLAG:
                return "true" if value else "false"
        case int():
            if kind is not Kind.TEXT and kind is not Kind.FLAG:
                return str(value)
        case float():
            if kind is Kind.NUMBER:
                return str(value)
        case _:
            pass
    raise CellError("is neither true nor false" if kind is Kind.FLAG else "is not text")


def parse_date(text: str) -> tuple[date, time]:
    """Return the date and wall-clock time (midnight where none is given) of an ISO 8601 date or date-time.

    A time zone is ignored: the date is the one written, as in the clinic's calendar.
    """
    match = _DATE.fullmatch(text.strip())
    try:
        if match is not None:
            day = date.fromisoformat(match[1])
            clock = time.fromisoformat(match[2]) if match[2] else time()
            return day, clock.replace(tzinfo=None)
    except ValueError:
        pass  # a thirteenth month, a 30th of February: reported below like any other
    raise CellError("is not a date as ISO 8601 writes it (2024-01-31)")


def parse_age(text: str) -> int:
    """Return an age in completed years from a whole number of years (`50`, `50.0`) or of months (`22-month`)."""
    years = _AGE.fullmatch(text.strip())
    months = _AGE_IN_MONTHS.fullmatch(text.strip())
    if years:
        age = int(years[1])
    elif months:
        age = int(months[1]) // 12
    else:
        raise CellError("is not a whole number of years")
    if age > MAX_AGE_YEARS:
        raise CellError(f"is an age above {MAX_AGE_YEARS} years")
    return age


def completed_years(birth: date, on: date) -> int:
    """Return the age in completed years on a day; raises `CellError` where that is no human age."""
    age = on.year - birth.year - ((on.month, on.day) < (birth.month, birth.day))
    if birth > on:
        raise CellError("is after the patient's latest visit")
    if age > MAX_AGE_YEARS:
        raise CellError(f"makes the patient older than {MAX_AGE_YEARS} years at the latest visit")
    return age


def parse_flag(text: str) -> bool:
    """Return true or false, in letters of either case."""
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise CellError("is neither true nor false")


def parse_split(text: str) -> Split:
    """Return `train` or `nontrain`, which must be written exactly so: a guess could put a patient in the wrong arm."""
    if text == "train":
        return "train"
    if text == "nontrain":
        return "nontrain"
    raise CellError("is neither train nor nontrain")


def parse_sex(text: str) -> str:
    """Return `female` or `male`; of any other word, its lower case."""
    word = text.strip().lower()
    return _SEXES.get(word, word)


def parse_count(text: str) -> str:
    """Return a number of children as given, without the `.0` that a spreadsheet's empty cells leave on a number."""
    word = text.strip()
    whole = _WHOLE_FLOAT.fullmatch(word)
    return whole[1] if whole else word
