"""Results records of the matched cohorts: sizes, covariate balance, overlap of propensities (paper, Appendix D).

Owns their shape. Knows nothing of disclosure.
"""

from typing import Literal

from pydantic import Field

from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.exact.groups import OverlapBin
from clinaudit.reports.schema.record import Record


class BalanceRow(Record):
    """Standardized mean difference of one covariate in one contrast (the paper's Table 4)."""

    contrast: Literal["pos-train vs. pos-nontrain", "pos-train vs. neg-train", "pos-nontrain vs. neg-nontrain"]
    covariate: Literal["age", "sex", "notes"]
    smd: float | None
    flag: Literal["balanced", "imbalanced", "poorly_matched"]
    #: The same SMD among all candidates, before matching.
    smd_before: float | None = None
    #: Of sex: 1 to 10 of one sex are in some cell; the flag then follows from numbers, and the SMD is not published.
    few: bool = False
    #: The same of the candidates.
    few_before: bool = False


class CohortSummary(Record):
    """The matched cohort of one diagnosis."""

    status: Literal["balanced", "imbalanced", "poorly_matched", "unavailable"]
    reason: str | None
    matcher: Literal["psm", "optimal"]
    #: Share of d-positives among the train candidates that controls come from.
    prevalence: Estimate
    #: Patients a cell: train_positive, train_negative, nontrain_positive, nontrain_negative.
    cells: dict[str, int]
    balance: list[BalanceRow]
    excluded: dict[str, int]
    overlap: list[OverlapBin] = Field(default_factory=list)
