"""Groups of notes that are laid out alike: by the labels of their banners, and by how they set off headers.

Owns the grouping. It is deterministic, and knows nothing of facts or profiles.
"""

from collections import Counter
from collections.abc import Collection, Sequence

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
