"""An adversary without a model, who guesses what a mask hides: the most common value among those who are alike.

Owns the adversary of the residual inference. He knows the subjects of all other samples, never one of the same sample.
Knows nothing of who masked what, and counts nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.pii.benchmark.samples.sample import Sample
from clinaudit.audit.pii.benchmark.scoring.matching import comparable_text

#: Guesses that are looked at (PII-Bench names none; a served model is asked for as many).
TOP: Final = 5
#: Fewest others by whom the adversary judges **[choice]**: of fewer, the most common value is chance.
FEWEST_ALIKE: Final = 5
#: Where a subject has nothing of a category.
_NONE: Final = -1
Rows = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class HiddenEntity:
    """A masked entity, and what is still seen of its subject."""

    sample: str
    category: str
    #: As `folded_value` gives it.
    value: str
    #: Quasi-identifiers that were left: (category, value).
    visible: tuple[tuple[str, str], ...]


def folded_value(text: str) -> str:
    """Return a value as guesses are compared: Unicode NFKC, trimmed, case folded."""
    return comparable_text(text).casefold()


class PriorAdversary:
    """Knows the values of every subject, by category; of several in one category the first **[choice]**."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        owners: list[str] = []
        subjects: list[dict[str, str]] = []
        for sample in samples:
            for subject in sample.subjects:
                values: dict[str, str] = {}
                for entity in subject.entities:
                    values.setdefault(entity.category, folded_value(entity.text))
                owners.append(sample.id)
                subjects.append(values)
        self._count = len(owners)
        self._rows: dict[str, list[int]] = {}
        for row, owner in enumerate(owners):
            self._rows.setdefault(owner, []).append(row)
        self._values: dict[str, list[str]] = {}
        self._code_of: dict[tuple[str, str], int] = {}
        self._codes: dict[str, NDArray[np.int64]] = {}
        for category in sorted({category for values in subjects for category in values}):
            # In alphabetical order, so that a tie of counts tells nothing of who came first.
            held = sorted({values[category] for values in subjects if category in values})
            self._values[category] = held
            self._code_of.update({(category, value): place for place, value in enumerate(held)})
            self._codes[category] = np.array(
                [self._code_of[category, values[category]] if category in values else _NONE for values in subjects]
            )

    def guess_unseeing(self, hidden: HiddenEntity) -> list[str]:
        """Return the most common values of the category, the commonest first, at most five: the prior."""
        known = self._known(hidden)
        return [] if known is None else self._commonest(hidden.category, known)

    def guess(self, hidden: HiddenEntity) -> list[str]:
        """Return the most common values among those who share what is visible, the commonest first, at most five.

        He narrows the others down by one visible value after the other: each time by the one that makes the commonest
        answer most certain, as long as it becomes more certain and at least five are left. Where those who are left
        show fewer than five values, the wider circles fill up.
        """
        known = self._known(hidden)
        if known is None:
            return []
        circles = [known]
        # Another value of the same category tells what this one is not.
        unused = {visible for visible in hidden.visible if visible[0] != hidden.category}
        while (best := self._most_telling(hidden.category, circles[-1], unused)) is not None:
            unused.discard(best)
            circles.append(circles[-1] & self._holders(*best))
        guesses = [guess for circle in reversed(circles) for guess in self._commonest(hidden.category, circle)]
        return list(dict.fromkeys(guesses))[:TOP]

    def count_alike(self, hidden: HiddenEntity) -> int:
        """Return k: how many subjects fit all that is visible, this one and those of other samples."""
        alike = self._others(hidden.sample)
        for category, value in hidden.visible:
            alike &= self._holders(category, value)
        return 1 + int(alike.sum())

    def _others(self, sample: str) -> Rows:
        others = np.ones(self._count, dtype=np.bool_)
        others[self._rows.get(sample, [])] = False
        return others

    def _known(self, hidden: HiddenEntity) -> Rows | None:
        """Return the subjects of other samples with a value of the category; None without any."""
        if hidden.category not in self._codes:
            return None
        known: Rows = self._others(hidden.sample) & (self._codes[hidden.category] != _NONE)
        return known if known.any() else None

    def _holders(self, category: str, value: str) -> Rows:
        code = self._code_of.get((category, value))
        if code is None:
            return np.zeros(self._count, dtype=np.bool_)
        holders: Rows = self._codes[category] == code
        return holders

    def _most_telling(self, category: str, circle: Rows, unused: set[tuple[str, str]]) -> tuple[str, str] | None:
        best, best_key = None, (self._certainty(category, circle), 0)
        for visible in sorted(unused):
            narrowed = circle & self._holders(*visible)
            left = int(narrowed.sum())
            if left >= FEWEST_ALIKE:
                certainty = self._certainty(category, narrowed)
                # Of two equally telling values the one that more others share.
                if certainty > best_key[0] or (best is not None and (certainty, left) > best_key):
                    best, best_key = visible, (certainty, left)
        return best

    def _certainty(self, category: str, circle: Rows) -> float:
        codes = self._codes[category][circle]
        return float(np.bincount(codes).max() / codes.size)

    def _commonest(self, category: str, circle: Rows) -> list[str]:
        counts = np.bincount(self._codes[category][circle])
        order = np.argsort(-counts, kind="stable")[:TOP]
        return [self._values[category][place] for place in order if counts[place]]
