"""The meaning of one cell of an input table, dates and ages included (docs/corpus-format.md, "Cells", "Dates").

Each function returns the meaning or raises `CellError`; the caller decides about blank cells. Which of day and month
comes first in `01/02/1950`, the column as a whole decides.
"""

import math
import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, time
from enum import Enum, auto
from pathlib import Path

from clinaudit.priors.corpus.child_readers import EXCEL_ERRORS
from clinaudit.priors.corpus.patient import TableSplit
from clinaudit.priors.corpus.records import is_encodable

#: Of two ids that `look` holds for one.
ALIKE = (
    "differs from another by case, zeros in front, .0, quotes, blanks, commas or signs that look alike; write one "
    "patient's id alike"
)
SHORTENED = (
    "is a long number as a spreadsheet or data frame shortens it; format the column as text (or as whole numbers) and "
    "save it again"
)
NOT_UNICODE = "holds half a surrogate pair, which is not Unicode text"
_WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
NOTHING = frozenset(_WORDS["nothing"])
#: What is nothing in an export, and of an identifier.
NOTHING_WRITTEN = NOTHING.union(_WORDS["nothing_written"])
NO_IDENTIFIER = NOTHING_WRITTEN.union(_WORDS["no_identifier"])
_SAYS_NOTHING = {word.casefold().strip("<>()") for word in NOTHING_WRITTEN}.union(_WORDS["says_nothing"])
NO_DAYS = frozenset(_WORDS["no_days"])
_PLACEHOLDERS = _SAYS_NOTHING.union(_WORDS["placeholders"])
#: What UTF-8 looks like that was read as cp1252, as a console or a Mac reads it; cp1252 that was read as latin-1; codes
#: of a font of signs; and what could not be read at all.
_SIGN = re.compile("[ÂÃâ├┬ÔΓ√¬‚\x91-\x94\x96\ufffd\uf020-\uf0ff]")
_MISREAD = re.compile(
    "[\x91-\x94\x96\ufffd\uf020-\uf0ff]|[ÂÃ][\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€"
    "|[├┬][^\x00-\x7f\u2500-\u2590]|ÔÇ|ΓÇ|√[®©°¢£§¶ßº∂Æ]|¬[∞±µ∑∫]|‚Ä[úùìîòô¶¢∞]"
)
#: The error of a formula, as a spreadsheet writes it to a text; `####` is a number in a narrow column.
FORMULA_ERROR = re.compile("|".join((*map(re.escape, EXCEL_ERRORS), "##+")))
#: A long number as a spreadsheet or data frame shortens it: its last digits are lost.
ABBREVIATED = re.compile(r"[0-9](?:(?:[.,][0-9]*)?E\+|[.,][0-9]+E)[0-9]+|[0-9]{16,}[.,]0*", re.IGNORECASE)
#: A text as a CSV holds it that is to stay one in a spreadsheet: `="007"`.
FORMULA_TEXT = re.compile(r'="((?:[^"]|"")*)"')
#: What copying may put around an identifier: a spreadsheet's mark of a text, quotes, the end of a cell.
_AROUND = "'\"`´‘’“”=,;{}()[]<>#"
#: A number as a spreadsheet shows it with its thousands apart: `1,234`.
_IN_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:[ ,'’][0-9]{3})+")
_NUMBER_WRITTEN = re.compile(r"0*([0-9]+?)(?:[.,]0*)?")
_WHOLE = re.compile(r"([0-9]+)(?:\.0+|,0{1,2})")
_SEXES: dict[str, str | None] = {
    word: {"unknown": None, "as_written": word}.get(sex, sex)
    for sex, words in _WORDS["sexes"].items()
    for word in words
}
_FLAGS: dict[str, bool] = {word: flag == "true" for flag, words in _WORDS["flags"].items() for word in words}
_SPLITS: dict[str, TableSplit] = {"train": "train", "nontrain": "nontrain", "validation": "validation"}
_NO_FLAG = "is neither true nor false (nor yes, no, 1 or 0)"


class CellError(ValueError):
    """A cell that cannot be used; the message is in fixed words, and never says what the cell holds."""


class Kind(Enum):
    """How a column is read."""

    #: Identifier: kept exactly; a whole number of JSONL or Parquet is read as its digits.
    ID = auto()
    #: Identifier of this program's own, which is in lower case.
    CODE = auto()
    #: Note text: a string, kept exactly.
    TEXT = auto()
    #: Free words or a number.
    WORD = auto()
    DATE = auto()
    #: A number that a spreadsheet or data frame may have turned into a fraction (`50.0`).
    NUMBER = auto()
    FLAG = auto()


#: Kinds of which a data frame makes fractions where some cells are blank.
_FRACTIONS = frozenset({Kind.NUMBER, Kind.DATE, Kind.FLAG})


def as_text(value: object, kind: Kind) -> str | None:
    """Return a raw value as text, None for a null; numbers become their digits, no other type is converted."""
    match value:
        case None:
            return None
        case str():
            return _checked(value, kind)
        case bool() if kind is Kind.FLAG:
            return str(value).lower()
        case int() if kind is not Kind.TEXT and not isinstance(value, bool):
            return str(value)
        case float() if kind in _FRACTIONS:
            return None if math.isnan(value) else str(value)
        case float() if kind is Kind.ID:
            raise CellError("is a number with a fraction, as 7.0; save identifiers as text or as whole numbers")
        case _:
            raise CellError(_NO_FLAG if kind is Kind.FLAG else "is not text")


def _checked(text: str, kind: Kind) -> str:
    if not is_encodable(text):
        raise CellError(NOT_UNICODE)
    if "\0" in text:
        raise CellError("holds a NUL character")
    if kind is Kind.TEXT:
        return text
    word = text.strip()
    if word in (NO_IDENTIFIER if kind is Kind.ID else NOTHING):
        raise CellError("holds a program's word for nothing (such as NaN or NULL); leave the cell blank")
    if FORMULA_ERROR.fullmatch(word):
        raise CellError("holds the error of a spreadsheet's formula")
    if kind is Kind.ID and ABBREVIATED.fullmatch(word):
        raise CellError(SHORTENED)
    if kind is Kind.ID and FORMULA_TEXT.fullmatch(word):
        raise CellError('is a spreadsheet\'s formula for a text (="007"); write the text alone')
    has_marks = kind is Kind.ID and not text.isascii()
    if has_marks and (_UNSEEN.search(text) or any(unicodedata.category(char) == "Cf" for char in text)):
        raise CellError("holds a mark that nobody sees, such as a zero-width blank; write identifiers without")
    return text.lower() if kind is Kind.CODE else text


#: Characters without a sign of their own beside those of the category Cf: joiners, fillers, and selectors of variants.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")
#: Letters of Greek and Cyrillic that look like Latin ones.
_LOOKS_LATIN = str.maketrans(
    "АВЕКМНОРСТУХІЈЅаеорсухіјѕԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοօıᴋ", "ABEKMHOPCTYXIJSaeopcyxijsdqwABEZHIKMNOPTYXooik"
)
#: The minus, and other strokes that are no hyphens by their category.
_STROKES = {"\u2212": "-", "\u2043": "-", "\u2044": "/", "\u2215": "/"}


def without_marks(identifier: str) -> str:
    """Return an identifier without blanks around it and marks that nobody sees, in common width: `\ufeff７` is `7`."""
    if identifier.isascii() and identifier.isprintable():
        return identifier.strip()
    chars = (
        unicodedata.normalize("NFKC", char) if unicodedata.east_asian_width(char) in "FH" else char
        for char in _UNSEEN.sub("", identifier)
        if char == "\t" or unicodedata.category(char) not in ("Cf", "Cc")  # a tab parts cells
    )
    return unicodedata.normalize("NFC", "".join(chars)).strip()


def look(identifier: str) -> str:
    """Return what two identifiers share that may be one patient's: `P1`, `p1`, `р1` (Cyrillic); `007`, `7.0`, `#7`."""
    bare = without_marks(identifier)
    if not bare.isascii():
        kinds = {"Zs": " ", "Pd": "-"}
        alike = unicodedata.normalize("NFKC", bare.translate(_LOOKS_LATIN))
        bare = "".join(
            str(unicodedata.digit(char, "")) or _STROKES.get(char) or kinds.get(unicodedata.category(char), char)
            for char in alike
        )
    bare = " ".join(bare.strip(_AROUND).casefold().split())
    if _IN_THOUSANDS.fullmatch(bare):
        return re.sub(r"\D", "", bare)
    number = _NUMBER_WRITTEN.fullmatch(bare)
    return number[1] if number else bare


def says_nothing(text: str) -> bool:
    """Whether a text is a program's word for nothing alone, or has no letter and no figure: `NULL`, `[null]`, `--`."""
    word = text.strip() if len(text) < 20 else ""
    return bool(word) and (
        word.casefold().strip("<>()[]{}.") in _SAYS_NOTHING or not any(char.isalnum() for char in word)
    )


def is_placeholder(identifier: str) -> bool:
    """Whether an identifier may stand for no patient: `none`, `unknown`, `--`, `000`."""
    return look(identifier).strip("<>()[]{}.-_?*# ") in _PLACEHOLDERS


def is_misread(text: str) -> bool:
    """Whether a text shows that it was read by a wrong encoding before it was written."""
    return not text.isascii() and _SIGN.search(text) is not None and _MISREAD.search(text) is not None


def parse_flag(text: str) -> bool:
    """Return true or false: `true`, `t`, `yes`, `y`, `1` or their opposites, in letters of either case."""
    if (flag := _FLAGS.get(text.strip().lower())) is None:
        raise CellError(_NO_FLAG)
    return flag


def parse_split(text: str) -> TableSplit:
    """Return one of the three splits, in letters of either case; a guess could put a patient in the wrong arm."""
    if (split := _SPLITS.get(text.strip().lower())) is None:
        raise CellError("is none of train, nontrain (held out of training) and validation")
    return split


def parse_sex(text: str) -> str | None:
    """Return `female`, `male` or another word in lower case; None where the cell says that it is unknown."""
    word = " ".join(text.lower().split()).rstrip(".")
    if word in _SEXES:
        return _SEXES[word]
    raise CellError("is no word for a sex that is read; write female or male (or F, M, other, unknown)")


def parse_count(text: str) -> str:
    """Return a number of children as given, without the `.0` that a spreadsheet's empty cells leave on a number."""
    word = text.strip()
    whole = _WHOLE.fullmatch(word)
    return whole[1] if whole else word


#: Nobody is known to have lived longer than 122 years; beyond this an age is a slip or a code such as 999.
MAX_AGE_YEARS = 130
#: Ages from here on may be given as one (45 CFR 164.514(b)(2)(i)(C)).
_POOLED_FROM = 90
_YEARS = r"(?:[ -]?(?:years?|yrs?|yo|y/o|y)(?:[ -]old)?| (?:years? )?of age)?"
_AGE = re.compile(rf"([0-9]{{1,9}})(?:\.0+|,0{{1,2}})?{_YEARS}", re.IGNORECASE)
_AGE_IN_PARTS = re.compile(r"([0-9]{1,9})[ -](month|week|day)s?(?:[ -]old)?", re.IGNORECASE)
_PARTS_OF_A_YEAR = {"month": 12, "week": 52, "day": 365}
_OVER = re.compile(rf"(?:>|over|above|older than|more than) ?([0-9]{{1,9}}){_YEARS}", re.IGNORECASE)
_AT_LEAST = re.compile(
    rf"(?:>=|≥|at least) ?([0-9]{{1,9}}){_YEARS}"
    rf"|([0-9]{{1,9}}){_YEARS} ?(?:\+|(?:or|and|&) ?(?:above|over|older|more|up)){_YEARS}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Age:
    """An age in completed years."""

    years: int
    #: The table says no more than that the patient is as old as this or older.
    is_pooled: bool = False


def parse_age(text: str) -> Age:
    """Return an age from years (`50`, `50 years old`), months, weeks, days (`22-month`), or over 89 (`90+`, `>89`)."""
    text = " ".join(text.split())
    over, at_least = _OVER.fullmatch(text), _AT_LEAST.fullmatch(text)
    least = int(over[1]) + 1 if over else int(at_least[1] or at_least[2]) if at_least else 0
    if _POOLED_FROM <= least <= MAX_AGE_YEARS:
        return Age(_POOLED_FROM, is_pooled=True)
    if years := _AGE.fullmatch(text):
        age = int(years[1])
    elif parts := _AGE_IN_PARTS.fullmatch(text):
        age = int(parts[1]) // _PARTS_OF_A_YEAR[parts[2].lower()]
    else:
        age = MAX_AGE_YEARS + 1  # a range, for one
    if age > MAX_AGE_YEARS:
        raise CellError(f"is not a whole number of years from 0 to {MAX_AGE_YEARS} (or 22 months, 90+)")
    return Age(age)


def age_on(birth: date, day: date) -> int:
    """Return the completed years from a birth to a later day."""
    return day.year - birth.year - ((day.month, day.day) < (birth.month, birth.day))


def completed_years(birth: date | int, on: date) -> int:
    """Return the age in completed years on a day, of a year of birth alone the least it can be.

    Raises `CellError` where that is no human age.
    """
    age, is_after = (
        (age_on(birth, on), birth > on) if isinstance(birth, date) else (on.year - birth - 1, birth > on.year)
    )
    if is_after:
        raise CellError("is after the patient's latest visit")
    if age > MAX_AGE_YEARS:
        raise CellError(f"makes the patient older than {MAX_AGE_YEARS} years at the latest visit")
    return age


_CLOCK = r"(?:[T ,] *(?P<clock>\S.*))?"
_ISO = re.compile(r"([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})" + _CLOCK)
_YEAR_FIRST = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})" + _CLOCK)
_YEAR_LAST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})" + _CLOCK)
_DAY_MONTH = re.compile(r"([0-9]{1,2})[ -]([a-z]{3,9})\.?,?[ -]([0-9]{4})" + _CLOCK, re.IGNORECASE | re.ASCII)
_MONTH_DAY = re.compile(r"([a-z]{3,9})\.? ([0-9]{1,2}),? ([0-9]{4})" + _CLOCK, re.IGNORECASE | re.ASCII)
_SHORT_YEAR = re.compile(r"[0-9]{1,2}([-/.])(?:[0-9]{1,2}|[A-Za-z]{3})\1[0-9]{2}(?:[ T].*)?")
_SERIAL = re.compile(r"[0-9]{5}(?:[.,][0-9]+)?")
_YEAR = re.compile(r"(1[89][0-9]{2}|20[0-9]{2})(?:[.,]0{1,2})?")
_TWELVE_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))? ?([ap])\.?m\.?", re.IGNORECASE | re.ASCII)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH_OF = {"sept": 9} | {word: at for at, month in enumerate(_MONTHS, 1) for word in (month, month[:3])}
_WRITE = "write it as 2024-01-31"
_SERIAL_NUMBER = "is the number by which a spreadsheet keeps a date; format the column as a date and save it again"


