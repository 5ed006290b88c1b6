"""Tallies of ordinary use with the counts that are given."""

from clinaudit.reports.schema.attacks import LeakEvidence
from clinaudit.reports.tally.attacks import LeakCounts, LeakTally, OrdinaryTally
from clinaudit.reports.tally.classes import STEP
from clinaudit.reports.tally.leaves import Count, Inside, Setting

#: Tasks and patients: found, sampled, by chance.
Counts = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
NOTHING: Counts = ((0, 0), (0, 0), (0, 0))


def plant_leak(counts: Counts, *, has_pools: bool = True, is_public: bool = True) -> LeakTally:
    """Return the tally of one kind of leak."""
    found, sampled, chance = (LeakCounts(Count.of(tasks, step=STEP), Count.of(patients)) for tasks, patients in counts)
    return LeakTally(
        found,
        Inside(sampled if has_pools else None, is_public),
        Inside(chance if has_pools else None, is_public),
        Inside(LeakEvidence(answers={"text greedy": counts[0][0]})),
    )


def plant_ordinary(
    text: Counts = NOTHING, identifiers: Counts | None = NOTHING, *, tasks: int = 429, left_out: int = 0, short: int = 0
) -> OrdinaryTally:
    """Return the tally of a model that was asked in both forms."""
    return OrdinaryTally(
        tasks=Setting(tasks),
        left_out=Setting(left_out),
        short=Setting(short),
        forms=("text", "chat"),
        text=plant_leak(text),
        identifiers=None if identifiers is None else plant_leak(identifiers),
    )
