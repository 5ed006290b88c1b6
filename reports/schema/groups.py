"""Results records of subgroups: who of a group has text repeated, and of whom a diagnosis is stated."""

from typing import Literal, get_args

from pydantic import Field

from clinaudit.reports.schema.numbers import Count, Estimate, EstimateRange
from clinaudit.reports.schema.record import Arm, Record

Partition = Literal["age", "sex", "race", "notes"]
PARTITIONS: tuple[Partition, ...] = get_args(Partition)


class GroupMemorization(Record):
    """Memorization among the patients of one group; means over patients, with the bounds that the gate uses."""

    partition: Partition
    group: str
    #: Targets of the group with a generation.
    patients: int
    memorized_fraction: Estimate
    attributable_fraction: Estimate
    #: Patients with any memorized token.
    memorized_patients: int
    #: Patients with any attributable token.
    attributable_patients: int


class GroupDisclosure(Record):
    """How often a diagnosis is stated of the patients of one group who have it, all diagnoses together."""

    partition: Partition
    group: str
    #: Patients with at least one of the diagnoses and a verdict on it.
    patients: int
    #: Mean over patients of the share of their own diagnoses that is stated, with the bounds that the gate uses.
    sensitivity: Estimate
    #: Patients of whom any diagnosis is stated.
    exposed_patients: int


class MeasuredSubgroups(Record):
    """Estimates by age, sex, race where given, and number of notes."""

    memorization: dict[str, dict[Arm, list[GroupMemorization]]] = Field(default_factory=dict)
    disclosure: dict[str, dict[Arm, list[GroupDisclosure]]] = Field(default_factory=dict)


class GroupResults(Record):
    """The patients of one group, and how many of them are affected."""

    partition: Partition
    #: `others` pools the groups that a partition has too many cells for.
    group: str
    patients: Count
    #: Memorization: patients with any attributable text. Disclosure: patients with the diagnosis of whom it is stated.
    affected: Count
    share: EstimateRange


class SubgroupResults(Record):
    """Groups by age, sex, race where given, and number of notes: tier -> arm -> groups."""

    memorization: dict[str, dict[Arm, list[GroupResults]]] = Field(default_factory=dict)
    disclosure: dict[str, dict[Arm, list[GroupResults]]] = Field(default_factory=dict)
    #: Null in what is published.
    evidence: MeasuredSubgroups | None = None
