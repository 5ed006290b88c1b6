"""Published records of subgroups: who of a group has text repeated, and of whom a diagnosis is stated."""

from typing import Literal, get_args

from pydantic import Field

from clinaudit.reports.schema.numbers import Count, PublishedEstimate
from clinaudit.reports.schema.record import Arm, Record

Partition = Literal["age", "sex", "race", "notes"]
PARTITIONS: tuple[Partition, ...] = get_args(Partition)


class PublishedGroup(Record):
    """The patients of one group, and how many of them are affected."""

    partition: Partition
    #: `others` pools the groups that a partition has too many cells for.
    group: str
    patients: Count
    #: Memorization: patients with any attributable text. Disclosure: patients with the diagnosis of whom it is stated.
    affected: Count
    share: PublishedEstimate


class PublishedSubgroups(Record):
    """Groups by age, sex, race where given, and number of notes: tier -> arm -> groups."""

    memorization: dict[str, dict[Arm, list[PublishedGroup]]] = Field(default_factory=dict)
    disclosure: dict[str, dict[Arm, list[PublishedGroup]]] = Field(default_factory=dict)
