"""Placeholders for the values that tell who a note is about and which visit (docs/methods.md, section 2, "Masked K").

Owns where the values of one note's identity occur in a text, and the text with placeholders in their stead. Knows
nothing of corpora or models. Case does not count, and a value is found as whole words only. No pattern is compiled for
a note, which would take longer than reading it: the first word of each value is sought, and the rest compared there.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from clinaudit.priors.identity import Identity
from clinaudit.templates.dates import WrittenDates
from clinaudit.templates.spans import Span

ValueKind = Literal["name", "age", "sex", "date", "provider", "practice"]
#: One character a kind. These are noncharacters, which Unicode sets aside for internal use.
PLACEHOLDERS: Final[dict[ValueKind, str]] = {
    "name": "\ufdd0",
    "age": "\ufdd1",
    "sex": "\ufdd2",
    "date": "\ufdd3",
    "provider": "\ufdd4",
    "practice": "\ufdd5",
}
#: A note that holds such a character itself holds no placeholder: there it reads as the replacement character.
_TAKEN = str.maketrans(dict.fromkeys(PLACEHOLDERS.values(), "\ufffd"))

#: Words and letter of each sex [choice]; pronouns are none, or the same clinical text about a man and about a woman
#: would be one text.
_SEXES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("female", "woman", "lady", "girl"), "f"),
    (("male", "man", "gentleman", "boy"), "m"),
)
_LETTERS: Final = frozenset(letter for _, letter in _SEXES)
#: What an age is written together with: "46yo".
_AGE_UNITS: Final = ("", "y", "yo", "yr", "yrs", "year", "years")
#: What tells that a number is an age, after its digits ("46-year-old", "46 y/o", "46 years of age") and before them
#: ("age: 46", "aged 46"). A dose, a score and a duration have neither.
_AGE_AFTER = re.compile(r"[\s-]{0,2}(?:y\.?/?o\b|(?:years?|yrs?\.?|y)[\s-]{1,2}(?:old\b|of\sage\b))")
_AGE_BEFORE = re.compile(r"\bage(?:d|\sof|\sis)?\s{0,2}[:=]?\s{0,4}$")
#: Of a longer number the digits are a part: "46.5", "1,046", "46/80".
_NUMBER_BEFORE = re.compile(r"\d[.,/:-]$")
_NUMBER_AFTER = re.compile(r"[.,/:-]?\d")
_WORD = re.compile(r"\w+")
_WORD_END = re.compile(r"(?!\w)")
_SPACE = re.compile(r"\s+")
#: A part of a name: letters, "O'Brien" as one.
_NAME_PART = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
#: What may stand between two parts of one name; a full stop ends a sentence.
_BETWEEN_NAMES = re.compile(r"[^\w\n.;:!?]{1,3}")
#: After the letter of a sex, and before it: it stands for nothing in "f/u", "I'm" or "98.6 F".
_LETTER_END = re.compile(r"(?![\w/'’])")
_BEFORE_LETTER = re.compile(r"(?<![/'’°.])(?<!\d )")


@dataclass(frozen=True, slots=True)
class MaskedValue:
    """One occurrence of a value in a text."""

    span_chars: Span
    kind: ValueKind
    #: What the occurrence says: the words of a name, the day of a date, or nothing beyond its kind.
    says: frozenset[str]


#: Returns where a value ends that begins at a place of a text in lower case, and what it says; None where none does.
_Way = Callable[[str, int], tuple[int, Iterable[str]] | None]


class ValueMask:
    """Finds the values of one identity in texts."""

    def __init__(self, identity: Identity, dates: WrittenDates) -> None:
        #: By the first word: the ways in which a value can go on. The first one that does counts.
        self._ways: dict[str, list[tuple[ValueKind, _Way]]] = {}
        self._dates = dates
        self._days = identity.birth_dates | identity.visit_dates
        names = {part for name in identity.names for part in _NAME_PART.findall(_lower(name))}
        self._name_parts = _longest_first(part for part in names if len(part) > 1)
        self._initials = {part for part in names if len(part) == 1}
        written = {_lower(value).rstrip(".") for value in identity.sexes}
        sexes = [sex for sex in _SEXES if written & {*sex[0], sex[1]}]
        self._sex_letters = {letter for _, letter in sexes}

        # Values of many words come first: a provider's name may hold the patient's.
        self._add_texts("provider", identity.providers)
        self._add_texts("practice", identity.practices)
        for word in {word for day in self._days for word in dates.first_words(day)}:
            self._add("date", word, self._date)
        for word in {_first_word(part) for part in self._name_parts}:
            self._add("name", word, self._name)
        for age in map(str, identity.ages):
            for unit in (*_AGE_UNITS, *self._sex_letters):
                self._add("age", age + unit, partial(self._age, len(age)))
        self._add_texts("sex", [*(word for words, _ in sexes for word in words), *(written - _LETTERS)])
        for letter in self._sex_letters:
            self._add("sex", letter, _letter)

    def find(self, text: str, age_place: int | None = None) -> list[MaskedValue]:
        """Return the occurrences in a text, in order; they do not overlap.

        A number is an age beside a cue, or where the text's age field has it (`age_place`).
        """
        return list(self._find(_lower(text), age_place))

    def _find(self, text: str, age_place: int | None) -> Iterator[MaskedValue]:
        end = 0
        for start, word in sorted((place, first) for first in self._ways for place in _places(text, first)):
            if start < end:
                continue
            for kind, way in self._ways[word]:
                found = way(text, start)
                if found is not None and (kind != "age" or _is_age(text, start, found[0], start == age_place)):
                    end = found[0]
                    yield MaskedValue(Span(start, end), kind, frozenset(found[1]))
                    break

    def _add(self, kind: ValueKind, word: str, way: _Way) -> None:
        self._ways.setdefault(word, []).append((kind, way))

    def _add_texts(self, kind: ValueKind, values: Iterable[str]) -> None:
        for value in _longest_first(map(_lower, values)):
            first = _WORD.search(value)
            if first is not None:
                words = value[first.start() :].split()
                self._add(kind, first[0], partial(_go_on, words))

    def _date(self, text: str, start: int) -> tuple[int, Iterable[str]] | None:
        found = [(end, [day.isoformat()]) for end, day in self._dates.at(text, start) if day in self._days]
        return max(found, default=None)

    def _name(self, text: str, start: int) -> tuple[int, Iterable[str]] | None:
        """Follow a name from one of its parts through its neighbours: "Green, Brandon J." is one name."""
        end = self._part(text, start)
        if end is None:
            return None
        while (between := _BETWEEN_NAMES.match(text, end)) is not None:
            further = self._part(text, between.end()) or self._initial(text, between.end())
            if further is None:
                break
            end = further
        return end, _NAME_PART.findall(text[start:end])

    def _part(self, text: str, start: int) -> int | None:
        for part in self._name_parts:
            if text.startswith(part, start) and _WORD_END.match(text, start + len(part)):
                return start + len(part)
        return None

    def _initial(self, text: str, start: int) -> int | None:
        """Return the end of an initial: with its point, or before a part; "a" alone is mostly a word."""
        if text[start : start + 1] not in self._initials:
            return None
        if text.startswith(".", start + 1):
            return start + 2
        between = _BETWEEN_NAMES.match(text, start + 1)
        return start + 1 if between is not None and self._part(text, between.end()) is not None else None

    def _age(self, digits: int, text: str, start: int) -> tuple[int, Iterable[str]]:
        """Return the end of what may be an age: with the letter of the sex where it is joined on ("46F")."""
        end = start + digits
        has_letter = text[end : end + 1] in self._sex_letters and _LETTER_END.match(text, end + 1)
        return (end + 1 if has_letter else end), ()


def mask_text(text: str, values: Sequence[MaskedValue], span_chars: Span | None = None) -> str:
    """Return a text, or a part of it, with placeholders for `values`, those found in the whole text, in order.

    A value that the part holds a piece of only has its placeholder all the same: it is that value's text.
    """
    start, end = span_chars or Span(0, len(text))
    parts: list[str] = []
    for value in values:
        first, last = value.span_chars
        if last <= start or first >= end:
            continue
        parts += [text[start:first].translate(_TAKEN), PLACEHOLDERS[value.kind]]
        start = last
    parts.append(text[start:end].translate(_TAKEN))
    return "".join(parts)


def holds_value(held: Iterable[MaskedValue], value: MaskedValue) -> bool:
    """Whether some values, those found in a prompt, say what a value says."""
    same = [other.says for other in held if other.kind == value.kind]
    return bool(same) and value.says <= frozenset().union(*same)


def _lower(text: str) -> str:
    """Return a text in lower case, character by character: some have two characters then, and are kept."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _longest_first(values: Iterable[str]) -> list[str]:
    return sorted(set(values), key=lambda value: (-len(value), value))


