"""Groups of notes that are laid out alike, and what distinguishes one from all others.

Notes are grouped by the labels of their banners, and by how they set off headers; the grouping is deterministic.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

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
) -> Signature | None:
    """Return what best tells the texts from the others, the first of those as good; None where nothing does."""
    best: Signature | None = None
    for regex in _candidates(own_texts, labels, headers):
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


def _candidates(texts: Sequence[str], labels: Sequence[str], headers: Sequence[str]) -> Iterator[str]:
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
