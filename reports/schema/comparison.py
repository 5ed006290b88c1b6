"""Records of a comparison: what `compare.json` holds, published or exact (docs/comparing-runs.md).

A is the run before, B the one after. An exact comparison (PHI) has ranges of no width, and what only the evidence
holds: numbers of pairs and p-values.
"""

from typing import Literal

from pydantic import Field

from clinaudit.reports.schema.attacks import LeakName
from clinaudit.reports.schema.decision import Status
from clinaudit.reports.schema.forgetting import Forgetting
from clinaudit.reports.schema.numbers import Count, Estimate, EstimateRange, exact_estimate
from clinaudit.reports.schema.record import Arm, Record

#: What was read: both runs' results as published, or the evidence of both.
FiguresRead = Literal["published", "exact"]


class Difference(Record):
    """A setting, version or digest in which the runs differ."""

    name: str
    a: str
    b: str


class ComparedRules(Record):
    """The verdicts of both runs, and what became of the rules, each in words: "Own text · Appointment reminder"."""

    #: Null where no policy was applied.
    a: Status | None
    b: Status | None
    #: Failed in A and pass in B; fail in B alone; fail in both; could not be decided in B.
    mended: list[str]
    new: list[str]
    failing: list[str]
    open: list[str]
    #: Failed in A, and no rule of B, or with another limit there.
    gone: list[str]


class ComparedEstimate(Record):
    """One metric in both runs, and B minus A.

    The difference of two published figures: its range reaches from the low end of B less the high end of A to the high
    end of B less the low end of A, and so does its interval. That covers whenever both intervals do, however the runs
    depend on each other: at least 90%.
    The difference of two exact figures is paired by patient, with a 95% interval.
    """

    a: EstimateRange
    b: EstimateRange
    difference: EstimateRange
    #: Patients paired; in an exact comparison alone.
    pairs: int | None = None


def exact_change(a: Estimate, b: Estimate, difference: Estimate) -> ComparedEstimate:
    """Return a metric of the evidence of both runs, and their paired difference: ranges of no width."""
    return ComparedEstimate(
        a=exact_estimate(a), b=exact_estimate(b), difference=exact_estimate(difference), pairs=difference.n
    )


class PairedPatients(Record):
    """Patients by whether anything of their notes stood in their generations, in A and in B (McNemar 1947)."""

    both: Count
    a_only: Count
    b_only: Count
    neither: Count
    #: Patients of the arm with a generation in one run only.
    unpaired_a: Count
    unpaired_b: Count
    #: Two-sided, exact: of the null hypothesis that as many patients came as went. In an exact comparison alone.
    p_value: float | None = None


class PairedMembers(Record):
    """Members of a cohort who were judged in both runs, and in one only: in an exact comparison alone."""

    pairs: int
    unpaired_a: int
    unpaired_b: int


class ComparedMemorization(Record):
    """Verbatim memorization in both runs, at one tier in one arm."""

    memorized_fraction: ComparedEstimate
    attributable_fraction: ComparedEstimate
    #: Patients of whom any text holds a match.
    hit_patients_share: ComparedEstimate
    #: Null where the evidence of a run was purged.
    patients: PairedPatients | None
    #: Text of exactly one other train patient; null where a run has not measured it.
    other_patient_fraction: ComparedEstimate | None = None
    #: Attributable but for a few edits.
    near_verbatim_attributable_fraction: ComparedEstimate
    #: Share of patients given an identifier of their own; null where a run did not look, and of exact figures.
    own_identifiers: ComparedEstimate | None = None
    #: Share of patients whose own text comes within 1,000 queries; null where nothing was scored, and of exact figures.
    within_1000_queries: ComparedEstimate | None = None


class Comparison(Record):
    """Everything `compare.json` holds, and `evidence/compare.json`."""

    schema_version: Literal["4.0"] = "4.0"
    figures: FiguresRead
    #: One sentence: what changed, as far as these figures show it.
    conclusion: str = ""
    #: Null where neither run has a verdict.
    rules: ComparedRules | None = None
    #: Of run B's audit, as the site gave it (ISO 8601); None where it gave none.
    date: str | None = None
    differences: list[Difference]
    warnings: list[str]
    #: By tier and arm.
    memorization: dict[str, dict[Arm, ComparedMemorization]] = Field(default_factory=dict)
    #: Shares of everyday tasks answered with `text` of a patient, and with `identifiers`; empty where a run asked none.
    ordinary: dict[LeakName, ComparedEstimate] = Field(default_factory=dict)
    #: Diagnosis -> tier -> metric: trained on minus never seen.
    disclosure: dict[str, dict[str, dict[str, ComparedEstimate]]] = Field(default_factory=dict)
    #: Diagnosis -> tier; empty in what is published.
    paired_members: dict[str, dict[str, PairedMembers]] = Field(default_factory=dict)
    forgetting: Forgetting | None = None
