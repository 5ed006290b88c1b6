"""Ordinary use in a world: tasks answered with what one patient alone holds, and these patients; and their laws."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from support.results.counted_leaves import CountedLeaves
from support.results.filled_evidence import NOT_FILLED
from support.results.random_worlds import ARMS, Law, World, at_most, few_or_many, times

from clinaudit.reports.tally.attacks import LeakCounts, LeakTally, OrdinaryTally
from clinaudit.reports.tally.classes import ARM_STEP, STEP
from clinaudit.reports.tally.leaves import Inside, Setting

TASKS: Final = 429
#: By figure, the split whose patients are counted.
FIGURES: Final = {"found": "train", "sampled": "train", "chance": "nontrain"}
KINDS: Final = ("text", "identifiers")
#: More than one answer holds text of.
_MANY: Final = 10_000


def draw_ordinary(world: World, rng: np.random.Generator) -> None:
    """Add the counts to a world that has all others; the other numbers that are drawn stay as they are."""
    (own,) = rng.spawn(1)
    for kind in KINDS:
        most_tasks, most = TASKS, world.value(world.all_patients("train"))
        for figure, split in FIGURES.items():
            if split != "train":
                most_tasks, most = TASKS, world.value(world.all_patients(split))
            tasks = min(most_tasks, few_or_many(own, 0.3))
            patients = min(most, few_or_many(own, 0.0)) if tasks else 0
            world.counts.update({_name(kind, figure, "tasks"): tasks, _name(kind, figure, "patients"): patients})
            # Those in pools are among all.
            most_tasks, most = tasks, patients


def tally_ordinary(leaves: CountedLeaves) -> OrdinaryTally:
    """Return the tally."""
    world = leaves.world
    is_public = all(world.value(world.all_patients(arm)) > ARM_STEP for arm in ARMS)

    def counts(kind: str, figure: str) -> LeakCounts:
        return LeakCounts(
            leaves.count({_name(kind, figure, "tasks"): 1}, step=STEP),
            leaves.count({_name(kind, figure, "patients"): 1}),
        )

    def leak(kind: str) -> LeakTally:
        sampled, chance = (Inside(counts(kind, figure), is_public) for figure in ("sampled", "chance"))
        return LeakTally(counts(kind, "found"), sampled, chance, NOT_FILLED)

    asked, none = (leaves.known(Setting(count)) for count in (TASKS, 0))
    return OrdinaryTally(asked, none, none, ("text", "chat"), leak("text"), leak("identifiers"))


def ordinary_laws(world: World) -> Iterator[Law]:
    """Yield what holds: nobody is concerned where no task counts, and pools are among all."""
    for kind in KINDS:
        for figure, split in FIGURES.items():
            tasks, patients = (_name(kind, figure, what) for what in ("tasks", "patients"))
            yield Law({tasks: 1}, 0, TASKS)
            yield at_most(patients, world.all_patients(split))
            yield at_most(tasks, times({patients: 1}, _MANY))
            yield at_most(patients, times({tasks: 1}, _MANY))
        for what in ("tasks", "patients"):
            yield at_most(_name(kind, "sampled", what), _name(kind, "found", what))


def _name(kind: str, figure: str, what: str) -> str:
    return f"ordinary/{kind}/{figure}/{what}"
