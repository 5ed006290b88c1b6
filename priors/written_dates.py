"""Calendar days as a note template writes them, in any of its profile's `date_formats` (strptime).

Owns what each directive of a format can look like in a text. Knows nothing of patients or notes.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime

#: What a directive can look like; the others are numbers of one or two digits.
_LOOKS: dict[str, str] = {
    **dict.fromkeys("aAbB", r"[^\W\d_]+"),
    "p": r"[ap]\.?m\.?",
    "Z": r"\w+",
    "z": r"[+-]?\d[\d:.]*",
    "Y": r"\d{4}",
    "j": r"\d{1,3}",
    "f": r"\d{1,6}",
    "%": "%",
}
_TWO_DIGITS = r"\d{1,2}"
_PART = re.compile(r"%(?P<letter>.)|(?P<space>\s+)|(?P<literal>.)", re.DOTALL)
_WORD = re.compile(r"\w+")
_LEADING_ZERO = re.compile(r"\b0+(?=\d)")


class WrittenDates:
    """Reads days in texts of one template."""

    def __init__(self, formats: Sequence[str]) -> None:
        self._formats = [
            (form, re.compile(rf"(?<!\w){_pattern(form)}(?!\w)", re.IGNORECASE)) for form in dict.fromkeys(formats)
        ]

    def find(self, text: str) -> frozenset[date]:
        """Return every day that a text holds by any format; two formats may read one place as two days."""
        places = {match.start() for _, regex in self._formats for match in regex.finditer(text)}
        return frozenset(day for place in places for _, day in self.at(text, place))

    def at(self, text: str, start: int) -> Iterator[tuple[int, date]]:
        """Yield each day that a text writes from a place on, with the place where it ends."""
        for form, regex in self._formats:
            match = regex.match(text, start)
            if match is None:
                continue
            try:
                yield match.end(), datetime.strptime(match[0], form).date()  # noqa: DTZ007 (a day has no zone)
            except ValueError:
                continue

    def first_words(self, day: date) -> set[str]:
        """Return the words or numbers, in lower case, with which a day can begin in a text."""
        padded = [day.strftime(form).lower() for form, _ in self._formats]
        words = (_WORD.search(text) for text in [*padded, *(_LEADING_ZERO.sub("", text) for text in padded)])
        return {word[0] for word in words if word is not None}


def _pattern(form: str) -> str:
    parts: list[str] = []
    for match in _PART.finditer(form):
        if match["letter"]:
            parts.append(_LOOKS.get(match["letter"], _TWO_DIGITS))
        else:
            parts.append(r"\s+" if match["space"] else re.escape(match["literal"]))
    return "".join(parts)
