"""Groups of notes that are laid out alike, what distinguishes one from all others, and lines that recur in many.

Notes are grouped by the labels of their banners, and by how they set off headers; the grouping is deterministic.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from clinaudit.templates.learning import LearningSample, enough
from clinaudit.templates.learning.labels import TITLE
from clinaudit.templates.names import LABEL_END, MAX_LENGTH, Pattern, literal

#: Two banners are laid out alike where they share this part of their labels (Jaccard).
_ALIKE = 0.4
#: Family and labels of a banner.
Shape = tuple[str, frozenset[str]]


def group_notes(shapes: Sequence[Shape], *, least: int) -> list[list[int]]:
    """Return the groups of at least `least` notes, the largest first, each as places in `shapes`, in order.

    The most frequent shapes lead; each other joins the nearest leader of its family that it is alike. Of the notes that
    are in no group then, one joins the group whose labels it shares, whatever its family.
    """
    leaders: list[Shape] = []
    for shape, _ in sorted(Counter(shapes).items(), key=lambda item: (-item[1], item[0][0], sorted(item[0][1]))):
        if _nearest(shape, leaders) is None:
            leaders.append(shape)
    groups: dict[int, list[int]] = {}
    for index, shape in enumerate(shapes):
        groups.setdefault(_nearest(shape, leaders) or 0, []).append(index)
    found = {leader: members for leader, members in groups.items() if len(members) >= least}
    for index in sorted({*range(len(shapes))}.difference(*found.values())):
        # How a single note sets off its headers may be a matter of chance; its labels are not.
        labels = shapes[index][1]
        near = [(_likeness(labels, leaders[leader][1]), -leader) for leader in found if labels]
        if max(near, default=(0.0, 0))[0] > _ALIKE:
            found[-max(near)[1]].append(index)
    return sorted(map(sorted, found.values()), key=lambda members: (-len(members), members))


def _nearest(shape: Shape, leaders: Sequence[Shape]) -> int | None:
    near = [(_likeness(shape[1], labels), -at) for at, (family, labels) in enumerate(leaders) if family == shape[0]]
    best = max(near, default=(0.0, 0))
    return -best[1] if best[0] >= _ALIKE else None


def _likeness(labels: Collection[str], others: Collection[str]) -> float:
    either = {*labels, *others}
    return len({*labels} & {*others}) / len(either) if either else 1.0


#: A line that fewer have is one that people write alike by chance.
_SHARE = 0.2
#: Shorter lines are answers ("none", "no change"), or names.
_FEWEST_WORDS = 4
_MOST_LINES = 20
#: A line that names a clinician is for nobody else to read.
_CLINICIAN = re.compile(rf"\b{TITLE}\b\.? [A-Z]|,? \b(?:MD|DO|NP|PA-?C?|RN|MBBS)\b|\bby:? [A-Z]")


def recurring_lines(notes: Sequence[LearningSample], banner_ends: Sequence[int]) -> dict[str, int]:
    """Return lines below the banners -> patients whose note holds them, the most frequent first."""
    counts = Counter[str]()
    for note, end in zip(notes, banner_ends, strict=True):
        counts.update({stripped for line in note.text[end:].split("\n") if (stripped := line.strip())})
    names = {said for note in notes for said in note.known.values() if isinstance(said, str) and len(said.split()) > 1}
    least = max(enough(len(notes)), _SHARE * len(notes))
    found = {
        line: patients
        for line, patients in counts.items()
        if patients >= least
        and len(line.split()) >= _FEWEST_WORDS
        and not _CLINICIAN.search(line)
        and not any(name in line for name in names)
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_MOST_LINES])


#: At least this share of the notes of a layout has its signature, and at most this share of the others: some of these
#: may well be of the layout, and grouped with others by chance. What fewer others have is chosen.
_OWN = 0.98
_OTHERS = 0.05
_MARKS = r"[ \t#*_\[•=<~-]*"


@dataclass(frozen=True, slots=True)
class Signature:
    """An expression that tells a layout."""

    regex: str
    #: Patients of the layout that have it, and of the others.
    own: int
    others: int


def choose_signature(
    own_texts: Sequence[str],
    other_texts: Sequence[str],
    *,
    labels: Sequence[str],
    headers: Sequence[str],
    lines: Sequence[str],
) -> Signature | None:
    """Return what best tells the texts from the others, the first of those as good; None where nothing does."""
    best: Signature | None = None
    for regex in _candidates(own_texts, labels, headers, lines):
        if len(regex) > MAX_LENGTH:
            continue
        pattern = Pattern(regex)
        own = sum(map(pattern.found_in, own_texts))
        if own < _OWN * len(own_texts) or (best is not None and own <= best.own - best.others):
            continue
        others = sum(map(pattern.found_in, other_texts))
        if others <= _OTHERS * len(other_texts) and (best is None or own - others > best.own - best.others):
            best = Signature(regex, own, others)
    return best


def _candidates(
    texts: Sequence[str], labels: Sequence[str], headers: Sequence[str], lines: Sequence[str]
) -> Iterator[str]:
    counts = Counter(line for text in texts for line in dict.fromkeys(map(str.strip, text.split("\n"))))
    for line, found in counts.items():
        if line and found >= _OWN * len(texts):
            yield f"^[ \\t]*{literal(line)}[ \\t]*$"
    for label in labels:
        yield f"^{_MARKS}(?i:{literal(label)})[*_]*{LABEL_END}"
    # Case counts: "PLAN" and "Plan" are of two layouts.
    for header in headers:
        for written in dict.fromkeys((header.upper(), header.title(), header.capitalize(), header)):
            yield f"^{_MARKS}{literal(written)}\\b"
    # No group has a name: a line of a banner tells a layout here, and places no fact.
    yield from (re.sub(r"\(\?P<\w+>", "(?:", line) for line in lines)
