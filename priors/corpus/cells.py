"""Parsing of one cell of an input table: valid content and its meaning. Knows nothing of files and rows.

Each function returns the meaning or raises `CellError`, whose message is in fixed words and holds no content. The
caller decides about blank cells (nothing, or white space alone): an error in one column, unknown in another. Dates are
in dates.py, ages in ages.py.
"""

import math
import re
from enum import Enum, auto

from clinaudit.priors.corpus.patient import TableSplit
from clinaudit.priors.corpus.records import is_encodable

NOT_UNICODE = "holds half a surrogate pair, which is not Unicode text"
#: What programs write where a cell holds nothing, or where a formula failed. No name and no word is written so.
_NOTHING = frozenset({"nan", "NaN", "NAN", "NaT", "<NA>", "null", "NULL", "\\N"})
_FORMULA_ERROR = re.compile(r"#(?:N/A|REF!|VALUE!|NAME\?|DIV/0!|NUM!|NULL!|#+)")
#: A long number as a spreadsheet shows it: its last digits are lost.
_ABBREVIATED = re.compile(r"[0-9][.,][0-9]+E\+[0-9]+", re.IGNORECASE)
_WHOLE = re.compile(r"([0-9]+)(?:\.0+|,0{1,2})")
_SEXES = {
    **dict.fromkeys(("f", "female", "woman", "w", "girl", "lady"), "female"),
    **dict.fromkeys(("m", "male", "man", "boy", "gentleman"), "male"),
    **dict.fromkeys(("u", "unk", "unknown", "not known", "not stated", "not recorded", "n/a", "?", "-"), None),
    **{
        word: word
        for word in ("other", "intersex", "nonbinary", "non-binary", "indeterminate", "undifferentiated", "transgender")
    },
    **dict.fromkeys(("x", "o"), "other"),
}
_FLAGS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "1.0"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0", "0.0"), False),
}
_NO_FLAG = "is neither true nor false (nor yes, no, 1 or 0)"


class CellError(ValueError):
    """A cell that cannot be used; the message says what is wrong with it, never what it holds."""


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
        case bool():
            if kind is Kind.FLAG:
                return "true" if value else "false"
        case int():
            if kind is not Kind.TEXT:
                return str(value)
        case float():
            if kind in _FRACTIONS:
                return None if math.isnan(value) else str(value)
        case _:
            pass
    if isinstance(value, float) and kind is Kind.ID:
        raise CellError("is a number with a fraction, as 7.0; save identifiers as text or as whole numbers")
    raise CellError(_NO_FLAG if kind is Kind.FLAG else "is not text")


def _checked(text: str, kind: Kind) -> str:
    if not is_encodable(text):
        raise CellError(NOT_UNICODE)
    if "\0" in text:
        raise CellError("holds a NUL character")
    if kind is Kind.TEXT:
        return text
    word = text.strip()
    if word in _NOTHING or (word == "None" and kind is Kind.ID):
        raise CellError("holds a program's word for nothing (such as NaN or NULL); leave the cell blank")
    if _FORMULA_ERROR.fullmatch(word):
        raise CellError("holds the error of a spreadsheet's formula")
    if kind is Kind.ID and _ABBREVIATED.fullmatch(word):
        raise CellError("is a long number as a spreadsheet shortens it; format the column as text and save it again")
    return text.lower() if kind is Kind.CODE else text


def parse_flag(text: str) -> bool:
    """Return true or false: `true`, `t`, `yes`, `y`, `1` or their opposites, in letters of either case."""
    flag = _FLAGS.get(text.strip().lower())
    if flag is None:
        raise CellError(_NO_FLAG)
    return flag


def parse_split(text: str) -> TableSplit:
    """Return one of the three splits, in letters of either case; a guess could put a patient in the wrong arm."""
    match text.strip().lower():
        case "train":
            return "train"
        case "nontrain":
            return "nontrain"
        case "validation":
            return "validation"
    raise CellError("is none of train, nontrain (held out of training) and validation")


def parse_sex(text: str) -> str | None:
    """Return `female`, `male` or another word in lower case; None where the cell says that it is unknown."""
    word = " ".join(text.lower().split()).rstrip(".")
    if word in _SEXES:
        return _SEXES[word]
    if word.replace(".", "").isdigit():
        raise CellError("is a code; write female or male (or F, M, other, unknown)")
    raise CellError("is no word for a sex that is read; write female or male (or F, M, other, unknown)")


def parse_count(text: str) -> str:
    """Return a number of children as given, without the `.0` that a spreadsheet's empty cells leave on a number."""
    word = text.strip()
    whole = _WHOLE.fullmatch(word)
    return whole[1] if whole else word
