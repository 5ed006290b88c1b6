"""Results records of the matched cohorts: sizes as classes, covariate balance to one decimal (paper, Appendix D)."""

from typing import Literal

from pydantic import Field

from clinaudit.reports.schema.numbers import Count, Estimate, EstimateRange
from clinaudit.reports.schema.record import Arm, Record

CohortStatus = Literal["balanced", "imbalanced", "poorly_matched", "unavailable"]


class BalanceResults(Record):
    """Standardized mean difference of one covariate in one contrast (the paper's Table 4), one decimal."""

    contrast: Literal["pos-train vs. pos-nontrain", "pos-train vs. neg-train", "pos-nontrain vs. neg-nontrain"]
    covariate: Literal["age", "sex", "notes"]
    #: Null where it is undefined, and of sex where 1 to 10 of one sex are in a cell: its flag follows from numbers.
    smd: float | None
    flag: Literal["balanced", "imbalanced", "poorly_matched"]
    #: The same SMD among all candidates, before matching.
    smd_before: float | None = None


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


class CohortEvidence(Record):
    """What only the evidence holds of a cohort."""

    #: Patients a cell: train_positive, train_negative, nontrain_positive, nontrain_negative.
    cells: dict[str, int]
    #: Share of d-positives among the train candidates that controls come from.
    prevalence: Estimate
    overlap: list[OverlapBin] = Field(default_factory=list)


class CohortResults(Record):
    """The matched cohort of one diagnosis."""

    status: CohortStatus
    reason: str | None
    matcher: Literal["psm", "optimal"]
    #: Matched sets, with one patient of each of the four cells.
    sets: Count
    #: Share of patients with the diagnosis among the train candidates that controls come from.
    prevalence: EstimateRange
    #: By arm: share of the generations that mention the diagnosis, the mean over the tiers (the paper's Table 1).
    mention_rate: dict[Arm, EstimateRange] = Field(default_factory=dict)
    balance: list[BalanceResults]
    excluded: dict[str, Count]
    #: Null in what is published.
    evidence: CohortEvidence | None = None
