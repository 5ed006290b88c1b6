"""Results records of groups of patients: subgroups, the distribution over patients, the overlap of propensities.

Owns their shape (docs/results.md, "The evidence"). Knows nothing of how a number was computed.
"""

from pydantic import Field

from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.schema.groups import Partition
from clinaudit.reports.schema.record import Arm, Record


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


class Subgroups(Record):
    """Estimates by age, sex, race where given, and number of notes."""

    memorization: dict[str, dict[Arm, list[GroupMemorization]]] = Field(default_factory=dict)
    disclosure: dict[str, dict[Arm, list[GroupDisclosure]]] = Field(default_factory=dict)


class FractionBin(Record):
    """Patients whose fraction lies above `low` and at `high` at most; the first bin holds those at zero."""

    low: float
    high: float
    patients: int


class ShareAbove(Record):
    """Share of the patients whose fraction lies above `threshold`, with Clopper-Pearson's interval."""

    threshold: float
    share: Estimate


class Decile(Record):
    """The fraction that `share` of the patients do not exceed; null where fewer than 11 stand on either side."""

    share: float
    fraction: float


class PatientDistribution(Record):
    """How the patient-attributable fraction is spread over the patients of one tier and arm; a patient's is a mean."""

    bins: list[FractionBin]
    above: list[ShareAbove]
    deciles: list[Decile]
    #: Mean over the tenth of the patients who are worst off; bootstrap over patients.
    worst_tenth: Estimate


class OverlapBin(Record):
    """Patients by propensity of having the diagnosis, `low` to `high`, in one arm: all candidates, and those matched.

    Both propensities are of one model, fitted to the arm's candidates.
    """

    arm: Arm
    low: float
    high: float
    positive_candidates: int
    negative_candidates: int
    positive_matched: int
    negative_matched: int
