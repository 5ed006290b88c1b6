"""What a report is drawn from: one record, made from the published results or from the exact ones.

Owns the parts that only the exact report has. The two makers are `published` in `clinaudit.audit.publication`, which
reads `results.json`, and `exact`, which reads the evidence. Both give the same records, the second with ranges of no
width: a page cannot tell them apart but for `exact`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field

from clinaudit.reports.schema.groups import Partition
from clinaudit.reports.schema.memorization import LengthUnit
from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.record import Arm, Record
from clinaudit.reports.schema.results import PublishedResults


class RocPoint(Record):
    """One operating point: everyone with a score of at least `threshold` is called positive."""

    threshold: float
    true_positive_rate: float
    false_positive_rate: float


class TestResult(Record):
    """The one-sided test that training gave the diagnosis away, and Holm's adjustment over all comparisons."""

    p_value: float
    p_holm: float


class Decile(Record):
    """The fraction that `share` of the patients do not exceed."""

    share: float
    fraction: float


class PatientSpread(Record):
    """How the attributable fraction is spread over the patients of one tier and arm, and who is worst off."""

    deciles: list[Decile]
    #: Mean over the tenth of the patients with the largest fraction.
    worst_tenth: PublishedEstimate


class GroupMeans(Record):
    """Mean fractions of one group of patients."""

    partition: Partition
    group: str
    patients: int
    memorized_fraction: PublishedEstimate
    attributable_fraction: PublishedEstimate


class PropensityBin(Record):
    """Patients by propensity of having the diagnosis in one arm: all candidates, and those matched."""

    arm: Arm
    low: float
    high: float
    positive_candidates: int
    negative_candidates: int
    positive_matched: int
    negative_matched: int


class PaperView(Record):
    """The paper's counting: one row a (patient, cohort) rather than one a distinct prompt."""

    rows: int
    memorized_fraction: PublishedEstimate
    hit_rate: PublishedEstimate


class UnguardedText(Record):
    """Text by the repetition guard's second rule, which does not cut what the patient's own note repeats."""

    memorized_fraction: PublishedEstimate
    attributable_fraction: PublishedEstimate
    hit_patients_share: PublishedEstimate


class DriftCounts(Record):
    """How many generations differ from what their prompts gave when they were decoded alone."""

    prompts: int
    differing: int
    #: Mean share of tokens before the first that differs.
    equal_leading_share: float


class RegionLength(Record):
    """Median, 90th percentile and longest of the regions' lengths."""

    median: float | None
    p90: float | None
    max: int | None


class Spread(Record):
    """Mean, standard deviation and range of a number per patient or practice; null where it is not known."""

    mean: float | None
    sd: float | None
    min: float | None
    max: float | None


class Percentiles(Record):
    """Mean, quartiles and 95th percentile of a number per patient."""

    mean: float | None
    p25: float | None
    median: float | None
    p75: float | None
    p95: float | None


class ExactParts(Record):
    """What only `evidence/report.html` shows (PHI)."""

    #: Diagnosis -> tier -> arm: the ROC among generations that mention the diagnosis.
    roc: dict[str, dict[str, dict[Arm, list[RocPoint]]]] = Field(default_factory=dict)
    #: Diagnosis -> tier: the test of the policy's disclosure rule.
    tests: dict[str, dict[str, TestResult]] = Field(default_factory=dict)
    #: Diagnosis -> tier -> `train`, `nontrain`, `delta` -> metric: disclosure with the judge's errors taken out.
    corrected: dict[str, dict[str, dict[str, dict[str, PublishedEstimate]]]] = Field(default_factory=dict)
    #: Tier -> arm.
    spread: dict[str, dict[Arm, PatientSpread]] = Field(default_factory=dict)
    groups: dict[str, dict[Arm, list[GroupMeans]]] = Field(default_factory=dict)
    paper_view: dict[str, dict[Arm, PaperView]] = Field(default_factory=dict)
    #: Empty where the program did not generate the text itself.
    unguarded: dict[str, dict[Arm, UnguardedText]] = Field(default_factory=dict)
    #: Diagnosis -> bins.
    overlap: dict[str, list[PropensityBin]] = Field(default_factory=dict)
    #: None where nothing was decoded alone.
    drift: DriftCounts | None = None
    #: Split or cohort -> figure (notes and tokens a patient, notes and patients a practice, age).
    populations: dict[str, dict[str, Spread]] = Field(default_factory=dict)
    #: Split -> `span_years`, `notes_per_year`.
    follow_up: dict[str, dict[str, Percentiles]] = Field(default_factory=dict)
    #: Tier -> arm -> unit: of the length of regions.
    region_lengths: dict[str, dict[Arm, dict[LengthUnit, RegionLength]]] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReportContent:
    """A report's numbers and where they come from."""

    results: PublishedResults
    #: The content of `run.json`.
    provenance: Mapping[str, object]
    #: None: the report for those who may not see PHI.
    exact: ExactParts | None = None