def _places(text: str, word: str) -> Iterator[int]:
    """Yield where a whole word begins; some times faster than a pattern that goes over all words."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (start and _is_word(text[start - 1])) and not (end < len(text) and _is_word(text[end])):
            yield start
        start = text.find(word, start + 1)


def _is_word(char: str) -> bool:
    r"""Whether a character is one of `\w`."""
    return char.isalnum() or char == "_"


def _first_word(value: str) -> str:
    word = _WORD.match(value)
    return value if word is None else word[0]


def _go_on(words: Sequence[str], text: str, start: int) -> tuple[int, Iterable[str]] | None:
    """Compare a value of some words; what is between them may be any white space."""
    end = start
    for place, word in enumerate(words):
        if place:
            space = _SPACE.match(text, end)
            if space is None:
                return None
            end = space.end()
        if not text.startswith(word, end):
            return None
        end += len(word)
    return (end, ()) if _WORD_END.match(text, end) else None


def _is_age(text: str, start: int, end: int, in_age_field: bool) -> bool:
    """Whether a number that equals the age is one: no part of a longer number, and in the age field or beside a cue."""
    before = text[max(0, start - 24) : start]
    if _NUMBER_BEFORE.search(before) or _NUMBER_AFTER.match(text, end):
        return False
    has_letter = text[end - 1].isalpha()
    return bool(in_age_field or has_letter or _AGE_AFTER.match(text, end) or _AGE_BEFORE.search(before))


def _letter(text: str, start: int) -> tuple[int, Iterable[str]] | None:
    is_sex = _BEFORE_LETTER.match(text, start) and _LETTER_END.match(text, start + 1)
    return (start + 1, ()) if is_sex else None
