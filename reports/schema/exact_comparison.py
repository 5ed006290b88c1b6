"""The exact comparison of two runs: what `evidence/compare.json` holds (docs/comparing-runs.md).

Owns its shape. Knows nothing of how an estimate was computed, nor of what is published. A is the run before, B the one
after.
"""

from typing import Literal

from pydantic import Field

from clinaudit.reports.schema.comparison import ComparedRules, Difference, ForgettingVerdict, HealthCheck
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import Arm, Record


class ComparedMetric(Record):
    """One metric in both runs over the pairs, and B minus A; `n` counts patients."""

    a: Estimate
    b: Estimate
    difference: Estimate


class HitChanges(Record):
    """Patients by whether anything of their notes stood in their generations, in A and in B (McNemar 1947)."""

    both: int
    a_only: int
    b_only: int
    neither: int
    #: Patients of the arm with a generation in one run only.
    unpaired_a: int
    unpaired_b: int
    #: Two-sided, exact: of the null hypothesis that as many patients came as went.
    p_value: float


class ComparedMemorization(Record):
    """Verbatim memorization at one tier in one arm, over the patients with a generation in both runs."""

    memorized_fraction: ComparedMetric
    attributable_fraction: ComparedMetric
    #: Patients of whom any generation holds a match.
    hit_patients_share: ComparedMetric
    hits: HitChanges
    #: Text of exactly one other train patient; null where a run has not measured it.
    other_patient_fraction: ComparedMetric | None = None
    #: Attributable but for a few edits; null where a run has not measured it.
    near_verbatim_attributable_fraction: ComparedMetric | None = None


class ComparedDisclosure(Record):
    """Train minus nontrain for one diagnosis at one tier, in both runs."""

    #: Members of the cohort who were judged in both runs, and in one only.
    pairs: int
    unpaired_a: int
    unpaired_b: int
    #: Metric -> train minus nontrain in A, in B, and the difference of the two.
    delta: dict[str, ComparedMetric]


class Forgetting(Record):
    """The deletion certificate without names."""

    verdict: ForgettingVerdict
    named: int
    #: Patients by verdict.
    patients: dict[ForgettingVerdict, int]
    #: Named patients who were above the level of the held-out already in A.
    leaked_before: int
    #: Held-out patients that the level is made of, and how many would themselves not pass the same rule.
    controls: int
    controls_above: int
    controls_above_level: Estimate
    collapsed: bool | None
    health: list[HealthCheck]
    #: Why patients are not shown, in words.
    reasons: list[str]
    #: Those of them that are true of the runs, whoever is named.
    run_reasons: list[str] = Field(default_factory=list)
    #: What was weighed beside the two audits.
    beside: list[str] = Field(default_factory=list)
    #: Retained patients by whether they share a named one's disease, and by how answers on them changed.
    collateral: dict[str, dict[str, int]] = Field(default_factory=dict)


class Comparison(Record):
    """Everything `evidence/compare.json` holds."""

    schema_version: Literal["3.0"] = "3.0"
    conclusion: str = ""
    rules: ComparedRules | None = None
    differences: list[Difference]
    warnings: list[str]
    memorization: dict[str, dict[Arm, ComparedMemorization]] = Field(default_factory=dict)
    disclosure: dict[str, dict[str, ComparedDisclosure]] = Field(default_factory=dict)
    forgetting: Forgetting | None = None
