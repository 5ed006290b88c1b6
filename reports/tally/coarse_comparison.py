"""What may be published of an exact comparison: its counts of patients as classes (docs/comparing-runs.md).

The only module that reads exact comparison records and returns anything publishable. Everything else of a published
comparison is made of both runs' published results. p-values and paired intervals stay in the evidence.
"""

from clinaudit.reports.schema.comparison import PairedPatients
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.tally.classes import ARM_STEP, STEP, class_of


def coarsen_hits(hits: PairedPatients) -> PairedPatients:
    """Return the four cells of who had a match in which run, and the unpaired, as classes of an arm's patients."""
    counts = {name: of for name, of in iter(hits) if isinstance(of, CountRange)}
    return PairedPatients(**{name: _class_of(of, step=ARM_STEP) for name, of in counts.items()})


def _class_of(count: CountRange, *, step: int = STEP) -> CountRange:
    if count.low != count.high:
        raise ValueError("a count that is a class already")
    return class_of(count.low, step=step)
