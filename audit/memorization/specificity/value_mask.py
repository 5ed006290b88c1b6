"""Placeholders for the values that tell who a note is about and which visit (docs/methods.md, section 2, "Masked K").

Owns where the values of one note's identity occur in a text, and the text with placeholders in their stead. Knows
nothing of corpora or models. Case does not count, and a value is found as whole words only.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from clinaudit.priors.identity import Identity
from clinaudit.priors.written_dates import WrittenDates
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
_SEXES: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "female": (("female", "woman", "lady", "girl"), "f"),
    "male": (("male", "man", "gentleman", "boy"), "m"),
}
#: The kind of value by its name.
_KINDS: Final[dict[str, ValueKind]] = {kind: kind for kind in PLACEHOLDERS}
#: A value ends where no word goes on; an age may have its unit or the letter of a sex after it: "46yo", "46F".
_END: Final = r"(?!\w)"
_AGE_END: Final = r"(?=(?:y|yo|yrs?|[fm])?(?!\w))"
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class MaskedValue:
    """One occurrence of a value in a text."""

    span_chars: Span
    kind: ValueKind
    #: What the occurrence says: the words of a name, the day of a date, or nothing beyond its kind.
    says: frozenset[str]


class ValueMask:
    """Finds the values of one identity in texts."""

    def __init__(self, identity: Identity, dates: WrittenDates) -> None:
        days = sorted(identity.birth_dates | identity.visit_dates)
        #: By group of the pattern.
        self._days = {f"date{place}": day.isoformat() for place, day in enumerate(days)}
        # Groups are named by kind, with a number where a kind has several. Values of many words come first.
        ways = {
            "provider": _literal(identity.providers),
            "practice": _literal(identity.practices),
            **{name: rf"(?:{dates.pattern(day)}){_END}" for name, day in zip(self._days, days, strict=True)},
            "name": _name(identity.names),
            "age": "|".join(str(age) + _AGE_END for age in sorted(identity.ages, reverse=True)),
            "sex": _sex(identity.sexes),
        }
        whole_words = "|".join(f"(?P<{name}>{way})" for name, way in ways.items() if way)
        letter = _sex_letter(identity.sexes, identity.ages)
        found = [rf"(?<!\w)(?:{whole_words})" if whole_words else "", f"(?P<sex1>{letter})" if letter else ""]
        self._regex = re.compile("|".join(filter(None, found)) or "(?!)", re.IGNORECASE)

    def find(self, text: str) -> list[MaskedValue]:
        """Return the occurrences in a text, in order; they do not overlap."""
        return [self._value(match) for match in self._regex.finditer(text)]

    def _value(self, match: re.Match[str]) -> MaskedValue:
        group = match.lastgroup or ""
        kind = _KINDS[group.rstrip("0123456789")]
        says: Iterable[str] = ()
        if kind == "date":
            says = [self._days[group]]
        elif kind == "name":
            says = [word.casefold() for word in _LETTERS.findall(match[0])]
        return MaskedValue(Span(*match.span()), kind, frozenset(says))


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


def _literal(values: Iterable[str]) -> str:
    """Return a pattern for whole values, the longest first; what is between words may be any white space."""
    ways = sorted(set(values), key=lambda value: (-len(value), value))
    return "|".join(r"\s+".join(map(re.escape, value.split())) + _END for value in ways)


def _name(names: Iterable[str]) -> str:
    """Return a pattern for a name, in full or by some of its parts of two letters or more: neighbours are one name.

    So "Green, Brandon J." and "Mary Ann Smith" are one placeholder each, however many words they have.
    """
    words = {word for name in names for word in _LETTERS.findall(name)}
    parts = sorted((word for word in words if len(word) > 1), key=lambda word: (-len(word), word))
    if not parts:
        return _literal(names)
    part = rf"(?:{'|'.join(map(re.escape, parts))}){_END}"
    initials = "".join(sorted(word for word in words if len(word) == 1))
    # An initial counts beside a part alone, and with its point or before the next part: "a" is mostly a word.
    initial = rf"|[{initials}](?:\.|(?=[ \t]+{part}))" if initials else ""
    return rf"{_literal(names)}|{part}(?:(?:[ \t]*,[ \t]*|[ \t]+|-)(?:{part}{initial}))*"


def _sexes(written: Iterable[str]) -> list[str]:
    """Return the sexes that some values name."""
    values = {value.casefold().rstrip(".") for value in written}
    return [sex for sex, (words, letter) in _SEXES.items() if values & {*words, letter}]


def _sex(written: Iterable[str]) -> str:
    """Return a pattern for the words of a sex, and for other words that the sources have for it."""
    words = [word for sex in _sexes(written) for word in _SEXES[sex][0]]
    letters = {letter for _, letter in _SEXES.values()}
    return _literal([*words, *(value for value in written if value.casefold().rstrip(".") not in letters)])


def _sex_letter(written: Iterable[str], ages: Iterable[int]) -> str:
    """Return a pattern for the letter of a sex where it stands for it: in "46F" and "46 F" if 46 is the age.

    Nowhere in "f/u", "I'm" or "98.6 F".
    """
    after_age = "".join(rf"|(?<=(?<!\d){age})|(?<=(?<!\d){age} )" for age in sorted(ages))
    letters = "".join(_SEXES[sex][1] for sex in _sexes(written))
    return rf"(?:(?<![\w/'’°.])(?<!\d ){after_age})[{letters}](?![\w/'’])" if letters else ""
