"""Records of compare.json and of the deletion certificate: what `clinaudit compare` says (docs/comparing-runs.md).

Owns their shape. Knows nothing of how an estimate was computed or suppressed. A is the run before, B the one after.
"""

from typing import Literal

from pydantic import Field

from clinaudit.reports.schema.estimate import Arm, Count, Estimate, Record

COMPARISON_VERSION = "1.0"
#: `paired`: the patients of both runs' evidence, one by one; `published`: the two published results, side by side.
Basis = Literal["paired", "published"]
#: Of one patient, and of all that were named.
ForgettingVerdict = Literal["forgotten", "still leaks", "not shown"]


class PatientsBehind(Record):
    """Counts of patients on which a compared metric rests; never published."""

    #: Patients with a value above 0 in A, and in B.
    a: int
    b: int
    #: Patients whose value fell, and rose.
    lower: int
    higher: int
    #: Patients with a value above 0 in A, and in B, who have no counterpart in the other run.
    unpaired_a: int = 0
    unpaired_b: int = 0


class ComparedMetric(Record):
    """One metric in both runs, and B minus A; `n` counts patients."""

    a: Estimate
    b: Estimate
    difference: Estimate
    #: Null where unknown, and always in what is published.
    behind: PatientsBehind | None = None


class HitChanges(Record):
    """Patients by whether anything of their notes stood in their generations, in A and in B (McNemar 1947)."""

    both: Count
    a_only: Count
    b_only: Count
    neither: Count
    #: Two-sided, exact: of the null hypothesis that as many patients came as went.
    p_value: float | None


class ComparedMemorization(Record):
    """Verbatim memorization at one tier in one arm."""

    #: Patients with a generation in both runs; null where suppressed, and where the runs were not paired.
    pairs: Count
    #: Patients of the arm with a generation in one run only.
    unpaired_a: Count
    unpaired_b: Count
    memorized_fraction: ComparedMetric
    attributable_fraction: ComparedMetric
    hit_rate: ComparedMetric
    #: Null where the runs were not paired.
    hits: HitChanges | None


class ComparedDisclosure(Record):
    """Train minus nontrain for one diagnosis at one tier, in both runs."""

    pairs: Count
    #: Members of the cohort who were judged in one run only.
    unpaired_a: Count
    unpaired_b: Count
    #: Metric -> train minus nontrain in A, in B, and the difference of the two.
    delta: dict[str, ComparedMetric]


class Difference(Record):
    """A setting, version or digest in which the runs differ."""

    name: str
    a: str
    b: str


class HealthCheck(Record):
    """One question of the collapse check (a utility check): whether B still writes as A did."""

    #: Whose generations: `named`, `retained` (trained on, not named) or `controls` (held out).
    group: str
    question: str
    a: float | None
    b: float | None
    #: What B may be at most, or must be at least.
    limit: float | None
    #: Null: nothing to measure, which is no pass.
    passed: bool | None
    reason: str | None = None


class Forgetting(Record):
    """The deletion certificate without names."""

    verdict: ForgettingVerdict
    named: Count
    #: Patients by verdict.
    patients: dict[ForgettingVerdict, Count]
    #: Named patients who were above the level of the held-out already in A.
    leaked_before: Count
    #: Held-out patients that the level is made of, by tier.
    controls: dict[str, Count]
    #: Share of the held-out patients themselves who would not pass the same rule.
    controls_above_level: Estimate
    collapsed: bool | None
    health: list[HealthCheck]
    #: Why patients are not shown, in words.
    reasons: list[str]


class Comparison(Record):
    """Everything compare.json holds."""

    schema_version: Literal["1.0"] = "1.0"
    basis: Basis
    differences: list[Difference]
    warnings: list[str]
    memorization: dict[str, dict[Arm, ComparedMemorization]] = Field(default_factory=dict)
    disclosure: dict[str, dict[str, ComparedDisclosure]] = Field(default_factory=dict)
    forgetting: Forgetting | None = None


class CertificateRow(Record):
    """One metric of one named patient at one tier (PHI)."""

    tier: str
    measure: str
    before: float | None
    after: float | None
    #: The level of the held-out patients of B: what 95 in 100 of them are at or below.
    level: float | None
    controls: int
    status: ForgettingVerdict
    reason: str | None = None


class PatientCertificate(Record):
    """One named patient (PHI)."""

    patient_id: str
    verdict: ForgettingVerdict
    leaked_before: bool
    #: Why it is not `forgotten`.
    reasons: list[str]
    measures: list[CertificateRow]


class Certificate(Record):
    """The deletion certificate by patient; PHI, for `evidence/` alone."""

    schema_version: Literal["1.0"] = "1.0"
    verdict: ForgettingVerdict
    collapsed: bool | None
    #: Share of the held-out patients themselves who would not pass the same rule, and how many there were.
    controls_above_level: Estimate
    health: list[HealthCheck]
    differences: list[Difference]
    patients: list[PatientCertificate]
