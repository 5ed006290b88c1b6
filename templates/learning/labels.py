"""Labels in banners: the words before a colon, several a line, and the fact that each holds.

Owns finding them and their values. Knows nothing of headers or layouts.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from clinaudit.templates.learning import MOST, LearningSample
from clinaudit.templates.learning.known_words import fact_of_label, known_words
from clinaudit.templates.learning.value_shapes import fits, same, shape_of
from clinaudit.templates.names import LABEL_END

#: Up to four words before a colon; the last is no number, or "at 10:30" would hold a label.
_WORD = r"[^\W_][\w.'’/#&()-]*"
#: Dots in a row are no part of it: they lead to the value.
_LAST = r"[^\W\d_](?:[\w'’/#&()-]|\.(?!\.))*"
_BEFORE_COLON = re.compile(rf"(?P<words>(?:{_WORD}[ ]){{0,3}}{_LAST})(?:[ \t]*[*_]{{0,2}})?{LABEL_END}[*_]{{0,2}}")
#: The words before a label are no part of it where they make it rarer than this share.
_AS_FREQUENT = 0.8
#: What may stand before a label that leads its line.
_LEAD = " \t-*•·▪◦_"
#: What may stand between a value and the label after it.
_GAP = " \t|;,/("


@dataclass(frozen=True, slots=True)
class LabelledValue:
    """A label in a banner."""

    #: Lower-case, without its colon.
    label: str
    value: str
    #: Line of the banner, from 0, and where in it the label starts, in characters.
    line: int
    start: int


@dataclass(frozen=True, slots=True)
class LabelUse:
    """A label of a group of notes, and what it holds."""

    label: str
    #: The fact it holds; None where it is none, or one that another label holds.
    fact: str | None
    #: Patients in whose banner it stands, with a value.
    patients: int
    #: Patients whose table has the value that the note has here, and patients whose table has this fact.
    confirmed: int
    of: int


def find_labels(banners: Sequence[str], *, least: int) -> list[list[LabelledValue]]:
    """Return the labels of each banner in order; those of fewer than `least` banners are none."""
    found = [
        [(number, match) for number, line in enumerate(banner.split("\n")) for match in _BEFORE_COLON.finditer(line)]
        for banner in banners
    ]
    counts = Counter(
        suffix
        for matches in found
        for suffix in {suffix for _, match in matches for suffix in _suffixes(match["words"])}
    )
    return [_values(matches, counts, least) for matches in found]


def assign_facts(notes: Sequence[LearningSample], labels: Sequence[Sequence[LabelledValue]]) -> list[LabelUse]:
    """Return the labels of a group of notes, most frequent first, each with its fact.

    The tables tell first: a label holds the fact whose value most often stands there. Then the label's words, then the
    shape of its values.
    """
    values: dict[str, list[tuple[int, str]]] = {}
    for index, of_note in enumerate(labels):
        seen: set[str] = set()
        for item in of_note:
            if item.value and item.label not in seen:
                seen.add(item.label)
                values.setdefault(item.label, []).append((index, item.value))
    uses = [_by_table_or_words(label, held, notes) for label, held in values.items()]
    taken = {use.fact for use in uses}
    for place, use in enumerate(uses):
        shape = None if use.fact or _is_other(use.label) else shape_of([value for _, value in values[use.label]])
        if shape is not None and shape not in taken:
            taken.add(shape)
            uses[place] = LabelUse(use.label, shape, use.patients, 0, 0)
    return sorted(uses, key=lambda use: (-use.patients, use.label))


def _by_table_or_words(label: str, held: Sequence[tuple[int, str]], notes: Sequence[LearningSample]) -> LabelUse:
    known: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    for index, value in held:
        for fact, said in notes[index].known.items():
            known[fact] += 1
            equal[fact] += same(fact, value, said)
    best = max(sorted(equal), key=lambda fact: equal[fact] / known[fact], default=None)
    if best is not None and equal[best] > MOST * known[best]:
        return LabelUse(label, best, len(held), equal[best], known[best])
    told = None if _is_other(label) else fact_of_label(label)
    is_told = told is not None and fits(told, [value for _, value in held])
    return LabelUse(label, told if is_told else None, len(held), 0, 0)


def _is_other(label: str) -> bool:
    return label in known_words().other_labels


def _suffixes(words: str) -> list[str]:
    """Return the words that may be the label, the fewest first."""
    parts = words.lower().split(" ")
    return [" ".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]


def _values(matches: Sequence[tuple[int, re.Match[str]]], counts: Counter[str], least: int) -> list[LabelledValue]:
    chosen: list[tuple[int, re.Match[str], str]] = []
    for line, match in matches:
        suffixes = _suffixes(match["words"])
        frequent = [item for item in suffixes if counts[item] >= max(least, _AS_FREQUENT * counts[suffixes[0]])]
        before = match.string[: match.end("words") - len(frequent[-1])] if frequent else ""
        follows = bool(chosen) and chosen[-1][0] == line
        # A reader of notes takes no label in the middle of a line, but after another or what parts it from the rest.
        if frequent and (follows or not before.strip(_LEAD) or before[-2:].isspace() or before.rstrip()[-1] in _GAP):
            chosen.append((line, match, frequent[-1]))
    starts = [match.end("words") - len(label) for _, match, label in chosen]
    found: list[LabelledValue] = []
    for place, (line, match, label) in enumerate(chosen):
        is_last = place + 1 == len(chosen) or chosen[place + 1][0] != line
        text = match.string[match.end() :] if is_last else match.string[match.end() : starts[place + 1]]
        value = text.strip(" \t" if is_last else _GAP)
        if value.endswith(")") and "(" not in value:
            value = value[:-1].rstrip()
        found.append(LabelledValue(label, value, line, starts[place]))
    return found
