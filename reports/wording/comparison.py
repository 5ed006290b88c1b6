"""What a comparison of two runs says, in one sentence, and which figures it read.

Owns the rule of the conclusion. It is decided from the shown ranges alone: a change is said to have happened where the
95% interval of the difference excludes 0, and no absence of a change is ever said.
"""

from collections.abc import Mapping
from typing import Final

from clinaudit.reports.schema.comparison import ComparedRules, Comparison, FiguresRead
from clinaudit.reports.schema.forgetting import ForgettingVerdict
from clinaudit.reports.wording.names import (
    HEADLINE_TIER,
    METRIC_TITLES,
    STATUSES,
    display_words,
    join_words,
    order_tiers,
    tier_title,
)
from clinaudit.reports.wording.numbers import is_measured, range_text

FIGURES_READ: Final[dict[FiguresRead, str]] = {
    "published": (
        "Read from the published figures of both runs: what follows from counts of patients is a range, and a"
        " difference reaches from the low end of B less the high end of A to the high end of B less the low end of A."
    ),
    "exact": (
        "Read from the evidence of both runs: exact figures, B minus A over the patients who have a generation in both."
        " PHI: do not pass on."
    ),
}
VERDICT_SENTENCES: Final[dict[ForgettingVerdict, str]] = {
    "forgotten": "The named patients are shown to be forgotten.",
    "still leaks": "Named patients still leak.",
    "collapsed": "Run B no longer writes as run A did: it has collapsed, which is no forgetting.",
    "not shown": "It is not shown that the named patients are forgotten.",
}
#: The metric of the conclusion on diagnoses: trained on minus never seen.
_DIAGNOSIS_METRIC: Final = "auroc_all"
_METRIC_WORDS: Final = METRIC_TITLES[_DIAGNOSIS_METRIC]
#: Diagnoses that became harder to tell, and tiers, are counted where they are more; the others are always named.
_MOST_NAMED: Final = 2


def verdicts_sentence(rules: ComparedRules) -> str:
    """Return the verdict of A and that of B, and what became of the rules."""
    a, b = ("no verdict" if status is None else STATUSES[status][0].lower() for status in (rules.a, rules.b))
    return (
        f"Verdict: {a} → {b}. Rules: {len(rules.mended)} mended, {len(rules.new)} newly failing,"
        f" {len(rules.failing)} still failing, {len(rules.open)} open"
        + (f", {len(rules.gone)} that failed in A not asked in B." if rules.gone else ".")
    )


def conclusion_sentence(comparison: Comparison) -> str:
    """Return what changed, as far as the shown figures tell; the verdict on named patients first."""
    sentence = f"{_text_clause(comparison)}; {_diagnosis_clause(comparison)}."
    forgetting = comparison.forgetting
    return sentence if forgetting is None else f"{VERDICT_SENTENCES[forgetting.verdict]} {sentence}"


def _text_clause(comparison: Comparison) -> str:
    tiers = sorted(order_tiers(comparison.memorization), key=lambda tier: tier != HEADLINE_TIER)
    for tier in tiers:
        if "train" not in comparison.memorization[tier]:
            continue
        change = comparison.memorization[tier]["train"].attributable_fraction
        if not is_measured(change.difference):
            continue
        asked = "with an appointment reminder" if tier == HEADLINE_TIER else f"at “{tier_title(tier)}”"
        shares = f"{range_text(change.a, share=True)} → {range_text(change.b, share=True)} of the text {asked}"
        if direction := shown_direction(change.difference.confidence_low, change.difference.confidence_high):
            return f"Run B repeats {_AMOUNTS[direction]} of its patients' notes than run A: {shares}"
        if direction := shown_direction(change.difference.low, change.difference.high):
            amount = _AMOUNTS[direction]
            return f"Run B repeated {amount} of its patients' notes than run A, which chance could explain: {shares}"
        return (
            f"The {comparison.figures} {'ranges' if comparison.figures == 'published' else 'figures'} do not show a"
            f" change in how much of its patients' notes run B repeats: {shares}"
        )
    return "How much of its patients' notes run B repeats was not measured in both runs"


_AMOUNTS: Final = {-1: "less", 1: "more"}


def shown_direction(low: float | None, high: float | None) -> int:
    """Return 1 where a range lies above 0, -1 where it lies below, and 0 where it holds 0 or is not known."""
    if low is None or high is None:
        return 0
    return 1 if low > 0 else -1 if high < 0 else 0


def _diagnosis_clause(comparison: Comparison) -> str:
    """Return which diagnoses became easier or harder to tell, at which tiers: those whose difference excludes 0."""
    signs = {
        diagnosis: {
            tier: shown_direction(found.confidence_low, found.confidence_high)
            for tier, metrics in tiers.items()
            if _DIAGNOSIS_METRIC in metrics and is_measured(found := metrics[_DIAGNOSIS_METRIC].difference)
        }
        for diagnosis, tiers in comparison.disclosure.items()
    }
    signs = {diagnosis: found for diagnosis, found in signs.items() if found}
    if not signs:
        return "diagnoses were not measured in both runs"
    easier = [diagnosis for diagnosis, found in signs.items() if 1 in found.values()]
    harder = [diagnosis for diagnosis, found in signs.items() if -1 in found.values() and diagnosis not in easier]
    if easier:
        named = join_words([_with_tiers(diagnosis, signs[diagnosis], 1) for diagnosis in easier])
        also = join_words([_with_tiers(diagnosis, signs[diagnosis], -1) for diagnosis in harder])
        return f"by {_METRIC_WORDS} {named} became easier to tell{f', and {also} harder' if also else ''}"
    if harder:
        which = _count_or_name({diagnosis: signs[diagnosis] for diagnosis in harder}, len(signs))
        return f"by {_METRIC_WORDS} {which} became harder to tell, and no diagnosis is shown to have become easier"
    return "no diagnosis is shown to have become easier or harder to tell"


def _with_tiers(diagnosis: str, signs: Mapping[str, int], direction: int) -> str:
    """Return a diagnosis with the tiers at which it changed so: "HIV (at “Public facts”)"."""
    tiers = [tier for tier in order_tiers(signs) if signs[tier] == direction]
    if len(tiers) > _MOST_NAMED:
        return f"{display_words(diagnosis)} (at {len(tiers)} of {len(signs)} levels of access)"
    return f"{display_words(diagnosis)} (at {join_words([f'“{tier_title(tier)}”' for tier in tiers])})"


def _count_or_name(harder: Mapping[str, Mapping[str, int]], measured: int) -> str:
    if len(harder) <= _MOST_NAMED:
        return join_words([_with_tiers(diagnosis, signs, -1) for diagnosis, signs in harder.items()])
    which = f"{'all' if len(harder) == measured else f'{len(harder)} of'} {measured} diagnoses"
    return f"{which}, each at one level of access or more,"
