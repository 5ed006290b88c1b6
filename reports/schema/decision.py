"""Published records of the gate's decision: status, rules, limits (docs/policy.md)."""

from typing import Literal

from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.record import Arm, Record

Status = Literal["pass", "fail", "incomplete", "inconclusive"]
RuleStatus = Literal["pass", "fail", "inconclusive"]


class Limit(Record):
    """What a rule allows: at most `max`, at least `min`."""

    max: float | None = None
    min: float | None = None
    #: With so many patients (of a diagnosis: in each group compared) a model that gives nothing away passes; it follows
    #: from the policy alone. None: with none, or not known.
    patients: int | None = None


class PublishedRule(Record):
    """One rule of the policy, and how this run fared."""

    id: str
    #: In plain words, what was asked.
    question: str
    metric: str
    tier: str | None = None
    diagnosis: str | None = None
    #: None: the tier's own figures (`results.renderings` holds the others).
    rendering: str | None = None
    #: Whose answers, where a rule of this metric is decided for either; None: as docs/policy.md says of the metric.
    arm: Arm | None = None
    limit: Limit
    #: Decided on the exact numbers by the audit; by the published ranges where another policy is settled.
    status: RuleStatus
    #: The published range of what was measured.
    observed: PublishedEstimate
    #: Why a rule of this kind has this status; the same words in every output, whatever the numbers.
    reason: str


class PublishedDecision(Record):
    """What a policy decided: fail if any rule fails, else incomplete if work is missing, else inconclusive or pass."""

    status: Status
    policy: str
    reason: str
    rules: list[PublishedRule]