@dataclass(frozen=True, slots=True)
class DayOrder:
    """Which of day and month comes first in the dates of a column that have the year last."""

    #: A row that leaves no other reading; 0 where there is none.
    day_first_row: int = 0
    month_first_row: int = 0

    @property
    def mixed(self) -> bool:
        """Whether some rows have the day first and others the month."""
        return bool(self.day_first_row and self.month_first_row)

    def describe(self) -> str | None:
        """Return what the column was read as, None where nothing had to be decided."""
        row = self.day_first_row or self.month_first_row
        if not row or self.mixed:
            return None
        order = "day, month, year" if self.day_first_row else "month, day, year"
        return f"read as {order}: row {row} leaves no other reading"


#: No date of the column has the year last, or none of these leaves one reading only.
UNDECIDED = DayOrder()


def find_day_order(cells: Iterable[tuple[int, str | None]]) -> DayOrder:
    """Return the order that the cells of a column, given with their rows, leave as the only one."""
    day_first = month_first = 0
    for row, text in cells:
        if text is None or text[:4].isdigit():
            continue  # ISO 8601, as most dates are
        match = _YEAR_LAST.fullmatch(text.strip())
        if match is None:
            continue
        first, second = int(match[1]), int(match[3])
        if 12 < first <= 31 and second <= 12:
            day_first = day_first or row
        elif 12 < second <= 31 and first <= 12:
            month_first = month_first or row
    return DayOrder(day_first, month_first)


