"""Counts of 1 to 10 patients, hidden so that no printed count gives one away (docs/methods.md, section 10).

Owns the two ways in which counts hang together: sets within sets, and parts of a total. What is returned depends on
the counts only as far as it says, so that every hidden count could be any other within its bounds: the tests go through
all small tables. Knows no metric.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

#: Counts of patients from 1 to this are hidden.
MOST: Final = 10
#: Of fewer patients than this, nothing is said of a count but whether it is 0.
FEWEST_OF: Final = 2 * MOST + 1
#: Most parts of a pool of which the large one is named: among more, each small one would be known too well.
TOLD_APART: Final = 5
#: Least and greatest number that a count may be, for all that is printed.
Bounds = tuple[int, int]


def is_small(count: int | None) -> bool:
    """Whether a count is of 1 to 10 patients; one that is not known counts as such."""
    return count is None or 1 <= count <= MOST


def nested(counts: Sequence[int]) -> list[Bounds]:
    """Return bounds of the sizes of sets each within the one before; the first is known, and stands.

    A count is hidden where it is 1 to 10, or leaves 1 to 10 of the last one that is not hidden. Of fewer than 21 it is
    0 or some.

    Example::

        nested([130, 60, 55, 30, 4])  # [(130, 130), (60, 60), (50, 59), (30, 30), (1, 10)]
    """
    known = counts[0]
    found = [(known, known)]
    for count in counts[1:]:
        if count == 0:
            found.append((0, 0))
        elif known < FEWEST_OF:
            found.append((1, known))
        elif count <= MOST:
            found.append((1, MOST))
        elif 1 <= known - count <= MOST:
            found.append((known - MOST, known - 1))
        else:
            found.append((count, count))
            known = count
    return found


def over_all(parts: Mapping[str, int], sizes: Sequence[int], figures: Sequence[Bounds]) -> dict[str, Bounds]:
    """Return bounds of parts of a set that is not printed: the patients in any of several other figures.

    `sizes` are those of sets around all of these, the widest first; `figures` are what is printed of the
    others' counts. Whoever is in a part is in a figure, and the other way round; both may overlap. So no part may be
    more than the figures are together for sure, and where all parts together are hardly more than a figure, nothing is
    returned. Where one figure alone is above 0, the sizes are to end with its count: the parts are within it.

    Example::

        over_all({"A": 30, "B": 9}, [130], [(20, 20), (1, 10)])  # {"A": (22, 30), "B": (1, 10)}
    """
    least, most = (sum(bounds[side] for bounds in figures) for side in (0, 1))
    greatest = max((low for low, _ in figures), default=0)
    # A part beside which no other is above 0 is the set itself, and would say what each figure leaves of it.
    is_whole = sum(count > 0 for count in parts.values()) == 1
    found = {}
    for part, count in parts.items():
        low, high = nested([*sizes, count])[-1]
        leaves_few = any(first == last and 1 <= count - first <= MOST for first, last in figures)
        if figures and (low > least or (is_whole and count > MOST and (low < high or leaves_few))):
            low, high = greatest if is_whole else least + 1, min(sizes[0], most)
        found[part] = low, high
    together = sum(high for _, high in found.values())
    is_tight = any(low <= together < high for low, high in figures) or any(
        low < high and greatest > together - (high - low) for low, high in found.values()
    )
    return {} if is_tight else found


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a total, some of them pooled."""

    #: Parts that stand as they are.
    exact: Mapping[str, int]
    #: Parts of which only the sum is known; all are above 0.
    pooled: tuple[str, ...]
    #: Their sum; hidden where it is 1 to 10.
    total: Bounds
    #: What is known of a pooled part besides.
    known: Mapping[str, Bounds] = field(default_factory=dict)

    @property
    def are_exact(self) -> bool:
        """Whether nothing is pooled."""
        return not self.pooled

    def bounds(self, parts: Collection[str]) -> Bounds:
        """Return the bounds of the sum of some parts, as far as anything is known of them."""
        stands = sum(count for part, count in self.exact.items() if part in parts)
        inside = [self._known(part) for part in self.pooled if part in parts]
        outside = [self._known(part) for part in self.pooled if part not in parts]
        if not inside:
            return stands, stands
        least, most = (sum(ends[side] for ends in inside) for side in (0, 1))
        left_least, left_most = (sum(ends[side] for ends in outside) for side in (0, 1))
        return stands + max(least, self.total[0] - left_most), stands + min(most, self.total[1] - left_least)

    def _known(self, part: str) -> Bounds:
        return self.known.get(part, (1, self.total[1] - len(self.pooled) + 1))


def pool(cells: Mapping[str, int], headline: str = "") -> Parts:
    """Return the parts of a known total of 11 or more (or of one not printed), small ones pooled with others.

    Parts of 1 to 10 are pooled with each other, then with the smallest of the rest, until they are 11 or more and no
    part left is smaller than the pool: else the choice itself would say how large they are. Where one part of a pool of
    21 or more is large, it is told which: the others are 10 together at most. The `headline` part is pooled only where
    it or its rest is 1 to 10.

    Example::

        pool({"A": 3, "B": 9, "C": 40, "D": 0})  # A and B pooled, 12 together
    """
    whole = sum(cells.values())
    first = cells.get(headline, 0)
    if first > MOST and whole - first > MOST:
        rest = pool({part: count for part, count in cells.items() if part != headline})
        return replace(rest, exact={**rest.exact, headline: first})
    ascending = sorted((part for part in cells if cells[part] > MOST), key=lambda part: cells[part])
    pooled = [part for part in cells if 1 <= cells[part] <= MOST]
    total = sum(cells[part] for part in pooled)
    while pooled and ascending and (total <= MOST or total > cells[ascending[0]]):
        pooled.append(ascending.pop(0))
        total += cells[pooled[-1]]
    known: dict[str, Bounds] = {}
    small = [part for part in pooled if cells[part] <= MOST]
    if len(pooled) == len(small) + 1 <= TOLD_APART and sum(cells[part] for part in small) <= MOST < total - MOST:
        known = {part: (1, MOST) if part in small else (total - MOST, total - len(small)) for part in pooled}
    elif headline in pooled and whole >= FEWEST_OF:
        known = {headline: (1, MOST) if first <= MOST else (whole - MOST, whole - 1)}
    in_order = tuple(part for part in cells if part in pooled)
    exact = {part: count for part, count in cells.items() if part not in pooled}
    return Parts(exact, in_order, (1, MOST) if 0 < total <= MOST else (total, total), known)


def pool_groups(groups: Mapping[str, tuple[int, ...]]) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Return groups of patients, each by how many are of each kind (have something, have not), pooled with the next.

    Until none of these is 1 to 10, nor what is left of any. Nothing is returned where that takes all groups.
    """
    left = tuple(map(sum, zip(*groups.values(), strict=True)))
    found: dict[tuple[str, ...], tuple[int, ...]] = {}
    names: list[str] = []
    pooled = (0,) * len(left)
    for name, counts in groups.items():
        names.append(name)
        pooled = tuple(map(sum, zip(pooled, counts, strict=True)))
        left = tuple(whole - count for whole, count in zip(left, counts, strict=True))
        if not any(1 <= count <= MOST for count in (*pooled, *left)):
            found[tuple(names)] = pooled
            names, pooled = [], (0,) * len(left)
    return found if len(found) > 1 else {}
