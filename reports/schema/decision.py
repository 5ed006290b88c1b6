"""Results records of the gate's decision: status, rules, limits (docs/policy.md)."""

from typing import Literal

from clinaudit.reports.schema.estimate import Estimate, Record

Status = Literal["pass", "fail", "incomplete", "inconclusive"]


class Limit(Record):
    """What a rule allows: at most `max`, at least `min`."""

    max: float | None = None
    min: float | None = None


class RuleOutcome(Record):
    """One rule of the policy, and how this run fared."""

    id: str
    #: In plain words, what was asked.
    question: str
    metric: str
    tier: str | None = None
    diagnosis: str | None = None
    limit: Limit
    status: Literal["pass", "fail", "inconclusive"]
    observed: Estimate
    reason: str


class Decision(Record):
    """What a policy decided: fail if any rule fails, else incomplete if work is missing, else inconclusive or pass."""

    status: Status
    policy: str
    reason: str
    rules: list[RuleOutcome]
