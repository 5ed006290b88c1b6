"""Values of an export's cells: days, ages, sexes. Knows nothing of columns.

Exports of MIMIC, OMOP and FHIR write dates as ISO 8601; in a site's own table the column map says how they are written.
"""

import re
from datetime import date, time

from clinaudit.priors.importers.ledger import RecordError

#: Nobody is known to have lived longer than 122 years.
_MAX_AGE_YEARS = 130
_ISO = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})(?:[T ](\S+))?")
_AGE = re.compile(r"[0-9]{1,3}(?:\.0+)?|[0-9]{1,4}[ -]months?(?:[ -]old)?", re.IGNORECASE)
_SEXES = {"f": "female", "m": "male"}


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


def require_alive(birth: date, visit: date) -> None:
    """Raise `RecordError` where nobody of that birth date can have visited on that day."""
    if birth > visit or visit.year - birth.year > _MAX_AGE_YEARS:
        raise RecordError("the visit is before the patient's birth, or over 130 years after it")


def require_age(text: str | None) -> str | None:
    """Return an age as it stands; raises `RecordError` where it is none that a corpus reads."""
    if text is not None and not _AGE.fullmatch(text):
        raise RecordError("age is not a whole number of years (50) or of months (22-month)")
    return text


def as_sex(text: str | None) -> str | None:
    """Return `female` or `male` for the usual letters; another word in lower case."""
    if text is None:
        return None
    return _SEXES.get(text.lower(), text.lower())
