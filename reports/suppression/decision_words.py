"""A verdict as it may be published: its words, without what was observed.

Knows nothing of how a verdict comes about.
"""

from clinaudit.reports.exact.decision import Decision
from clinaudit.reports.schema.decision import PublishedRule
from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.suppression.coarse_table import CoarseDecision


def decision_words(decision: Decision) -> CoarseDecision:
    """Return a verdict without what was observed."""
    return CoarseDecision(
        status=decision.status,
        policy=decision.policy,
        reason=decision.reason,
        rules=tuple(
            PublishedRule(
                id=rule.id,
                question=rule.question,
                metric=rule.metric,
                tier=rule.tier,
                diagnosis=rule.diagnosis,
                rendering=rule.rendering,
                arm=rule.arm,
                limit=rule.limit,
                status=rule.status,
                observed=PublishedEstimate(reason="not published"),
                reason=rule.reason,
            )
            for rule in decision.rules
        ),
    )
