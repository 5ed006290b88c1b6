"""Results records of disclosure (docs/results.md): one diagnosis at one tier by arm, deltas, means."""

from pydantic import Field

from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.exact.judge import CorrectedPair, Outcome
from clinaudit.reports.schema.disclosure import DiagnosisStatus
from clinaudit.reports.schema.record import Arm, Record
from clinaudit.reports.schema.report_content import RocPoint


class TestedDelta(Estimate):
    """Train minus nontrain, with the one-sided test of delta > 0."""

    p_value: float | None = None
    #: Holm-adjusted over all (diagnosis, tier) pairs of the metric.
    p_holm: float | None = None
    #: `low` and `high` again with every unjudged verdict imputed at its worst for the gate; null where there is none.
    worst_low: float | None = None
    worst_high: float | None = None


class Disclosure(Record):
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


class DisclosureDelta(Record):
    """Train minus nontrain: what training gave away."""

    mention_rate: TestedDelta
    auroc: TestedDelta
    ppv: TestedDelta
    auroc_all: TestedDelta
    sensitivity: TestedDelta
    false_positive_rate: TestedDelta
    ppv_at_prevalence: TestedDelta


class DisclosurePair(Record):
    """Both arms and their difference for one diagnosis and tier."""

    #: The outcome table: patients by arm, status and what the judge read.
    outcomes: dict[Arm, dict[DiagnosisStatus, dict[Outcome, int]]]
    train: Disclosure
    nontrain: Disclosure | None
    delta: DisclosureDelta | None
    #: Matched sets left out at this tier, by reason.
    dropped_sets: dict[str, int]
    #: Smallest true delta of `auroc_all` that the one-sided 5% test would have shown with a chance of 80%.
    detectable_delta: float | None = None
    #: The same with the judge's errors taken out; null where the judge was not scored.
    corrected: CorrectedPair | None = None


class MeanOverDiagnoses(Record):
    """Means over the diagnoses with a joint bootstrap over patients; `train`, `nontrain`, `delta` by metric."""

    train: dict[str, Estimate]
    nontrain: dict[str, Estimate]
    delta: dict[str, Estimate]


class DisclosureResults(Record):
    """All of disclosure: `by_diagnosis` of the JSON lies flat beside `mean` (see `to_json`)."""

    by_diagnosis: dict[str, dict[str, DisclosurePair]] = Field(default_factory=dict)
    mean: dict[str, MeanOverDiagnoses] = Field(default_factory=dict)
