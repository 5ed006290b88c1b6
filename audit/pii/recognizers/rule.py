"""A rule that finds one category of identifier: a pattern, what a text must hold for it to be tried, and a check.

Owns how rules run. Knows nothing of any category.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from clinaudit.audit.pii.entity_span import EntitySpan

#: What stands between a label and its value: "MRN: 12", "MRN # 12", "MRN is 12", "MRN 12".
AFTER_LABEL: Final = r"\s{0,3}(?:(?:is|was|of)\b)?\s{0,3}[:=#]{0,2}\s{0,3}"


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its lower case, made once for all rules; places in `lower` need not be those of `text`."""

    text: str
    lower: str

    @classmethod
    def of(cls, text: str) -> "Source":
        """Return a text with its lower case."""
        return cls(text, text.lower())

    def holds(self, triggers: tuple[str, ...]) -> bool:
        """Whether any of some texts in lower case stands in this one; whether it is to be tried, where there are none."""
        return not triggers or any(trigger in self.lower for trigger in triggers)


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
        if not source.holds(self.triggers):
            return
        group: str | int = "value" if "value" in self.regex.groupindex else 0
        for match in self.regex.finditer(source.text):
            if self.accepts is None or self.accepts(match):
                yield EntitySpan(*match.span(group), self.category, found_by)


class RuleTable:
    """A recognizer that is a table of rules."""

    def __init__(self, name: str, rules: Iterable[Rule]) -> None:
        self.name = name
        self._rules = tuple(rules)
        self.categories = frozenset(rule.category for rule in self._rules)

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield what any rule of the table finds."""
        for rule in self._rules:
            yield from rule.find(source, self.name)


def words(pattern: str) -> re.Pattern[str]:
    """Return a pattern that is searched without regard to case."""
    return re.compile(pattern, re.IGNORECASE)
