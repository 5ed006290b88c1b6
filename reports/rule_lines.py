"""A verdict as plain text, rule by rule, for `clinaudit gate`. Knows nothing of how a rule is judged."""

from clinaudit.reports.results import Decision, Limit

_ORDER = ("fail", "inconclusive", "pass")


def rule_lines(decision: Decision) -> str:
    """Return the verdict and a line a rule, failed ones first."""
    lines = [f"verdict: {decision.status} (policy {decision.policy}): {decision.reason}"]
    for status in _ORDER:
        for rule in decision.rules:
            if rule.status == status:
                lines.append(f"  {status:12} {rule.id}: {_limit(rule.limit)}; {rule.reason}")
    return "\n".join(lines)


def _limit(limit: Limit) -> str:
    parts = [
        f"{name} {value:g}" for name, value in (("at most", limit.max), ("at least", limit.min)) if value is not None
    ]
    return " and ".join(parts)
