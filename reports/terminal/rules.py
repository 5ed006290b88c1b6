"""A verdict as plain text, a line a rule, for `clinaudit gate`, and how well a judge reads. At most 100 columns.

Owns what stands in which column, and the sentence that says which figures were read.
"""

from itertools import groupby
from typing import Final, Literal

from clinaudit.reports.schema.decision import DecidedRule, GateDecision, RuleStatus
from clinaudit.reports.schema.judge import JudgeResults
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.judge import judge_caveat_sentences, judge_matrix_table, judge_metrics_table
from clinaudit.reports.terminal.layout import align_columns, paint, wrap, wrap_rows
from clinaudit.reports.wording.names import STATUSES, is_rate, short_asker
from clinaudit.reports.wording.rule_figures import is_of_identifiers, limit_text, observed_text, subject_title
from clinaudit.reports.wording.verdict import asker_counts_text

#: Which figures decided: the exact ones when the audit was made, the published ranges now, or the exact ones now.
Basis = Literal["recorded", "published", "exact"]
BASES: Final[dict[Basis, str]] = {
    "recorded": (
        "As the audit decided: on the published ranges, which are observed here; diagnoses by a test on exact numbers."
    ),
    "published": (
        "Decided on the published ranges (results.json): a rule on a diagnosis is settled only where all numbers "
        "within them decide it alike."
    ),
    "exact": (
        "Diagnoses by a test on the exact numbers (evidence/results.json), which are observed here; all else on the "
        "published ranges. They are PHI: do not pass this on."
    ),
}
#: Beside a figure of identifiers, which is not the one that `show` and the report's headline give.
_LESS_CHANCE: Final = "*"
_LESS_CHANCE_NOTE: Final = (
    f"{_LESS_CHANCE} Less what chance gives, where that is known. `clinaudit show` and the report's charts include it."
)
_PER_1000: Final = " per 1,000"
_ORDER: Final[tuple[RuleStatus, ...]] = ("fail", "inconclusive", "pass")
#: Column that goes on in a second line where one would be too long: what a rule is about.
_WRAPPED: Final = 2


def rules_text(decision: GateDecision, *, basis: Basis, colour: bool = False) -> str:
    """Return the verdict and a line a rule under its reason, failed ones first."""
    word = paint(decision.status, decision.status, colour=colour)
    askers = asker_counts_text(decision)
    found = f"{askers}. {decision.reason}" if askers else decision.reason
    verdict = wrap(f"verdict: {decision.status} (policy {decision.policy}): {found}", indent="  ")
    lines = [verdict.replace(decision.status, word, 1), wrap(BASES[basis], indent="  ")]
    rules = sorted(decision.rules, key=lambda rule: (_ORDER.index(rule.status), _first_place(decision, rule)))
    if rules:
        lines += ["", *_table(rules, basis=basis, colour=colour)]
    notes = [_LESS_CHANCE_NOTE] if any(map(is_of_identifiers, rules)) else []
    if notes:
        lines += ["", *(wrap(note, indent="  ") for note in notes)]
    return "\n".join(lines)


def _first_place(decision: GateDecision, rule: DecidedRule) -> int:
    """Return where the first rule with the same status and reason stands: what has one reason stays together."""
    return next(
        place
        for place, other in enumerate(decision.rules)
        if (other.status, other.reason) == (rule.status, rule.reason)
    )


def _table(rules: list[DecidedRule], *, basis: Basis, colour: bool) -> list[str]:
    heads = ["Status", "Known to who asks", "About", "Observed", "Limit"]
    cells = [
        [
            rule.status,
            "any" if rule.tier is None else short_asker(rule.tier),
            _subject(rule),
            *(_figure(text, rule) for text in (observed_text(rule, interval=basis == "exact"), limit_text(rule))),
        ]
        for rule in rules
    ]
    (head,), *aligned = wrap_rows([heads, *cells], wrapped=_WRAPPED)
    lines = [head, "-" * len(head)]
    together = zip(rules, aligned, strict=True)
    for (status, reason), group in groupby(together, key=lambda item: (item[0].status, item[0].reason)):
        members = [own for _, own in group]
        count = f"{len(members)} {'rule' if len(members) == 1 else 'rules'}"
        if len(lines) > 2:
            lines.append("")
        lines.append(wrap(f"{STATUSES[status][1]} {count}: {reason}", indent="  "))
        for first, *more in members:
            lines += [paint(first[: len(status)], status, colour=colour) + first[len(status) :], *more]
    return lines


def _subject(rule: DecidedRule) -> str:
    """Return what a rule is about, marked where its figure is less chance, with the unit of a rate."""
    of_one = rule.model_copy(update={"arm": None, "rendering": None})
    mark = _LESS_CHANCE if is_of_identifiers(rule) else ""
    unit = _PER_1000 if is_rate(rule.metric) else ""
    return subject_title(rule).replace(subject_title(of_one), f"{subject_title(of_one)}{mark}{unit}", 1)


def _figure(text: str, rule: DecidedRule) -> str:
    """Return a figure without the unit that `_subject` gives."""
    return text.removesuffix(_PER_1000) if is_rate(rule.metric) else text


def judge_text(quality: JudgeResults) -> str:
    """Return the judge's confusion matrix and metrics, and what they are worth."""
    results = RunResults(judge_quality=quality)
    matrix, metrics = judge_matrix_table(results), judge_metrics_table(results)
    lines = "\n".join(wrap(f"{title}: {value}", indent="  ") for title, value in metrics.rows)
    caveat = wrap(judge_caveat_sentences(quality), indent="")
    table = align_columns([matrix.columns, *matrix.rows])
    return f"{matrix.caption}\n\n{table}\n\n{metrics.caption}\n\n{lines}\n\n{caveat}\n"
