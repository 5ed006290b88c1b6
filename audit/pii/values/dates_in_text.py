"""Calendar days in every form that English text writes them in, without knowing a template's formats.

Owns the forms and how each is read. Knows nothing of what a date is of. `priors.written_dates` reads the formats that a
note template states; this module reads any text, so that a form which nobody stated is found too.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from clinaudit.audit.pii.patterns import Patterns

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
#: Words that numbers and names are written with.
WORDS: Final = {
    name: tuple(" ".join(lines).split())
    for name, lines in tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8")).items()
}
_ORDINALS: Final = WORDS["ordinals"]
#: The longer ones first: of two that begin alike the pattern takes the first.
_SPELLED: Final = "|".join(sorted(_ORDINALS, key=len, reverse=True)).replace("-", "[- ]")
_RE: Final = Patterns(__name__, lambda pattern: pattern.replace("${ordinals}", _SPELLED))
#: A year of two digits up to this one is first read as of the century 2000, a later one as of 1900.
_LATEST_SHORT_YEAR: Final = 30
#: Days whose reading is kept, and texts whose dates are: each rule asks for those near what it found.
_MOST_KEPT, _MOST_TEXTS = 50_000, 8
#: A leap year: a day without a year is a day of some year.
_LEAP_YEAR: Final = 2000
#: Months that are words or names as well.
_WORDS_TOO: Final = frozenset({"may", "mar", "march", "dec", "sep"})


class WrittenDate(NamedTuple):
    """A date as a text writes it, at characters `start` to `end` (half-open)."""

    start: int
    end: int
    #: What it can mean, the likeliest first: `2024-03-14`, `2024-03` without a day, `--03-14` without a year.
    readings: tuple[str, ...]


@lru_cache(maxsize=_MOST_TEXTS)
def find_dates(text: str) -> Sequence[WrittenDate]:
    """Return the dates that a text writes, by start; where two overlap, both."""
    # Half a character, which an escape may stand for, is no part of a date.
    data = text.encode(errors="replace")
    of_numbers, of_names = _gates()
    found = {
        *(_numeric_dates(text) if of_numbers.search(data) else ()),
        *(_named_dates(text) if of_names.search(data) else ()),
    }
    return sorted(found, key=lambda found: (found.start, -found.end))


@cache
def _gates() -> tuple[Any, Any]:
    """Return patterns of RE2 that match wherever a date in numbers, or the name of a month, stands."""
    import re2

    months = "|".join(_MONTHS)
    return (
        re2.compile(b"[0-9][^0-9A-Za-z]{1,9}[0-9]|(?:19|20)[0-9]{6}"),
        re2.compile(f"(?i)(?:^|[^A-Za-z_])(?:{months})".encode()),
    )


def read_written_date(text: str) -> tuple[str, ...]:
    """Return what a whole text means as a date, the likeliest first; empty where it is none."""
    stripped = _RE.day_of_week.sub("", text.strip())
    candidates = [*_numeric_dates(stripped), *_named_dates(stripped), *_numeric_dates(f"on {stripped}")]
    whole = [found for found in candidates if found.end - found.start == len(stripped)]
    return tuple(dict.fromkeys(reading for found in whole for reading in found.readings))


def read_in_orders(text: str) -> tuple[str | None, str | None]:
    """Return what a whole text means as a date with its month first, and with its day first; None: it is none so.

    "3/14/2024" is (`2024-03-14`, None). Of a form that has one order, such as "14 March", both are the same.
    """
    readings = read_written_date(text)
    pair = _RE.pair.match(text)
    if pair is None or not readings:
        return next(iter(readings), None), next(iter(readings), None)
    former, latter = (f"{int(number):02d}" for number in pair.groups())
    both = (f"{former}-{latter}", f"{latter}-{former}")
    month_first, day_first = (next((one for one in readings if one.endswith(order)), None) for order in both)
    return month_first, day_first


def _numeric_dates(text: str) -> Iterator[WrittenDate]:
    for match in _RE.numeric.finditer(text):
        readings = _read_numbers(*match.group(0, 1))
        if readings and _stands_alone(text, match, match[1].strip()):
            yield WrittenDate(*match.span(), readings)
    for match in _RE.compact.finditer(text):
        digits = match[0]
        readings = _days([int(digits[:4])], [(int(digits[4:6]), int(digits[6:]))])
        if readings and _stands_alone(text, match, "-"):
            yield WrittenDate(*match.span(), readings)
    for match in _RE.month_and_year.finditer(text):
        month, year = match[0].split("/")
        if 1 <= int(month) <= 12 and _stands_alone(text, match, "/"):
            yield WrittenDate(*match.span(), (f"{year}-{int(month):02d}",))
    for match in _RE.month_and_day.finditer(text):
        former, latter = map(int, re.split("[/-]", match[0]))
        readings = _yearless(list(dict.fromkeys(((former, latter), (latter, former)))))
        if readings and _RE.word_of_time.search(text[max(0, match.start() - 12) : match.start()]):
            yield WrittenDate(*match.span(), readings)


@lru_cache(maxsize=_MOST_KEPT)
def _read_numbers(written: str, mark: str) -> tuple[str, ...]:
    """Return what three numbers can mean as a day, the likeliest first: the same days stand in many texts."""
    first, second, third = written.split(mark)
    # With a year of two digits and full stops a date is one only in full: `03.14.24`.
    may_be_short = mark == mark.strip() and (mark != "." or len(written) == len("03.14.24"))
    if len(first) == 4 and len(third) <= 2:
        return _days(_century(first), [(int(second), int(third))])
    if len(first) <= 2 and (len(third) == 4 or (len(third) == 2 and may_be_short)):
        orders = [(int(first), int(second)), (int(second), int(first))]
        return _days(_century(third), list(dict.fromkeys(orders)))
    return ()


def _stands_alone(text: str, match: re.Match[str], mark: str) -> bool:
    """Whether no digit, letter or mark goes on with a number on either side; two dates may be joined by a hyphen."""
    before, after = text[max(0, match.start() - 2) : match.start()], text[match.end() : match.end() + 2]
    joins = "/.,:$#" if mark == "/" else "/.,:$#-"
    if before[-1:].isalnum() or before[-1:] == "_" or after[:1].isdigit() or after[:1] == "_":
        return False
    if after[:1].isalpha() and not (after[:1] == "T" and after[1:].isdigit()):
        return False
    if len(before) == 2 and before[0].isdigit() and before[1] in joins:
        return False
    return not (len(after) == 2 and after[0] in joins and after[1].isdigit())


def _named_dates(text: str) -> Iterator[WrittenDate]:
    for match in _RE.month_name.finditer(text):
        start, end = match.span()
        month = _MONTHS.index(match[0][:3].lower()) + 1
        day = _RE.day_before.search(text[max(0, start - 24) : start])
        if day is not None:
            year = _RE.year_after.match(text, end)
            found = _read_named(month, day, year)
            # "the second may be": a word of the language, unless it is written as a name or a year follows.
            if found and (year or match[0][0].isupper() or match[0].lower() not in _WORDS_TOO):
                yield WrittenDate(max(0, start - 24) + day.start(), _end(text, match, None, year), found)
            if found:
                continue
        day = _RE.day_after.match(text, end)
        if day is not None:
            year = _RE.year_after.match(text, day.end())
            found = _read_named(month, day, year)
            plain = match[0].lower() in _WORDS_TOO and not match[0][0].isupper()
            if found and not (year is None and (plain or _RE.amount.match(text, day.end()))):
                yield WrittenDate(start, _end(text, match, day, year), found)
                continue
        year = _RE.long_year_after.match(text, end)
        if year is not None:
            yield WrittenDate(start, year.end(), (f"{year['year']}-{month:02d}",))


def _end(text: str, month: re.Match[str], day: re.Match[str] | None, year: re.Match[str] | None) -> int:
    last = year or day
    return last.end() if last is not None else month.end() - (text[month.end() - 1] == ".")


def _read_named(month: int, day: re.Match[str], year: re.Match[str] | None) -> tuple[str, ...]:
    spelled = day["spelled"]
    number = _ORDINALS.index(spelled.lower().replace(" ", "-")) + 1 if spelled else int(day["day"])
    if year is None:
        return _yearless([(month, number)])
    return _days(_century(year["year"] or year["short"]), [(month, number)])


def _century(digits: str) -> list[int]:
    if len(digits) == 4:
        return [int(digits)] if 1800 <= int(digits) < 2100 else []
    short = int(digits)
    return [short + century for century in ((2000, 1900) if short <= _LATEST_SHORT_YEAR else (1900, 2000))]


def _days(years: list[int], orders: list[tuple[int, int]]) -> tuple[str, ...]:
    """Return the days that exist among some years and (month, day), in that order."""
    found: dict[str, None] = {}
    for month, day in orders:
        for year in years:
            try:
                found[date(year, month, day).isoformat()] = None
            except ValueError:
                continue
    return tuple(found)


def _yearless(orders: list[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(f"-{found[4:]}" for found in _days([_LEAP_YEAR], orders))
