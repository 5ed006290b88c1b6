"""Decisions of planted rules."""

from clinaudit.reports.schema.decision import Decision, Limit, RuleOutcome, Status
from clinaudit.reports.schema.estimate import Estimate

SHORT = "More than 10% of the texts are too short; no rule passes."


def rule(tier: str | None, status: str, reason: str = SHORT, **changes: object) -> RuleOutcome:
    fields = {
        "id": "memorization/hit_rate",
        "question": "?",
        "metric": "hit_rate",
        "tier": tier,
        "limit": Limit(max=0.05),
        "status": status,
        "observed": Estimate(value=0.1, low=0.0, high=0.2),
        "reason": reason,
    }
    return RuleOutcome.model_validate({**fields, **changes})


def decision(*rules: RuleOutcome, status: Status = "fail") -> Decision:
    return Decision(status=status, policy="default", reason="", rules=list(rules))
