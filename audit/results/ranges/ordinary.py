"""Everyday tasks, from their tally (docs/results.md, "ordinary")."""

from clinaudit.audit.statistics.counts import share_of
from clinaudit.reports.schema.numbers import add, exactly
from clinaudit.reports.schema.ordinary import LeakFigures, LeakResults, OrdinaryResults
from clinaudit.reports.tally.ordinary import LeakCounts, LeakTally, OrdinaryTally


def derive_ordinary(tally: OrdinaryTally) -> OrdinaryResults:
    """Return the results of everyday tasks; shares are of the tasks, with Clopper and Pearson's interval."""
    asked = exactly(tally.tasks.value)

    def figures(counts: LeakCounts) -> LeakFigures:
        tasks = add([counts.tasks.range], of=asked)
        return LeakFigures(tasks=tasks, share=share_of(tasks, asked), patients=counts.patients.range)

    def leak(of: LeakTally) -> LeakResults:
        sampled, chance = (None if pool.value is None else figures(pool.value) for pool in (of.sampled, of.chance))
        return LeakResults(**dict(figures(of.found)), sampled=sampled, chance=chance, evidence=of.evidence.value)

    return OrdinaryResults(
        tasks=tally.tasks.value,
        left_out=tally.left_out.value,
        short=tally.short.value,
        forms=list(tally.forms),
        text=leak(tally.text),
        identifiers=None if tally.identifiers is None else leak(tally.identifiers),
    )
