"""Records of the deletion certificate by patient (PHI), for `evidence/` and its page there (docs/comparing-runs.md).

Owns their shape. Nothing that is published is made of them.
"""

from typing import Literal

from clinaudit.reports.schema.comparison import Difference, ForgettingVerdict, HealthCheck
from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.record import Record


class CertificateRow(Record):
    """One metric of one named patient at one tier (PHI)."""

    tier: str
    measure: str
    before: float | None
    after: float | None
    #: The level of the patients never seen, in B: what 95 in 100 of them are at or below.
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

    schema_version: Literal["2.0"] = "2.0"
    verdict: ForgettingVerdict
    collapsed: bool | None
    #: Share of the patients never seen who would not pass the same rule; exact.
    controls_above_level: PublishedEstimate
    health: list[HealthCheck]
    differences: list[Difference]
    patients: list[PatientCertificate]
