"""Calendar days as a note template writes them: found in a value, and as a pattern that finds one day again in a text.

Owns what each strptime directive of a profile's `date_formats` can look like. Knows nothing of patients or notes.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime

#: What a directive can look like, as strptime reads it, where the day says nothing of it: times, weekdays, weeks.
_ANY: dict[str, str] = {
    "a": r"[^\W\d_]+",
    "A": r"[^\W\d_]+",
    "p": r"[ap]\.?m\.?",
    "Z": r"\w+",
    "z": r"[+-]?\d[\d:.]*",
    "b": r"[^\W\d_]+",
    "B": r"[^\W\d_]+",
    "Y": r"\d{4}",
    "j": r"\d{1,3}",
    "f": r"\d{1,6}",
    "%": "%",
}
_TWO_DIGITS = r"\d{1,2}"
#: The same for one day.
_OF_DAY: dict[str, Callable[[date], str]] = {
    "d": lambda day: rf"0?{day.day}",
    "m": lambda day: rf"0?{day.month}",
    "Y": lambda day: f"{day.year:04}",
    "y": lambda day: f"{day.year % 100:02}",
    "b": lambda day: re.escape(day.strftime("%b")),
    "B": lambda day: re.escape(day.strftime("%B")),
    "j": lambda day: f"0{{0,2}}{day.timetuple().tm_yday}",
}
_DIRECTIVE = re.compile(r"%(?P<letter>.)|(?P<space>\s+)|(?P<literal>.)", re.DOTALL)


class WrittenDates:
    """The days that texts of one template write, in any of its formats."""

    def __init__(self, formats: Sequence[str]) -> None:
        self._formats = tuple(formats)
        self._regexes = [
            (form, re.compile(rf"(?<!\w){_pattern(form, None)}(?!\w)", re.IGNORECASE)) for form in self._formats
        ]

    def find(self, text: str) -> frozenset[date]:
        """Return every day that a text holds by any format; two formats may read one place as two days."""
        days: set[date] = set()
        for form, regex in self._regexes:
            for match in regex.finditer(text):
                try:
                    days.add(datetime.strptime(match[0], form).date())  # noqa: DTZ007 (a calendar day has no zone)
                except ValueError:
                    continue
        return frozenset(days)

    def pattern(self, day: date) -> str:
        """Return a regular expression, without groups, for one day in every format that strptime would read as it."""
        ways = dict.fromkeys(_pattern(form, day) for form in self._formats)
        # The longest first: "06/13/2022 10:30" must win over "06/13/2022".
        return "|".join(sorted(ways, key=len, reverse=True))


def _pattern(form: str, day: date | None) -> str:
    parts: list[str] = []
    for match in _DIRECTIVE.finditer(form):
        letter = match["letter"]
        if match["space"]:
            parts.append(r"\s+")
        elif match["literal"]:
            parts.append(re.escape(match["literal"]))
        elif day is not None and letter in _OF_DAY:
            parts.append(_OF_DAY[letter](day))
        else:
            parts.append(_ANY.get(letter, _TWO_DIGITS))
    return "".join(parts)
