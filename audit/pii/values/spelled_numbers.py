"""Whole numbers below 200 in figures or in words, as ages are written ("94", "ninety-four", "one hundred and two")."""

import re
from typing import Final

_UNITS: Final = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES: Final = {
    **{word: value for value, word in enumerate(_UNITS, 1)},
    **{word: 10 * value for value, word in enumerate(_TENS, 2)},
    "hundred": 100,
}
#: A number in words: matches no more than such a number, and is to be searched without regard to case.
SPELLED_NUMBER: Final = (
    r"(?:(?:(?:a|one)[ -])?hundred(?:[ -]and)?(?:[ -](?=[a-z]))?)?"
    rf"(?:(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_UNITS[:9])}))?|{'|'.join(sorted(_UNITS, key=len, reverse=True))})"
    r"|(?:a|one)[ -]hundred"
)
_WORD = re.compile(r"[a-z]+")
_FIGURES = re.compile(r"\d{1,3}(?!\d)")


def read_number(text: str) -> int | None:
    """Return the first number that a text holds, in figures or else in words; None where it holds none."""
    figures = _FIGURES.search(text)
    if figures is not None:
        return int(figures[0])
    values = [_VALUES[word] for word in _WORD.findall(text.lower()) if word in _VALUES]
    if 100 in values:
        # What stands before it says how many hundreds: one.
        return 100 + sum(values[values.index(100) + 1 :])
    return sum(values) or None
