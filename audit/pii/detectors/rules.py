"""The detector by rules: the rows of the table, in the order of trust. It needs no model and no corpus."""

from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Final

from clinaudit.audit.pii.detectors.rule_table import RuleGroup, rule_groups
from clinaudit.audit.pii.detectors.screen import Screen
from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps
from clinaudit.audit.pii.plain_text import as_given, read_past_leaders
from clinaudit.audit.pii.taxonomy import categories


class RuleDetector:
    """Finds identifying text by the rows of level `certain` alone."""

    name = "rules"

    def __init__(self, kinds: Iterable[str] | None = None) -> None:
        """Look for some categories of the taxonomy alone, or for all."""
        self.kinds = frozenset(categories() if kinds is None else kinds)
        self._rows = _certain_rows(self.kinds)

    def __reduce__(self) -> tuple[type["RuleDetector"], tuple[frozenset[str]]]:
        return RuleDetector, (self.kinds,)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands."""
        plain = read_past_leaders(as_given(text))
        # A span of a category that is not asked for still stands before the shorter ones that it holds.
        spans = resolve_overlaps(map(plain.original_span, self._rows.find(plain.text)))
        return [span for span in spans if span.category in self.kinds]


#: Names by where they stand alone are no part of what else is found there: the longer of two does not hide the other.
_NAMES_ALONE: Final = "places of names"


class SuspectedDetector:
    """Finds what the rows of level `suspected` do, rather too much: of names by where they stand, or all the others."""

    def __init__(self, *, of_names: bool = False) -> None:
        self.name = _NAMES_ALONE if of_names else "strict rules"
        self._rows = _suspected_rows(of_names=of_names)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; they may overlap."""
        return sorted(self._rows.find(text))


class RuleRows:
    """Groups of rules that are searched for together: one pass says where each can match, each then looks there."""

    def __init__(self, groups: Collection[RuleGroup]) -> None:
        self._rules = [(place, rule) for place, group in enumerate(groups) for rule in group.rules]
        self._then = [group.then for group in groups]
        self._screen = Screen([rule.regex for _, rule in self._rules])

    def find(self, text: str) -> Iterator[EntitySpan]:
        """Yield what the groups find; of the same characters the first says what they are."""
        found: dict[int, list[EntitySpan]] = {}
        # By the order of the table: of rules that find the same characters, the first says what they are.
        for number, places in sorted(self._screen.stretches(text).items()):
            group, rule = self._rules[number]
            for place in places:
                found.setdefault(group, []).extend(rule.find(text, *place))
        taken: set[tuple[int, int]] = set()
        for group, spans in found.items():
            then = self._then[group]
            for span in spans if then is None else then(text, spans):
                if (span.start, span.end) not in taken:
                    taken.add((span.start, span.end))
                    yield span


@cache
def _certain_rows(kinds: frozenset[str]) -> RuleRows:
    return RuleRows([group for group in rule_groups("certain") if not group.categories.isdisjoint(kinds)])


@cache
def _suspected_rows(*, of_names: bool) -> RuleRows:
    return RuleRows([group for group in rule_groups("suspected") if (group.name == _NAMES_ALONE) is of_names])