def parse_date(text: str, order: DayOrder = UNDECIDED) -> tuple[date, time]:
    """Return the date and wall-clock time (midnight where none is given) of a cell.

    A time zone is ignored: the date is the one written, as in the clinic's calendar.
    """
    text = text.strip()
    try:
        day, clock = _parts(text, order)
        return day, read_clock(clock) if clock else time()
    except CellError:
        raise
    except (ValueError, KeyError):
        pass  # a thirteenth month, a 30th of February: reported below like any other
    if _SHORT_YEAR.fullmatch(text):
        raise CellError(f"has a year of two digits; {_WRITE}")
    if _SERIAL.fullmatch(text):
        raise CellError(_SERIAL_NUMBER)
    raise CellError(f"is not a date; {_WRITE}")


def parse_birth(text: str, order: DayOrder = UNDECIDED) -> date | int:
    """Return a date of birth, or the year where the cell gives it alone (`1950`)."""
    year = _YEAR.fullmatch(text.strip())
    return int(year[1]) if year else parse_date(text, order)[0]


def _parts(text: str, order: DayOrder) -> tuple[date, str | None]:
    """Return the day and the text of the time; raises `ValueError` or `KeyError` where it is no date."""
    if match := _ISO.fullmatch(text) or _YEAR_FIRST.fullmatch(text):
        return date(int(match[1]), int(match[3]), int(match[4])), match["clock"]
    if match := _DAY_MONTH.fullmatch(text):
        return date(int(match[3]), _MONTH_OF[match[2].lower()], int(match[1])), match["clock"]
    if match := _MONTH_DAY.fullmatch(text):
        return date(int(match[3]), _MONTH_OF[match[1].lower()], int(match[2])), match["clock"]
    if (match := _YEAR_LAST.fullmatch(text)) is None:
        raise ValueError
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    if order.mixed:
        raise CellError(f"has the day first in some rows of the column and the month first in others; {_WRITE}")
    if order == UNDECIDED and first != second and max(first, second) <= 12:
        raise CellError(f"can be read with the day or the month first; {_WRITE}")
    day, month = (second, first) if order.month_first_row else (first, second)
    return date(year, month, day), match["clock"]


#: A zone after a time: `Z`, ` UTC`, `+01:00`, ` GMT+1`, ` EST`, ` Europe/Oslo`.
_ZONE = re.compile(
    r" ?(?:Z|(?:UTC|GMT)?[+-](?:0?[0-9]|1[0-4])(?::?[0-5][0-9])?|UTC|GMT|[A-Z]{1,4}[SD]T|[CEW]ES?T|MSK"
    r"|[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_-]+)+)$"
)


def read_clock(text: str) -> time:
    """Return the time of a day as it is written, whatever its zone; raises `ValueError` where it is none."""
    text = _ZONE.sub("", text)
    match = _TWELVE_HOURS.fullmatch(text)
    if match is None:
        # "9:30" as "09:30", which alone is ISO 8601.
        return time.fromisoformat(text if text[1:2] != ":" else f"0{text}").replace(tzinfo=None)
    hour = int(match[1])
    if not 1 <= hour <= 12:
        raise ValueError
    return time(hour % 12 + (12 if match[4].lower() == "p" else 0), int(match[2]), int(match[3] or 0))
