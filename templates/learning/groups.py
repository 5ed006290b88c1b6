"""Groups of notes that are laid out alike: by the labels of their banners, and by how they set off headers.

Owns the grouping. It is deterministic, and knows nothing of facts or profiles.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from clinaudit.templates.learning.sample import MOST

#: Two banners are laid out alike where they share this part of their labels (Jaccard).
_ALIKE = 0.4
_ROUNDS = 5
#: Family and labels of a banner.
Shape = tuple[str, frozenset[str]]


def group_notes(shapes: Sequence[Shape], *, least: int) -> list[list[int]]:
    """Return the groups of at least `least` notes, the largest first, each as places in `shapes`, in order.

    The most frequent shapes lead; each other joins the nearest leader of its family that it is alike. Then each group's
    leader becomes the labels that most of it have, until nothing changes.
    """
    leaders: list[Shape] = []
    for shape, _ in sorted(Counter(shapes).items(), key=lambda item: (-item[1], item[0][0], sorted(item[0][1]))):
        if _nearest(shape, leaders) is None:
            leaders.append(shape)
    groups: dict[int, list[int]] = {}
    for _ in range(_ROUNDS):
        groups = {}
        for index, shape in enumerate(shapes):
            nearest = _nearest(shape, leaders)
            if nearest is not None:
                groups.setdefault(nearest, []).append(index)
        cores = [_core([shapes[index] for index in members]) for _, members in sorted(groups.items())]
        merged = _merged(cores)
        if merged == leaders:
            break
        leaders = merged
    found = [members for members in groups.values() if len(members) >= least]
    return sorted(found, key=lambda members: (-len(members), members))


def _nearest(shape: Shape, leaders: Sequence[Shape]) -> int | None:
    near = [(_likeness(shape[1], labels), -at) for at, (family, labels) in enumerate(leaders) if family == shape[0]]
    best = max(near, default=(0.0, 0))
    return -best[1] if best[0] >= _ALIKE else None


def _likeness(labels: Collection[str], others: Collection[str]) -> float:
    either = {*labels, *others}
    return len({*labels} & {*others}) / len(either) if either else 1.0


def _core(members: Sequence[Shape]) -> Shape:
    counts = Counter(label for _, labels in members for label in labels)
    return members[0][0], frozenset(label for label, found in counts.items() if found > MOST * len(members))


def _merged(cores: Sequence[Shape]) -> list[Shape]:
    kept: list[Shape] = []
    for core in cores:
        if _nearest(core, kept) is None:
            kept.append(core)
    return kept
