"""A rule that finds one category of identifier: a pattern, what a text must hold for it to be tried, and a check.

Owns how rules run. Knows nothing of any category.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from clinaudit.audit.pii.entity_span import EntitySpan

#: How far before and after a trigger a pattern is tried: no pattern reaches so far.
_BEFORE_CHARS: Final = 100
_AFTER_CHARS: Final = 200
#: What stands between a label and its value: "MRN: 12", "MRN # 12", "MRN is 12", "MRN 12".
AFTER_LABEL: Final = r"\s{0,3}(?:(?:is|was|of)\b)?\s{0,3}[:=#]{0,2}\s{0,3}"
_WORD_START: Final = re.compile(r"[A-Za-z](?<![^\W_].)")


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its lower case, made once for all rules; places in `lower` need not be those of `text`."""

    text: str
    lower: str

    @classmethod
    def of(cls, text: str) -> "Source":
        """Return a text with its lower case."""
        return cls(text, text.lower())

    def matches(self, regex: re.Pattern[str], triggers: tuple[str, ...] = ()) -> Iterator[re.Match[str]]:
        """Yield the matches of a pattern that hold, or stand beside, one of some texts in lower case; all without any.

        Looking for a text is a hundred times as fast as trying a pattern at each place.
        """
        for start, end in self._windows(triggers):
            yield from regex.finditer(self.text, start, end)

    def word_starts(self, prefixes: tuple[str, ...]) -> Iterator[int]:
        """Yield where words begin with one of some texts in lower case; far faster than a pattern of so many words."""
        lower = self.lower if len(self.lower) == len(self.text) else None
        longest = max(map(len, prefixes))
        for match in _WORD_START.finditer(self.text):
            place = match.start()
            if lower is not None:
                if lower.startswith(prefixes, place):
                    yield place
            elif self.text[place : place + longest].lower().startswith(prefixes):
                yield place

    def _windows(self, triggers: tuple[str, ...]) -> list[tuple[int, int]]:
        whole = [(0, len(self.text))]
        if not triggers:
            return whole
        lower = self.lower
        hits: list[int] = []
        for trigger in triggers:
            place = lower.find(trigger)
            while place >= 0:
                hits.append(place)
                place = lower.find(trigger, place + 1)
        if hits and len(lower) != len(self.text):
            # A letter whose lower case is two: places in both are not the same.
            return whole
        windows: list[tuple[int, int]] = []
        for hit in sorted(hits):
            start, end = max(0, hit - _BEFORE_CHARS), min(len(self.text), hit + _AFTER_CHARS)
            if windows and start <= windows[-1][1]:
                windows[-1] = (windows[-1][0], end)
            else:
                windows.append((start, end))
        return windows


class Recognizer(Protocol):
    """Finds one kind of identifier."""

    @property
    def name(self) -> str:
        """What a span says it was found by."""

    @property
    def categories(self) -> frozenset[str]:
        """Every category that it can find."""

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield what it finds; spans may overlap, and come in any order."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern. The span is the group `value` where the pattern has one, else all that matches."""

    category: str
    regex: re.Pattern[str]
    #: Texts in lower case without which the pattern matches nothing: the cheap test that spares the dear one.
    triggers: tuple[str, ...] = ()
    #: Whether a match counts: a check digit, a calendar, a list of words.
    accepts: Callable[[re.Match[str]], bool] | None = None

    def find(self, source: Source, found_by: str) -> Iterator[EntitySpan]:
        """Yield the spans of a text that the pattern finds and the check accepts."""
        group: str | int = "value" if "value" in self.regex.groupindex else 0
        for match in source.matches(self.regex, self.triggers):
            if self.accepts is None or self.accepts(match):
                yield EntitySpan(*match.span(group), self.category, found_by)


class RuleTable:
    """A recognizer that is a table of rules."""

    def __init__(self, name: str, *rules: Rule) -> None:
        self.name = name
        self._rules = rules
        self.categories = frozenset(rule.category for rule in self._rules)

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield what any rule of the table finds."""
        for rule in self._rules:
            yield from rule.find(source, self.name)


def words(pattern: str) -> re.Pattern[str]:
    """Return a pattern that is searched without regard to case."""
    return re.compile(pattern, re.IGNORECASE)
