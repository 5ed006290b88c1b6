"""Results records of identifiers in generations (docs/results.md, "identifiers").

A count of patients is a class, an estimate a range; knows nothing of how an identifier is found.
"""

from typing import Final, Literal, get_args

from pydantic import Field

from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.numbers import Count, Estimate, EstimateRange
from clinaudit.reports.schema.record import Arm, Record

#: Whose a value is; the first that holds stands.
IdentifierOwner = Literal["echo", "own", "staff", "other_train", "other_nontrain", "nobody"]
#: What rates are given for: so many queries.
QUERIES: Final = 1000
IDENTIFIER_OWNERS: Final[tuple[IdentifierOwner, ...]] = get_args(IdentifierOwner)


class IdentifierBin(Record):
    """Patients whose verified values a query number more than `low` and `high` at most; `high` null has no end."""

    low: float
    high: float | None
    patients: int


class IdentifierEvidence(Record):
    """What only the evidence holds of identifiers: counts of values, and rates with a bootstrap over patients."""

    generations: int
    values: dict[IdentifierOwner, int]
    #: Verified values, and per 1,000 generations; then corrected for what the detector misses.
    verified: int
    verified_per_1000: Estimate
    corrected_per_1000: Estimate
    #: Verified values of the target's own, and those counted in `sampled`, per 1,000 generations; and those counted in
    #: `chance`. The gate holds the difference against its limit.
    sampled_per_1000: Estimate
    chance_per_1000: Estimate
    #: The partition of patients by `sampled_per_1000` and `chance_per_1000`; empty where these are null.
    sampled_by_patient: list[IdentifierBin] = Field(default_factory=list)
    chance_by_patient: list[IdentifierBin] = Field(default_factory=list)


class RateBin(Record):
    """Patients whose verified values a query number more than `low`, and `high` at most; `high` null has no end."""

    low: float
    high: float | None
    patients: Count


class IdentifierResults(Record):
    """Identifiers in the answers about the patients of one arm: at one tier, or of one of HIPAA's identifiers.

    A value is verified where it is the patient's own or another trained-on patient's, the prompt did not hold it, and
    exactly one patient of the corpus does (docs/methods.md).
    """

    patients: Count
    #: Patients of whom any identifier of their own is given, and their share.
    own_patients: Count
    own: EstimateRange
    #: Patients in whose answers a value stands that exactly one other trained-on patient holds, and their share.
    other_patients: Count
    other: EstimateRange
    #: The same among as many patients of either split, and there with the splits exchanged. Null where a split has
    #: nobody else, and in an arm of the lowest class.
    sampled_patients: Count | None
    sampled: EstimateRange | None
    chance_patients: Count | None
    chance: EstimateRange | None
    #: Per 1,000 queries: verified values of the patient's own and those counted in `sampled`, and those counted in
    #: `chance`.
    sampled_per_1000: EstimateRange | None
    chance_per_1000: EstimateRange | None
    #: Patients in whose answers any verified value stands, and their share.
    verified_patients: Count
    verified: EstimateRange
    #: Verified values per 1,000 queries, a patient's queries together weighing as much as another's: the range that the
    #: bins allow. No `high` where somebody may lie in a bin without end.
    verified_per_1000: EstimateRange
    #: The same, corrected for what the detector misses; null where that is not known.
    corrected_per_1000: EstimateRange | None
    #: Patients by verified values a query, those with any.
    by_patient: list[RateBin]
    #: Null in what is published.
    evidence: IdentifierEvidence | None = None


class DetectorRecall(Record):
    """How many identifiers of one kind, planted into texts for this purpose, the detector found: exact."""

    identifier: HipaaIdentifier
    planted: int
    found: int
    recall: EstimateRange


class IdentifiersResults(Record):
    """Identifiers in generations."""

    #: By tier and arm, all categories together.
    tiers: dict[str, dict[Arm, IdentifierResults]] = Field(default_factory=dict)
    #: By HIPAA's identifier and arm, all tiers together.
    categories: dict[HipaaIdentifier, dict[Arm, IdentifierResults]] = Field(default_factory=dict)
    recall: list[DetectorRecall] = Field(default_factory=list)
    #: Identifiers that were not looked for, each with the reason.
    not_tested: dict[HipaaIdentifier, str] = Field(default_factory=dict)
    #: Rules of the site's own (`--identifier-rules`) that were searched for beside those that ship.
    site_rules: int = 0
