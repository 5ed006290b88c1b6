"""Values of an export's cells: days, ages, sexes. Knows nothing of columns.

Exports of MIMIC, OMOP and FHIR write dates as ISO 8601; in a site's own table the column map says how they are written.
"""

import re
from collections.abc import Callable
from datetime import date, time
from typing import TypeVar

from clinaudit.priors.corpus.ages import MAX_AGE_YEARS, parse_age
from clinaudit.priors.corpus.cells import CellError, parse_sex
from clinaudit.priors.importers.ledger import RecordError

Meaning = TypeVar("Meaning")
_ISO = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})(?:[T ](\S+))?")
_YEAR = re.compile(r"[12][0-9]{3}")


def iso_day(text: str) -> date | None:
    """Return the day of an ISO 8601 date or date-time, None where the text is neither."""
    match = _ISO.fullmatch(text.strip())
    try:
        if match is not None:
            if match[2]:
                time.fromisoformat(match[2])
            return date.fromisoformat(match[1])
    except ValueError:
        pass  # a thirteenth month, a 30th of February
    return None


def require_day(text: str | None, what: str) -> date | None:
    """Return the day, None where nothing is given; raises `RecordError` where it is none."""
    if text is None:
        return None
    day = iso_day(text)
    if day is None:
        raise RecordError(f"{what} is not a date as ISO 8601 writes it")
    return day


def is_day_or_year(text: str) -> bool:
    """Whether a text is what a date of birth may be: an ISO 8601 date, or a year alone."""
    return _YEAR.fullmatch(text) is not None or iso_day(text) is not None


def require_birth(text: str | None, what: str) -> date | int | None:
    """Return a date of birth, or the year alone; raises `RecordError` where it is neither."""
    if text is not None and _YEAR.fullmatch(text):
        return int(text)
    return require_day(text, what)


def require_alive(birth: date | int, visit: date) -> None:
    """Raise `RecordError` where nobody of that birth date, or year, can have visited on that day."""
    year = birth if isinstance(birth, int) else birth.year
    is_later = year > visit.year if isinstance(birth, int) else birth > visit
    if is_later or visit.year - year > MAX_AGE_YEARS:
        raise RecordError("the visit is before the patient's birth, or over 130 years after it")


def require_age(text: str | None) -> str | None:
    """Return an age as it stands; raises `RecordError` where it is none that a corpus reads."""
    if text is not None:
        _read("age", parse_age, text)
    return text


def require_sex(text: str | None) -> str | None:
    """Return `female`, `male` or another word that a corpus reads; raises `RecordError` for one that it does not."""
    return None if text is None else _read("sex", parse_sex, text)


def _read(what: str, parse: Callable[[str], Meaning], text: str) -> Meaning:
    try:
        return parse(text)
    except CellError as error:
        raise RecordError(f"{what} {error}") from None
