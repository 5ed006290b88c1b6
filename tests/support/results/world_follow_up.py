"""How long the patients of a world were followed: who is counted where, the laws of it, and what a run measures.

Four kinds of patients stand for all, each seen at two days or one. Knows nothing of what is published.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from types import SimpleNamespace
from typing import cast

import numpy as np
from support.results.random_worlds import ARMS, Law, Sum, World, add, minus

from clinaudit.audit.population.follow_up import LONG, ONE, SHORT, UNKNOWN, describe_follow_up
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.exact.corpus import FollowUp

#: Days from the first note to the last, and notes, of each kind; a third of four years, and four years.
_KINDS: Mapping[str, tuple[int | None, int]] = {
    "one": (0, 1),
    "weeks": (10, 2),
    "year": (487, 2),
    "years": (1461, 5),
    "undated": (None, 1),
}


def place(arm: str, kind: str) -> str:
    """Return the name of a count: patients of one kind."""
    return f"follow/{arm}/{kind}"


def cells_of(arm: str) -> dict[str, Sum]:
    """Return the cells of the published partition."""
    return {
        ONE: {place(arm, "one"): 1},
        SHORT: {place(arm, "weeks"): 1, place(arm, "year"): 1},
        LONG: {place(arm, "years"): 1},
        UNKNOWN: {place(arm, "undated"): 1},
    }


def texts_of(arm: str) -> dict[str, tuple[Sum, Sum]]:
    """Return by figure its parts and its whole: sums of quarters of years and of quarters of rates."""
    weeks, year, years = (place(arm, kind) for kind in ("weeks", "year", "years"))
    return {
        # 1461 days are four years.
        "span_years": ({weeks: 40, year: 4 * 487, years: 4 * 1461}, {weeks: 1461, year: 1461, years: 1461}),
        # 2 notes in 4/3 years, 5 in 4 years.
        "notes_per_year": ({year: 6, years: 5}, {year: 4, years: 4}),
    }


def behind_of(arm: str) -> dict[str, Sum]:
    """Return by figure the patients behind it."""
    weeks, year, years = (place(arm, kind) for kind in ("weeks", "year", "years"))
    return {"span_years": add(weeks, year, years), "notes_per_year": add(year, years)}


def draw_follow_up(world: World, rng: np.random.Generator) -> None:
    """Draw who was followed for how long."""
    for arm in ARMS:
        everyone = world.value(world.all_patients(arm))
        drawn = rng.multinomial(everyone, rng.dirichlet([0.5] * len(_KINDS)))
        world.counts.update({place(arm, kind): int(count) for kind, count in zip(_KINDS, drawn, strict=True)})


def follow_up_laws(world: World) -> list[Law]:
    """Say that every patient of a split is of one kind."""
    return [Law(minus(world.all_patients(arm), *(place(arm, kind) for kind in _KINDS)), 0, 0) for arm in ARMS]


def measure_follow_up(world: World, arm: str) -> FollowUp:
    """Return the description of a split."""
    notes = {}
    for kind, (days, count) in _KINDS.items():
        first = None if days is None else date(2020, 1, 1)
        dates = [None if first is None else first + timedelta(days=days or 0), *[first] * (count - 1)]
        own = [SimpleNamespace(visit_date=visit) for visit in dates]
        notes |= {f"{kind}{i}": own for i in range(world.counts[place(arm, kind)])}
    return describe_follow_up(list(notes), cast("Corpus", SimpleNamespace(notes_of=notes.__getitem__)))
