"""Results records of everyday tasks (docs/results.md, "ordinary"): what answers about nobody hold of patients."""

from typing import Literal

from clinaudit.reports.schema.numbers import Count, EstimateRange
from clinaudit.reports.schema.record import Record

#: What an answer may hold of patients.
LeakName = Literal["text", "identifiers"]
#: As plain text that the model continues, or in a chat.
TaskForm = Literal["text", "chat"]


class LeakEvidence(Record):
    """What only the evidence holds: answers that hold something, by form and draw (`text greedy`, …)."""

    answers: dict[str, int]


class LeakFigures(Record):
    """Tasks that were answered with something that one patient alone holds, and whose it is."""

    #: Tasks of which any answer holds it, and their share of the tasks asked.
    tasks: Count
    share: EstimateRange
    #: Patients whose it is.
    patients: Count


class LeakResults(LeakFigures):
    """Of train patients; and beside it what chance gives."""

    #: The same among as many patients of either split: of those trained on, and of those never seen. Null where a split
    #: has nobody else, and in a split of the lowest class.
    sampled: LeakFigures | None
    chance: LeakFigures | None
    #: Null in what is published.
    evidence: LeakEvidence | None = None


class OrdinaryResults(Record):
    """Everyday tasks: those of a clinician's day, about nobody, each answered greedily and once drawn."""

    #: Tasks that were answered in every form and draw, and those that were not.
    tasks: int
    left_out: int
    #: Of those answered, the tasks with no answer long enough to hold a match.
    short: int
    forms: list[TaskForm]
    #: Passages that are no boilerplate, in the notes of one patient alone, as they stand and masked.
    text: LeakResults
    #: Verified identifiers; null where none were looked for.
    identifiers: LeakResults | None
