"""Which entity is whose, for systems that do not say it themselves: one simple rule, the same for all of them.

The rule. A text is split into turns: a line that opens with a speaker (`Name:` or `[PER_1]:`) begins one, an empty line
ends one. An entity belongs to the nearest name that stands before it in its turn; where none does, to the turn's
speaker; where the turn has none, to the name met last before the turn, or else to the first of the text. Two names are
one person's where one holds all words of the other. A text without names and speakers is about one subject.

Owns this rule. It reads the text and the spans alone: not how many subjects there are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.taxonomy import categories

#: A speaker at the head of a line: a label of at most five words, in brackets or not, and a colon.
_SPEAKER = re.compile(r"^[ \t>*-]*(\[[^\]\n]{1,40}\]|[^\W\d_][\w.'’-]*(?:[ \t]+[\w.'’()-]+){0,4})[ \t]*:(?=\s)", re.M)
_TURN_ENDS = re.compile(r"\n[ \t]*\n")
_WORD = re.compile(r"\w+")
#: Of these categories an entity is a person's name. A clinician's is nobody's but the clinician's own.
_NAMES = frozenset({"full_name", "nickname", "patient_name", "relative_name", "clinician_name"})


@dataclass(slots=True)
class _Person:
    names: list[frozenset[str]] = field(default_factory=list)
    spans: list[EntitySpan] = field(default_factory=list)

    def is_called(self, words: frozenset[str]) -> bool:
        return any(words <= name or name <= words for name in self.names)


def assign_subjects(text: str, spans: Sequence[EntitySpan]) -> list[list[EntitySpan]]:
    """Return the spans of each subject, subjects by their first span."""
    people: list[_Person] = []
    named = [span for span in sorted(spans) if _is_name(span)]
    speakers = _speakers(text, named)
    if not named and not speakers:
        return [sorted(spans)] if spans else []

    def person(words: frozenset[str]) -> _Person:
        found = next((one for one in people if one.is_called(words)), None)
        if found is None:
            found = _Person()
            people.append(found)
        if words not in found.names:
            found.names.append(words)
        return found

    bounds = sorted({0, len(text), *speakers, *(match.end() for match in _TURN_ENDS.finditer(text))})
    waiting: list[EntitySpan] = []
    last: _Person | None = None
    for start, end in pairwise(bounds):
        if start in speakers:
            last = person(speakers[start])
        for span in (span for span in sorted(spans) if start <= span.start < end):
            if _is_name(span):
                last = person(_words(text[span.start : span.end]))
            if last is None:
                waiting.append(span)
            else:
                last.spans.append(span)
    if people:
        # What stands before the first name of a text belongs to it.
        people[0].spans.extend(waiting)
    return sorted((sorted(one.spans) for one in people if one.spans), key=lambda found: found[0])


def _speakers(text: str, named: Sequence[EntitySpan]) -> dict[int, frozenset[str]]:
    """Return the words of each line's speaker by where the line begins.

    A label is a speaker where a name was found in it, or where it opens two lines or more: `Address:` opens one.
    """
    heads = [(match.start(), match.start(1), match.end(1), match[1]) for match in _SPEAKER.finditer(text)]
    times: dict[str, int] = {}
    for *_, label in heads:
        times[label] = times.get(label, 0) + 1
    return {
        line: _words(label)
        for line, start, end, label in heads
        if label.startswith("[") or times[label] > 1 or any(start <= span.start < end for span in named)
    }


def _is_name(span: EntitySpan) -> bool:
    return span.category in _NAMES and span.category in categories()


def _words(name: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(name)) or frozenset({name.casefold()})
