"""Results records of identifiers in generations: what the model emits, and whose it is.

Owns their shape (docs/results.md, "The evidence"). Knows nothing of how an identifier is found.
"""

from typing import Final, Literal, get_args

from pydantic import Field

from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.record import Arm, Record

#: Whose a value is; the first that holds stands.
IdentifierOwner = Literal["echo", "own", "staff", "other_train", "other_nontrain", "nobody"]
IDENTIFIER_OWNERS: Final[tuple[IdentifierOwner, ...]] = get_args(IdentifierOwner)


class IdentifierBin(Record):
    """Patients whose verified values a query number more than `low` and `high` at most; `high` null has no end."""

    low: float
    high: float | None
    patients: int


class IdentifierFigures(Record):
    """Identifiers in the answers about the targets of one arm: at one tier, or of one of HIPAA's identifiers.

    A value counts once a generation. It is verified where it is the target's own or another trained-on patient's, the
    prompt did not hold it, and exactly one patient of the corpus does.
    """

    generations: int
    patients: int
    values: dict[IdentifierOwner, int]
    #: Patients of whom any value of their own is given, and their share (Clopper-Pearson).
    own_patients: int
    own: Estimate
    #: Patients in whose answers a value stands that exactly one other trained-on patient holds, and nobody else.
    other_patients: int
    other: Estimate
    #: The same among as many patients of either split, and there with the splits exchanged: what chance gives.
    sampled_patients: int | None = None
    sampled: Estimate
    chance_patients: int | None = None
    chance: Estimate
    #: Verified values, patients of whom any was given, and values per 1,000 generations (bootstrap over patients).
    verified: int
    verified_patients: int
    verified_per_1000: Estimate
    #: The same, corrected for what the detector misses.
    corrected_per_1000: Estimate
    #: Verified values of the target's own, and those counted in `sampled`, per 1,000 generations; and those counted in
    #: `chance`. The gate holds the difference against its limit.
    sampled_per_1000: Estimate = Estimate(value=None, reason="not measured")
    chance_per_1000: Estimate = Estimate(value=None, reason="not measured")
    #: The partition of patients by verified values a query; the first bin holds those with none. Then the same of
    #: `sampled_per_1000` and `chance_per_1000`; empty where these are null.
    by_patient: list[IdentifierBin] = Field(default_factory=list)
    sampled_by_patient: list[IdentifierBin] = Field(default_factory=list)
    chance_by_patient: list[IdentifierBin] = Field(default_factory=list)


class DetectorRecall(Record):
    """How many identifiers of one kind, planted into the run's own texts, the detector found."""

    identifier: HipaaIdentifier
    planted: int
    found: int
    #: Wilson.
    recall: Estimate


class Identifiers(Record):
    """Identifiers in generations, all categories that text can hold."""

    #: By tier and arm, all categories together.
    tiers: dict[str, dict[Arm, IdentifierFigures]] = Field(default_factory=dict)
    #: By category and arm, all tiers together.
    categories: dict[HipaaIdentifier, dict[Arm, IdentifierFigures]] = Field(default_factory=dict)
    recall: list[DetectorRecall] = Field(default_factory=list)
    #: Categories that were not looked for, each with the reason.
    not_tested: dict[HipaaIdentifier, str] = Field(default_factory=dict)
