"""Numbers that are spelled out, read as figures: "five-one-two 44", "oh one four three", "nineteen forty-six".

Owns the reading, and for each figure the stretch of the text that it was read from. Single number words stay as they
are ("three days"). Knows nothing of identifiers.
"""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.plain_text import Edit
from clinaudit.audit.pii.values.normal_form import NUMBER_WORDS, TENS

_UNITS: Final = {
    **{word: number for number, word in enumerate(NUMBER_WORDS[:9], 1)},
    "zero": 0,
    "oh": 0,
    "o": 0,
    "nought": 0,
    "niner": 9,
}
_TEENS: Final = {word: number for number, word in enumerate(NUMBER_WORDS[9:], 10)}
_TENS: Final = {**{word: 10 * number for number, word in enumerate(TENS, 2)}, "fourty": 40}
_SMALL: Final = _UNITS | _TEENS | _TENS
_REPEATS: Final = {"double": 2, "triple": 3}
_MULTIPLIERS: Final = {"hundred": 100, "thousand": 1000}
_WORDS: Final = "|".join(
    sorted((*_UNITS, *_TEENS, *_TENS, *_REPEATS, *_MULTIPLIERS, "and"), key=lambda word: (-len(word), word))
)
#: The O of "O'Connor" is not a zero.
_WORD_END: Final = r"(?![^\W_]|['’][^\W\d_])"
_TOKEN: Final = re.compile(rf"(?i:{_WORDS}){_WORD_END}|[0-9]+")
#: What may stand between two numerals of one number.
_MARKS: Final = r"[ \t]{0,2}(?:[-–,./;]|dash|hyphen|\r?\n)?[ \t]{0,2}"
_NUMERAL: Final = rf"(?:(?i:{_WORDS}){_WORD_END}|[0-9]+)"
_RUN: Final = re.compile(
    rf"(?<![\w])(?i:{_WORDS}){_WORD_END}(?:{_MARKS}{_NUMERAL})+|(?<![\w.])[0-9]+(?:{_MARKS}{_NUMERAL})+"
)
#: A number of fewer than four digits identifies nobody and is not a year: it is left as written.
_FEWEST_FIGURES: Final = 4


def spoken(text: str) -> Iterator[Edit]:
    """Yield an edit for each run of number words that gives four digits or more.

    An edit holds the run, and the digits that replace it. A run may hold figures too, but not figures alone.
    """
    return ((*run.span(), figures) for run in _RUN.finditer(text) if (figures := _figures(run)) is not None)


def _figures(run: "re.Match[str]") -> list[tuple[str, int, int]] | None:
    """Return the numbers of a run as figures, with their places, and a blank where a mark parts them."""
    tokens = list(_TOKEN.finditer(run.string, run.start(), run.end()))
    # "10/28 and 11/05" spells nothing out.
    if all(token[0].isdigit() or token[0].lower() == "and" for token in tokens):
        return None
    found: list[tuple[str, int, int]] = []
    for written, start, end in _numbers(tokens):
        if found:
            gap = run.string[found[-1][2] : start]
            are_figures = run.string[start].isdigit(), run.string[found[-1][2] - 1].isdigit()
            # Words run on into one number; figures, and what a mark parts, begin another.
            parted = bool(gap.strip(" \t")) and gap.strip(" \t") != "-"
            if parted or any(are_figures):
                # Days in figures stay days: "10/28, 11/05 and two more".
                mark = "/" if gap == "/" and all(are_figures) else " "
                found.append((mark, found[-1][2] - 1, found[-1][2]))
        found.append((written, start, end))
    total = sum(character.isdigit() for written, _, _ in found for character in written)
    return found if total >= _FEWEST_FIGURES else None


def _numbers(tokens: "list[re.Match[str]]") -> Iterator[tuple[str, int, int]]:
    """Yield each numeral of a run as figures: "forty" and "six" are one, so are "two thousand and one"."""
    place = 0
    while place < len(tokens):
        token = tokens[place]
        word = token[0].lower()
        end = token.end()
        place += 1
        following = tokens[place][0].lower() if place < len(tokens) else ""
        if word.isdigit():
            yield token[0], token.start(), end
        elif word in _REPEATS:
            if following in _UNITS:
                yield str(_UNITS[following]) * _REPEATS[word], token.start(), tokens[place].end()
                place += 1
        elif following in _MULTIPLIERS and word in _SMALL:
            value, place, end = _read_hundreds_and_thousands(tokens, place - 1)
            yield str(value), token.start(), end
        elif word in _TENS and following in _UNITS and _UNITS[following]:
            yield str(_TENS[word] + _UNITS[following]), token.start(), tokens[place].end()
            place += 1
        elif word in _SMALL:
            yield str(_SMALL[word]), token.start(), end


def _read_hundreds_and_thousands(tokens: "list[re.Match[str]]", place: int) -> tuple[int, int, int]:
    """Return a number of hundreds or thousands, the place after its last token, and where that ends."""
    total = current = 0
    end = tokens[place].end()
    last = "multiplier"
    while place < len(tokens):
        word = tokens[place][0].lower()
        kind = (
            "multiplier" if word in _MULTIPLIERS else "unit" if word in _UNITS else "tens" if word in _TENS else "teen"
        )
        if word in _MULTIPLIERS:
            current = (current or 1) * _MULTIPLIERS[word]
            if word == "thousand":
                total, current = total + current, 0
        elif word == "and" and last == "multiplier":
            place += 1
            continue
        elif word in _SMALL and (last == "multiplier" or (last == "tens" and kind == "unit")):
            current += _SMALL[word]
        else:
            break
        last, end = kind, tokens[place].end()
        place += 1
    return total + current, place, end
