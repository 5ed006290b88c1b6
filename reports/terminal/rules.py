"""A verdict as plain text, a line a rule, for `clinaudit gate`. At most 100 columns.

Owns what stands in which column, and the sentence that says which figures were read. Knows nothing of how a rule is
decided.
"""

from itertools import groupby
from typing import Final, Literal

from clinaudit.reports.schema.decision import PublishedDecision, PublishedRule, RuleStatus
from clinaudit.reports.terminal.layout import align_rows, paint, wrap
from clinaudit.reports.wording.names import STATUSES, tier_title
from clinaudit.reports.wording.numbers import counted
from clinaudit.reports.wording.rule_figures import limit_text, observed_text, subject_title

#: Which figures decided: the exact ones when the audit was made, the published ranges now, or the exact ones now.
Basis = Literal["recorded", "published", "exact"]
BASES: Final[dict[Basis, str]] = {
    "recorded": "As the audit decided, on the exact numbers; observed are the published ranges, which are wider.",
    "published": (
        "Decided from the published ranges (results.json): a rule is settled only where all numbers within them decide "
        "it alike."
    ),
    "exact": "Decided on the exact numbers (evidence/results.json). They are PHI: do not pass this on.",
}
_RANGES_NOTE: Final = "Ranges: what the published ranges alone settle: ✓ pass, ✗ fail, ? open."
_ORDER: Final[tuple[RuleStatus, ...]] = ("fail", "inconclusive", "pass")
#: Column that is cut where a line would be too long: the tier. A subject ends in what tells two rules of a tier apart.
_CUT: Final = (1,)


def rules_text(
    decision: PublishedDecision, *, basis: Basis, settled: PublishedDecision | None = None, colour: bool = False
) -> str:
    """Return the verdict and a line a rule under its reason, failed ones first.

    `settled`: what the published ranges settle, to be printed beside the verdict.
    """
    word = paint(decision.status, decision.status, colour=colour)
    verdict = wrap(f"verdict: {decision.status} (policy {decision.policy}): {decision.reason}", indent="  ")
    lines = [verdict.replace(decision.status, word, 1), wrap(BASES[basis], indent="  ")]
    rules = sorted(decision.rules, key=lambda rule: (_ORDER.index(rule.status), _first_place(decision, rule)))
    if rules:
        lines += ["", *_table(rules, basis=basis, settled=settled, colour=colour)]
    if settled is not None:
        lines += ["", _RANGES_NOTE]
    return "\n".join(lines)


def _first_place(decision: PublishedDecision, rule: PublishedRule) -> int:
    """Return where the first rule with the same status and reason stands: what has one reason stays together."""
    return next(
        place
        for place, other in enumerate(decision.rules)
        if (other.status, other.reason) == (rule.status, rule.reason)
    )


def _table(rules: list[PublishedRule], *, basis: Basis, settled: PublishedDecision | None, colour: bool) -> list[str]:
    signs = {rule.id: STATUSES[rule.status][1] for rule in (() if settled is None else settled.rules)}
    heads = ["Status", "Known to who asks", "About", "Observed", "Limit", *(["Ranges"] if settled is not None else [])]
    cells = [
        [
            rule.status,
            "any" if rule.tier is None else tier_title(rule.tier),
            subject_title(rule),
            observed_text(rule, interval=basis == "exact"),
            limit_text(rule),
            *([signs.get(rule.id, "?")] if settled is not None else []),
        ]
        for rule in rules
    ]
    head, *aligned = align_rows([heads, *cells], cut=_CUT)
    lines = [head, "-" * len(head)]
    together = zip(rules, aligned, strict=True)
    for (status, reason), group in groupby(together, key=lambda item: (item[0].status, item[0].reason)):
        members = [line for _, line in group]
        count = counted(len(members), "rule")
        if len(lines) > 2:
            lines.append("")
        lines.append(wrap(f"{STATUSES[status][1]} {count}: {reason}", indent="  "))
        lines += [paint(line[: len(status)], status, colour=colour) + line[len(status) :] for line in members]
    return lines
