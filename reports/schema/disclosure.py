"""Results records of disclosure: verdict tables as classes, metrics as ranges (docs/results.md, "disclosure")."""

from collections.abc import Collection
from typing import Literal, get_args

from pydantic import Field

from clinaudit.reports.schema.numbers import Count, Estimate, EstimateRange
from clinaudit.reports.schema.record import Record

#: Whether patients have the diagnosis.
DiagnosisStatus = Literal["present", "absent"]
DIAGNOSIS_STATUSES: tuple[DiagnosisStatus, ...] = get_args(DiagnosisStatus)
#: A verdict, or that there is none: what the metrics of disclosure count.
Outcome = Literal["negative", "not_mentioned", "ambiguous", "positive", "unjudged"]
#: Whose answers: the audited model's about either arm, or the control model's about those trained on.
Side = Literal["train", "nontrain", "control"]
SIDES: tuple[Side, ...] = get_args(Side)


def compared_sides(sides: Collection[str]) -> tuple[Side, ...]:
    """Return whose answers a difference is of, of those that there are: those trained on, less those never seen.

    Where nobody was held out, less the control's; the first alone where there is no control either.
    """
    return "train", *[side for side in SIDES[1:] if side in sides][:1]


class VerdictCounts(Record):
    """Patients of one arm and status by what the judge read in their generation."""

    #: The text says that the patient has the diagnosis.
    positive: Count
    #: It denies it.
    negative: Count
    #: It mentions it ambiguously, or not at all.
    undecided: Count
    unjudged: Count
    #: Of the undecided, those with an ambiguous mention.
    ambiguous: Count


class RocPoint(Record):
    """One operating point: everyone with a score of at least `threshold` is called positive."""

    threshold: float
    true_positive_rate: float
    false_positive_rate: float


class TestedDelta(Estimate):
    """Train minus nontrain, with the one-sided test of delta > 0."""

    p_value: float | None = None
    #: Holm-adjusted over all (diagnosis, tier) pairs of the metric.
    p_holm: float | None = None
    #: `low` and `high` again with every unjudged verdict imputed at its worst for the gate; null where there is none.
    worst_low: float | None = None
    worst_high: float | None = None


class MeasuredArm(Record):
    """Disclosure of one diagnosis at one tier in one arm (docs/methods.md, section 5)."""

    generations: int
    mentioned: int
    mention_rate: Estimate
    unjudged: int
    #: Share of d-positives among the generations counted; 0.5 by design.
    base_rate: float | None
    auroc: Estimate
    ppv: Estimate
    auroc_all: Estimate
    sensitivity: Estimate
    false_positive_rate: Estimate
    ppv_at_prevalence: Estimate
    #: Null where one class is missing.
    roc: list[RocPoint] | None
    #: By share of which the count is zero: what it might still be, with 95% confidence (one-sided Clopper-Pearson).
    zero_bounds: dict[str, float] = Field(default_factory=dict)
    #: By metric: how many of the 2,000 resamples leave it undefined (of one class alone), where any does.
    undefined_resamples: dict[str, int] = Field(default_factory=dict)


class MeasuredDelta(Record):
    """What training gave away: train minus nontrain, or minus the control."""

    mention_rate: TestedDelta
    auroc: TestedDelta
    ppv: TestedDelta
    auroc_all: TestedDelta
    sensitivity: TestedDelta
    false_positive_rate: TestedDelta
    ppv_at_prevalence: TestedDelta


class MeasuredPair(Record):
    """Both arms and their difference for one diagnosis and tier."""

    #: The outcome table: patients by side, status and what the judge read.
    outcomes: dict[Side, dict[DiagnosisStatus, dict[Outcome, int]]]
    train: MeasuredArm
    nontrain: MeasuredArm | None
    #: What the control model says of the same patients as `train`; null where it was not asked.
    control: MeasuredArm | None = None
    #: Train minus nontrain; where nobody was held out, minus the control.
    delta: MeasuredDelta | None
    #: Matched sets left out at this tier, by reason.
    dropped_sets: dict[str, int]
    #: Smallest true delta of `auroc_all` that the one-sided 5% test would have shown with a chance of 80%.
    detectable_delta: float | None = None


class MeanOverDiagnoses(Record):
    """Means over the diagnoses with a joint bootstrap over patients; each side and `delta` by metric."""

    train: dict[str, Estimate]
    nontrain: dict[str, Estimate]
    control: dict[str, Estimate] = Field(default_factory=dict)
    delta: dict[str, Estimate]


class PairResults(Record):
    """Both arms and their difference for one diagnosis and tier."""

    #: Patients of each of the four groups: matched sets.
    patients: Count
    verdicts: dict[Side, dict[DiagnosisStatus, VerdictCounts]]
    #: Metric -> range, by arm.
    train: dict[str, EstimateRange]
    nontrain: dict[str, EstimateRange] | None
    #: What the control model says of the same patients as `train`; null where it was not asked.
    control: dict[str, EstimateRange] | None = None
    #: Train minus nontrain: what training gave away; where `nontrain` is null, train minus the control.
    delta: dict[str, EstimateRange] | None
    #: Matched sets left out at this tier, by reason.
    dropped_sets: dict[str, Count]
    #: Smallest true delta of `auroc_all` that the one-sided 5% test would have shown with a chance of 80%.
    detectable_delta: EstimateRange
    #: Null in what is published.
    evidence: MeasuredPair | None = None

    @property
    def compared(self) -> tuple[Side, ...]:
        """Whose answers `delta` is of."""
        return compared_sides(self.verdicts)


class MeanResults(Record):
    """Means over the diagnoses of the ranges; each side and `delta` by metric."""

    train: dict[str, EstimateRange]
    nontrain: dict[str, EstimateRange]
    control: dict[str, EstimateRange] = Field(default_factory=dict)
    delta: dict[str, EstimateRange]
    #: Null in what is published.
    evidence: MeanOverDiagnoses | None = None


class DisclosureResults(Record):
    """All of disclosure: `by_diagnosis` of the JSON lies flat beside `mean` (see `to_json`)."""

    by_diagnosis: dict[str, dict[str, PairResults]] = Field(default_factory=dict)
    mean: dict[str, MeanResults] = Field(default_factory=dict)

    @property
    def is_from_control(self) -> bool:
        """Whether differences are from the control's answers, since nobody was held out."""
        return any("control" in pair.compared for tiers in self.by_diagnosis.values() for pair in tiers.values())
