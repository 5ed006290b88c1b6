"""The value behind an identifier's wording, so that two ways of writing one value are equal.

Owns the normal form of each kind of value: dates as ISO 8601, telephone numbers as digits, ages as numbers, addresses
in the abbreviations of the United States Postal Service, names as folded words in the order of speech.
"""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, assert_never

from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.taxonomy import PiiType, categories
from clinaudit.audit.pii.values.dates_in_text import WORDS, read_written_date

_RE: Final = Patterns(__name__)

NUMBER_WORDS: Final = WORDS["numbers"]
TENS: Final = WORDS["tens"]
_VALUES: Final = {
    **{word: value for value, word in enumerate(NUMBER_WORDS, 1)},
    **{word: 10 * value for value, word in enumerate(TENS, 2)},
    "hundred": 100,
}
#: A number in words: matches no more than such a number, and is to be searched without regard to case.
SPELLED_NUMBER: Final = (
    r"(?:(?:(?:a|one)[ -])?hundred(?:[ -]and)?(?:[ -](?=[a-z]))?)?"
    rf"(?:(?:{'|'.join(TENS)})(?:[ -](?:{'|'.join(NUMBER_WORDS[:9])}))?"
    rf"|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
    r"|(?:a|one)[ -]hundred"
)


def read_number(text: str) -> int | None:
    """Return the first number that a text holds, in figures or else in words; None where it holds none."""
    figures = _RE.figures.search(text)
    if figures is not None:
        return int(figures[0])
    values = [_VALUES[word] for word in _RE.small_letters.findall(text.lower()) if word in _VALUES]
    if 100 in values:
        # What stands before it says how many hundreds: one.
        return 100 + sum(values[values.index(100) + 1 :])
    return sum(values) or None


_USPS: Final = tomllib.loads(files(__package__).joinpath("usps.toml").read_text("utf-8"))
#: What addresses call a street; the first of each row is the standard abbreviation.
STREET_SUFFIXES: Final[tuple[tuple[str, ...], ...]] = tuple(tuple(row.split()) for row in _USPS["suffixes"])
#: Words in lower case by what stands for them; a word that is not here stands as it is.
USPS_ABBREVIATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        word: row.split()[0]
        for row in (*_USPS["suffixes"], *_USPS["units"], *_USPS["directions"])
        for word in row.split()
    }
)
#: The states and territories by their abbreviation.
STATES: Final[Mapping[str, str]] = MappingProxyType(_USPS["states"])

ValueKind = Literal[
    "name", "date", "time", "phone", "code", "ip", "email", "url", "address", "zip", "age", "quantity", "text"
]

#: Of the categories of a type, but for those of which the taxonomy says another.
_KIND_OF_TYPE: Final[Mapping[PiiType, ValueKind]] = {
    "PER": "name",
    "CODE": "code",
    **dict.fromkeys(("LOC", "ORG", "DEM"), "text"),
    "DATETIME": "date",
    "QUANTITY": "quantity",
}

#: What NFKD leaves whole.
_LETTERS: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
_TITLES, _AFTER_NAMES, _NAMES_TOO = (frozenset(WORDS[name]) for name in ("titles", "after_names", "degrees_and_names"))
#: Texts whose reading is kept: a name or a date stands in a text, and in those beside it, again and again.
_MOST_KEPT: Final = 50_000


class IdentifierValue(NamedTuple):
    """What an identifier says, in the normal form of its kind: equal values are the same identifier."""

    kind: ValueKind
    text: str


def normalize(category: str, text: str) -> IdentifierValue | None:
    """Return the likeliest value of an identifier of a category of the taxonomy; None where the text holds none."""
    return next(iter(readings(category, text)), None)


@lru_cache(maxsize=_MOST_KEPT)
def readings(category: str, text: str) -> tuple[IdentifierValue, ...]:
    """Return every value that an identifier can mean, the likeliest first.

    A date may be read in two orders and two centuries, a name with and without what stands between first and last.
    Raises KeyError for a category that the taxonomy does not have.
    """
    kind = kind_of(category)
    plain = unicodedata.normalize("NFKC", text).strip()
    return tuple(IdentifierValue(kind, value) for value in dict.fromkeys(_read(kind, plain)) if value)


def kind_of(category: str) -> ValueKind:
    """Return the kind of value that a category holds: categories of one kind can hold the same value."""
    found = categories()[category]
    return found.value or _KIND_OF_TYPE[found.type]  # type: ignore[return-value]  # a row of the taxonomy


