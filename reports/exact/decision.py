"""Results records of the gate's decision: status, rules, limits (docs/policy.md)."""

from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.schema.decision import Limit, RuleStatus, Status
from clinaudit.reports.schema.record import Arm, Record


class RuleOutcome(Record):
    """One rule of the policy, and how this run fared."""

    id: str
    #: In plain words, what was asked.
    question: str
    metric: str
    tier: str | None = None
    diagnosis: str | None = None
    #: None: the tier's own figures.
    rendering: str | None = None
    #: Whose answers, where a rule of this metric is decided for either.
    arm: Arm | None = None
    limit: Limit
    status: RuleStatus
    observed: Estimate
    reason: str


class Decision(Record):
    """What a policy decided: fail if any rule fails, else incomplete if work is missing, else inconclusive or pass."""

    status: Status
    policy: str
    reason: str
    rules: list[RuleOutcome]
