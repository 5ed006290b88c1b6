"""Which values a small count of one comparison keeps beside its classes and its words under every limit.

Lists every row of verdicts within the classes, at every size, and looks for tables of four such rows that have the same
words: many at random, then row by row, all rows of one tried beside the three others. Independent of the tables that
`safe_limits` draws. What is found is a table with all the words; what is not found counts as ruled out.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.auroc import AurocError, auroc_of_counts, difference_error, measure_error
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, PairResults
from clinaudit.reports.schema.record import ARMS

#: Values that a count must keep, and the counts that must.
ENOUGH, SMALL = 3, 10
#: Tables drawn at once, starts of a search, and rounds of one in which each of four rows is chosen anew.
_DRAWN, _STARTS, _ROUNDS = 20_000, 24, 6
#: Cells of a row.
NEGATIVE, UNDECIDED, POSITIVE, UNJUDGED = range(4)
#: How an unjudged verdict is counted at its worst, by arm and status.
_WORST = ((POSITIVE, NEGATIVE), (NEGATIVE, POSITIVE))

#: By arm, status and cell on the last three axes.
Tables = NDArray[np.int64]
Values = NDArray[np.float64]


class Words(NamedTuple):
    """Where the words of one comparison turn: failing at a level, else passing at a limit."""

    level: float
    #: For each limit that a policy may have.
    turns: tuple[float, ...]

    def read(self, p_values: Values, upper: Values) -> Values:
        """Return the words of tables as one number: -1 fails; else how many limits are passed."""
        passed = (upper[:, None] <= np.array(self.turns)).sum(axis=1)
        return np.where(p_values <= self.level, -1, passed)

    def distance(self, p_values: Values, upper: Values, word: int) -> Values:
        """Return how far tables are from having a word; 0 where they have it."""
        if word == -1:
            return np.maximum(0.0, p_values - self.level)
        turns = sorted(self.turns, reverse=True)
        most = turns[word - 1] if word else np.inf
        least = turns[word] if word < len(turns) else -np.inf
        gap = np.maximum(0.0, upper - most) + np.maximum(0.0, np.nextafter(least, np.inf) - upper)
        return gap + np.maximum(0.0, np.nextafter(self.level, 1) - p_values)


def measure_tables(tables: Tables) -> tuple[Values, Values]:
    """Return the p-values and the upper ends of the 95% intervals, unjudged verdicts at their worst, `(tables,)`."""
    counts = tables.astype(np.float64)
    p_values, upper = _compare(counts)
    imputed = counts.copy()
    for arm, status in itertools.product(range(2), range(2)):
        imputed[:, arm, status, _WORST[arm][status]] += imputed[:, arm, status, UNJUDGED]
    return p_values, np.maximum(upper, _compare(imputed)[1])


def _compare(counts: Values) -> tuple[Values, Values]:
    areas: list[Values] = []
    errors: list[AurocError] = []
    for arm in range(2):
        present, absent = (counts[:, arm, status, :UNJUDGED] for status in range(2))
        areas.append(auroc_of_counts(present, absent))
        errors.append(measure_error(present, absent))
    error = difference_error(*errors)
    difference = areas[0] - areas[1]
    return error.p_value(difference), error.interval(difference, floor=-1.0)[1]


@dataclass(frozen=True)
class Kept:
    """Of one small count: its place, its value, and the values that the search found for it."""

    place: str
    value: int
    found: tuple[int, ...]


class VerdictSearch:
    """All that is published of one comparison but its words: which tables there are."""

    def __init__(self, pair: PairResults, rng: np.random.Generator) -> None:
        self._rng = rng
        places = list(itertools.product(range(2), range(2)))
        rows = [pair.verdicts[ARMS[arm]][DIAGNOSIS_STATUSES[status]] for arm, status in places]
        classes = [(row.negative, row.undecided, row.positive, row.unjudged) for row in rows]
        lows = [[cell.low for cell in own] for own in classes]
        for own, row in zip(lows, rows, strict=True):
            own[UNDECIDED] = max(own[UNDECIDED], row.ambiguous.low)
        highs = [[cell.high for cell in own] for own in classes]
        #: By size: the rows of each place, `(rows, 4)`.
        self._rows: dict[int, list[Tables]] = {}
        for size in range(max(map(sum, lows)), min(map(sum, highs)) + 1):
            of_size = [_list_rows(low, high, size) for low, high in zip(lows, highs, strict=True)]
            if all(len(own) for own in of_size):
                self._rows[size] = of_size

    @property
    def sizes(self) -> list[int]:
        """The numbers of matched sets that leave a table."""
        return list(self._rows)

    def draw(self, count: int) -> Tables:
        """Draw tables, `(count, 2, 2, 4)`."""
        sizes = self._rng.choice(self.sizes, count)
        tables = np.zeros((count, 4, 4), dtype=np.int64)
        for size, own in self._rows.items():
            chosen = np.flatnonzero(sizes == size)
            for place, rows in enumerate(own):
                tables[chosen, place] = rows[self._rng.integers(0, len(rows), len(chosen))]
        return tables.reshape(count, 2, 2, 4)

    def corners(self, count: int) -> Tables:
        """Draw tables of whose cells most lie at an end of their class."""
        tables = np.zeros((count, 4, 4), dtype=np.int64)
        for i, size in enumerate(self._rng.choice(self.sizes, count)):
            for place, rows in enumerate(self._rows[size]):
                ends = ((rows == rows.min(axis=0)) | (rows == rows.max(axis=0))).sum(axis=1)
                best = np.flatnonzero(ends >= min(3, ends.max()))
                tables[i, place] = rows[self._rng.choice(best)]
        return tables.reshape(count, 2, 2, 4)

    def keep(self, truth: Tables, words: Words) -> Iterator[Kept]:
        """Yield every count of 1 to 10 of a table, with values that it may have beside the words of this table."""
        flat = truth.reshape(4, 4)
        word = int(words.read(*measure_tables(truth[None]))[0])
        drawn = self.draw(_DRAWN)
        alike = drawn[words.read(*measure_tables(drawn)) == word].reshape(-1, 4, 4)
        for place, cell in zip(*np.nonzero((flat >= 1) & (flat <= SMALL)), strict=True):
            found = {int(flat[place, cell]), *np.unique(alike[:, place, cell]).tolist()}
            values = np.unique(np.concatenate([rows[place][:, cell] for rows in self._rows.values()]))
            for value in sorted(map(int, values), key=lambda value: abs(value - int(flat[place, cell]))):
                if len(found) >= ENOUGH:
                    break
                if value not in found and self._has(words, word, (int(place), int(cell)), value, truth):
                    found.add(value)
            yield Kept(_name(int(place), int(cell)), int(flat[place, cell]), tuple(sorted(found)))
        size = int(flat[0].sum())
        if size <= SMALL:
            sizes = {size, *np.unique(alike[:, 0].sum(axis=1)).tolist()}
            for other in self.sizes:
                if other not in sizes and len(sizes) < ENOUGH and self._has(words, word, None, other, truth):
                    sizes.add(other)
            yield Kept("sets", size, tuple(sorted(sizes)))

    def _has(self, words: Words, word: int, fixed: tuple[int, int] | None, value: int, truth: Tables) -> bool:
        """Whether a table with the word is found of which a cell, or (None) the size, has this value."""
        flat = truth.reshape(4, 4)
        for start in range(_STARTS):
            if fixed is None:
                size = value
            else:
                near = sorted(self.sizes, key=lambda size: abs(size - int(flat[0].sum())))
                size = near[start % len(near)] if start < len(near) else int(self._rng.choice(self.sizes))
            rows = list(self._rows[size])
            if fixed is not None:
                rows[fixed[0]] = rows[fixed[0]][rows[fixed[0]][:, fixed[1]] == value]
                if not len(rows[fixed[0]]):
                    continue
            if self._search(words, word, rows, None if start % 2 else flat):
                return True
        return False

    def _search(self, words: Words, word: int, rows: Sequence[Tables], near: Tables | None) -> bool:
        """Choose one row after the other such that the table comes as near to the word as can be."""
        if near is None:
            chosen = [own[self._rng.integers(len(own))] for own in rows]
        else:
            chosen = [own[np.abs(own - row).sum(axis=1).argmin()] for own, row in zip(rows, near, strict=True)]
        reached = np.inf
        for _ in range(_ROUNDS):
            before = reached
            for place in self._rng.permutation(4):
                tables = np.repeat(np.stack(chosen)[None], len(rows[place]), axis=0)
                tables[:, place] = rows[place]
                measured = measure_tables(tables.reshape(-1, 2, 2, 4))
                if (words.read(*measured) == word).any():
                    return True
                distances = words.distance(*measured, word)
                chosen[place] = rows[place][distances.argmin()]
                reached = float(distances.min())
            if reached >= before:
                return False
        return False


def _list_rows(lows: Sequence[int], highs: Sequence[int], size: int) -> Tables:
    """Return every row of a size within the classes, `(rows, 4)`."""
    first = np.stack(
        np.meshgrid(*[np.arange(low, high + 1) for low, high in zip(lows[:3], highs[:3], strict=True)], indexing="ij"),
        axis=-1,
    ).reshape(-1, 3)
    last = size - first.sum(axis=1)
    inside = (last >= lows[3]) & (last <= highs[3])
    rows: Tables = np.concatenate([first, last[:, None]], axis=1)[inside]
    return rows


def _name(place: int, cell: int) -> str:
    cells = ("negative", "undecided", "positive", "unjudged")
    return f"{ARMS[place // 2]}/{DIAGNOSIS_STATUSES[place % 2]}/{cells[cell]}"


def fewest(kept: Sequence[Kept]) -> int:
    """Return of how many values the count was found that has fewest."""
    return min((len(count.found) for count in kept), default=ENOUGH)


def outcome_counts(row: Sequence[int]) -> Mapping[str, int]:
    """Return one row's counts by outcome; nobody is ambiguous."""
    return {
        "negative": int(row[NEGATIVE]),
        "not_mentioned": int(row[UNDECIDED]),
        "ambiguous": 0,
        "positive": int(row[POSITIVE]),
        "unjudged": int(row[UNJUDGED]),
    }
