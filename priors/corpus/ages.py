"""Ages as tables write them: years, months, or pooled over 89; also the age that a birth gives at a visit."""

import re
from dataclasses import dataclass
from datetime import date

from clinaudit.priors.corpus.cells import CellError

#: Nobody is known to have lived longer than 122 years; beyond this an age is a slip or a code such as 999.
MAX_AGE_YEARS = 130
#: Ages from here on may be given as one (45 CFR 164.514(b)(2)(i)(C)).
POOLED_FROM = 90
_YEARS = r"(?:[ -]?(?:years?|yrs?|yo|y/o|y)(?:[ -]old)?| (?:years? )?of age)?"
_AGE = re.compile(rf"([0-9]{{1,9}})(?:\.0+|,0{{1,2}})?{_YEARS}", re.IGNORECASE)
_AGE_IN_MONTHS = re.compile(r"([0-9]{1,9})[ -]months?(?:[ -]old)?", re.IGNORECASE)
_OVER = re.compile(rf"(?:>|over|above|older than|more than) ?([0-9]{{1,9}}){_YEARS}", re.IGNORECASE)
_AT_LEAST = re.compile(
    rf"(?:>=|≥|at least) ?([0-9]{{1,9}}){_YEARS}"
    rf"|([0-9]{{1,9}}){_YEARS} ?(?:\+|(?:or|and|&) ?(?:above|over|older|more|up)){_YEARS}",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"[0-9]{1,3} ?(?:-|–|to) ?[0-9]{1,3}|(?:<=?|≤|under|below|up to) ?[0-9]{1,3}|(?:about|circa|ca\.?|~) ?[0-9]{1,3}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Age:
    """An age in completed years."""

    years: int
    #: The table says no more than that the patient is as old as this or older.
    is_pooled: bool = False


def parse_age(text: str) -> Age:
    """Return an age from years (`50`, `50.0`, `50 years old`), months (`22-month`), or over 89 (`90+`, `>89`)."""
    text = " ".join(text.split())
    least = _least(text)
    if least is not None and POOLED_FROM <= least <= MAX_AGE_YEARS:
        return Age(POOLED_FROM, is_pooled=True)
    if least is not None or _RANGE.fullmatch(text):
        raise CellError("is a range; give the age in years (ages over 89 may be given as 90+)")
    if years := _AGE.fullmatch(text):
        age = int(years[1])
    elif months := _AGE_IN_MONTHS.fullmatch(text):
        age = int(months[1]) // 12
    else:
        raise CellError(f"is not a whole number of years from 0 to {MAX_AGE_YEARS} (or 22 months, 90+)")
    if age > MAX_AGE_YEARS:
        raise CellError(f"is an age above {MAX_AGE_YEARS} years; where it stands for one over 89, give 90+")
    return Age(age)


def _least(text: str) -> int | None:
    """Return the least age that `>89` or `90+` allows, None for text of another form."""
    if over := _OVER.fullmatch(text):
        return int(over[1]) + 1
    if match := _AT_LEAST.fullmatch(text):
        return int(match[1] or match[2])
    return None


def age_on(birth: date, day: date) -> int:
    """Return the completed years from a birth to a later day."""
    return day.year - birth.year - ((day.month, day.day) < (birth.month, birth.day))


def completed_years(birth: date, on: date) -> int:
    """Return the age in completed years on a day; raises `CellError` where that is no human age."""
    return _human(age_on(birth, on), is_after=birth > on)


def require_possible_year(birth_year: int, on: date) -> None:
    """Raise `CellError` where somebody born in a year cannot have been seen on a day."""
    _human(on.year - birth_year - 1, is_after=birth_year > on.year)


def _human(age: int, *, is_after: bool) -> int:
    if is_after:
        raise CellError("is after the patient's latest visit")
    if age > MAX_AGE_YEARS:
        raise CellError(f"makes the patient older than {MAX_AGE_YEARS} years at the latest visit")
    return age
