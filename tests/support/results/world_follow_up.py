"""How long the patients of a world were followed: who is counted where, the laws of it, and what a run measures.

Knows nothing of what is published.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from types import SimpleNamespace
from typing import cast

import numpy as np
from support.results.random_worlds import ARMS, Law, Sum, World, minus
from support.results.world_memorization import fill

from clinaudit.audit.population.follow_up import LONG, ONE, SHORT, describe_follow_up
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.exact.corpus import FollowUp
from clinaudit.reports.schema.corpus import FOLLOW_UP_UNKNOWN

#: Days from the first note to the last, by cell: three years end with the 1096th day.
_DAYS: Mapping[str, tuple[int, int]] = {ONE: (0, 0), SHORT: (1, 1095), LONG: (1096, 36525)}
#: Nobody of a drawn world is followed for longer.
_DRAWN_DAYS = 4000
_CELLS = (*_DAYS, FOLLOW_UP_UNKNOWN)


def cells_of(arm: str) -> dict[str, Sum]:
    """Return the cells of the published partition."""
    return {cell: {f"follow/{arm}/{cell}": 1} for cell in _CELLS}


def days_of(arm: str) -> tuple[Sum, Sum]:
    """Return all days of follow-up, and the patients whom they are of."""
    return {f"follow/{arm}/sum": 1}, {f"follow/{arm}/{cell}": 1 for cell in _DAYS}


def draw_follow_up(world: World, rng: np.random.Generator) -> None:
    """Draw who was followed for how long."""
    for arm in ARMS:
        everyone = world.value(world.all_patients(arm))
        drawn = dict(zip(_CELLS, rng.multinomial(everyone, rng.dirichlet([0.5] * len(_CELLS))), strict=True))
        world.counts.update({f"follow/{arm}/{cell}": int(count) for cell, count in drawn.items()})
        world.counts[f"follow/{arm}/sum"] = sum(
            int(rng.integers(low, min(high, _DRAWN_DAYS), endpoint=True))
            for cell, (low, high) in _DAYS.items()
            for _ in range(drawn[cell])
        )


def follow_up_laws(world: World) -> list[Law]:
    """Say that every patient of a split is in one cell, and how many days their cells allow."""
    found = []
    for arm in ARMS:
        found.append(Law(minus(world.all_patients(arm), *cells_of(arm).values()), 0, 0))
        total = f"follow/{arm}/sum"
        lows, highs = ({f"follow/{arm}/{cell}": ends[place] for cell, ends in _DAYS.items()} for place in (0, 1))
        found += [Law(minus(total, lows)), Law(minus(highs, total))]
    return found


def measure_follow_up(world: World, arm: str) -> FollowUp:
    """Return the description of a split."""
    ends = [ends for cell, ends in _DAYS.items() for _ in range(world.counts[f"follow/{arm}/{cell}"])]
    days = fill(world.counts[f"follow/{arm}/sum"], [low for low, _ in ends], [high for _, high in ends])
    first = date(1920, 1, 1)
    notes = {str(place): [first, first + timedelta(days=span)] for place, span in enumerate(days)}
    notes |= {f"undated{i}": [None] for i in range(world.counts[f"follow/{arm}/{FOLLOW_UP_UNKNOWN}"])}  # type: ignore[list-item]
    by_id = {name: [SimpleNamespace(visit_date=visit) for visit in visits] for name, visits in notes.items()}
    return describe_follow_up(list(by_id), cast("Corpus", SimpleNamespace(notes_of=by_id.__getitem__)))
