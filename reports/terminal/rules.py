"""A verdict as plain text, rule by rule, for `clinaudit gate`. Knows nothing of how a rule is decided."""

from typing import Final

from clinaudit.reports.schema.decision import Decision, Limit, Status
from clinaudit.reports.terminal.layout import paint
from clinaudit.reports.wording.escaped_text import harmless_text

_ORDER: Final[tuple[Status, ...]] = ("fail", "inconclusive", "pass")


def rules_text(decision: Decision, *, colour: bool = False) -> str:
    """Return the verdict and a line a rule, failed ones first."""
    word = paint(decision.status, decision.status, colour=colour)
    lines = [f"verdict: {word} {harmless_text(f'(policy {decision.policy}): {decision.reason}')}"]
    for status in _ORDER:
        for rule in decision.rules:
            if rule.status == status:
                word = paint(f"{status:12}", status, colour=colour)
                lines.append(f"  {word} {harmless_text(f'{rule.id}: {_limit(rule.limit)}; {rule.reason}')}")
    return "\n".join(lines)


def _limit(limit: Limit) -> str:
    parts = [
        f"{name} {value:g}" for name, value in (("at most", limit.max), ("at least", limit.min)) if value is not None
    ]
    return " and ".join(parts)
