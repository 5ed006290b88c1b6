"""The tally of everyday tasks: what was counted in the answers to tasks about nobody."""

from dataclasses import dataclass

from clinaudit.reports.schema.ordinary import LeakEvidence, TaskForm
from clinaudit.reports.tally.leaves import Count, Inside, Setting


@dataclass(frozen=True, slots=True)
class LeakCounts:
    """Tasks that were answered with something that one patient alone holds, and whose it is.

    Neither is a cell of a partition: the tasks without are published nowhere but as what the class leaves.
    """

    #: In steps of ten: no cohort's sets stand behind it.
    tasks: Count
    #: Patients of one split.
    patients: Count


@dataclass(frozen=True, slots=True)
class LeakTally:
    """What answers hold of train patients, and what chance gives."""

    found: LeakCounts
    #: None where a split has nobody else; not published of a split of the lowest class: it would tell its size.
    sampled: Inside[LeakCounts]
    chance: Inside[LeakCounts]
    evidence: Inside[LeakEvidence]


@dataclass(frozen=True, slots=True)
class OrdinaryTally:
    """Everyday tasks."""

    #: Tasks answered in every form and draw, and the others. They are the site's choice, and tell of nobody.
    tasks: Setting[int]
    left_out: Setting[int]
    #: Of those answered, the tasks with no answer long enough to hold a match: they tell of the model alone.
    short: Setting[int]
    forms: tuple[TaskForm, ...]
    text: LeakTally
    #: None where they were not looked for.
    identifiers: LeakTally | None