def fold_words(text: str) -> str:
    """Return the words of a text in lower case, without accents, apostrophes and marks, one space between them."""
    return " ".join(_RE.word.findall(_fold(text)))


@lru_cache(maxsize=_MOST_KEPT)
def name_parts(text: str) -> tuple[str, ...]:
    """Return the folded words of a name in the order of speech: "Smith-Jones, Jo, MD" is `jo smith jones`."""

    def join_credential(match: re.Match[str]) -> str:
        """Join the letters of a degree ("M.D."), and leave initials ("J.R.") apart."""
        joined = match[0].replace(".", "")
        return joined if joined.lower() in _AFTER_NAMES - {"jr"} else match[0].replace(".", ". ")

    dotted = _RE.certified.sub("", _RE.credential_dots.sub(join_credential, text))
    parts: list[list[str]] = []
    for part in dotted.split(","):
        words = _words_of_name(part, known=sum(map(len, parts)))
        if words:
            parts.append(words)
    if not parts:
        return ()
    last, *first = parts
    return tuple(word for part in first for word in part) + tuple(last)


def _fold(text: str) -> str:
    if text.isascii():
        return _RE.apostrophes.sub("", text.lower())
    decomposed = unicodedata.normalize("NFKD", text)
    letters = "".join(character for character in decomposed if not unicodedata.combining(character))
    return _RE.apostrophes.sub("", letters.casefold().translate(_LETTERS))


def _words_of_name(part: str, *, known: int) -> list[str]:
    """Return the words of a part between commas, `known` words of the name standing before it."""
    written = _RE.word.findall(_RE.apostrophes.sub("", part))
    while written and _is_degree(written[-1], before=known + len(written) - 1, capitals=part.isupper()):
        written.pop()
    return [word for word in fold_words(" ".join(written)).split() if word not in _TITLES]


def _is_degree(word: str, *, before: int, capitals: bool) -> bool:
    folded = word.casefold()
    if folded not in _NAMES_TOO:
        return folded in _AFTER_NAMES
    return before >= 2 and (capitals or word.isupper() or word.islower())


def _read(kind: ValueKind, text: str) -> list[str]:
    """Return the values of a text as a kind, the likeliest first; an empty one is none."""
    match kind:
        case "name":
            parts = name_parts(text)
            return [" ".join(parts), *([f"{parts[0]} {parts[-1]}"] if len(parts) > 2 else [])]
        case "date":
            return list(read_written_date(text))
        case "phone":
            return [_phone_digits(text)]
        case "code":
            return ["".join(_RE.word.findall(_fold(text)))]
        case "ip":
            from ipaddress import ip_address

            try:
                return [str(ip_address(text.partition("/")[0]))]
            except ValueError:
                return [text.casefold()]
        case "email":
            return [_RE.scheme.sub("", text.casefold())]
        case "url":
            return [_RE.scheme.sub("", text.casefold()).removeprefix("www.").rstrip("/.,;")]
        case "address":
            words = fold_words(text.replace("#", " apt ")).split()
            return [" ".join(USPS_ABBREVIATIONS.get(word, word) for word in words)]
        case "zip":
            digits = re.sub(r"\D", "", text)
            return [digits[:5]] if len(digits) in (5, 9) else []
        case "age":
            number = read_number(text)
            return [] if number is None else [str(number)]
        case "time" if (time := _RE.time.fullmatch(text)) is not None:
            hour, minute = int(time[1]), int(time[2] or 0)
            if time[3]:
                hour = hour % 12 + (12 if time[3].lower() == "p" else 0)
            return [f"{hour:02d}:{minute:02d}"] if hour < 24 and minute < 60 else []
        case "quantity":
            written = _RE.number.search(text)
            if written is None:
                return []
            amount = float(written[0].replace(",", "")) * (1000 if _RE.thousands.search(text) else 1)
            return [f"{amount:g}" if amount < 1e6 else f"{amount:.2f}".rstrip("0").rstrip(".")]
        case "text" | "time":
            return [fold_words(text)]
    assert_never(kind)


def _phone_digits(text: str) -> str:
    import phonenumbers

    number = re.sub(r"^00", "+", _RE.extension.sub("", text))
    try:
        parsed = phonenumbers.parse(number, "US")
    except phonenumbers.NumberParseException:
        return re.sub(r"\D", "", number)
    national = phonenumbers.national_significant_number(parsed)
    # A number of another country keeps its country code: the national part alone may be that of an American number.
    return national if parsed.country_code == 1 else f"{parsed.country_code}{national}"
