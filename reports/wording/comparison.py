"""What a comparison of two runs says, in one sentence, and which figures it read.

Owns the rule of the conclusion. It is decided from the shown figures alone: a change is said to have happened where the
95% interval of the difference excludes 0, and no absence of a change is ever said.
"""

from collections.abc import Mapping
from typing import Final

from clinaudit.reports.schema.comparison import Comparison, FiguresRead, MovedRules
from clinaudit.reports.schema.forgetting import ForgettingVerdict
from clinaudit.reports.wording.figures import row_text
from clinaudit.reports.wording.names import (
    HEADLINE_TIER,
    STATUSES,
    display_words,
    join_words,
    order_tiers,
    tier_title,
)

FIGURES_READ: Final[dict[FiguresRead, str]] = {
    "published": (
        "Read from the published tables of both runs. A difference has the interval of independent patients; where both"
        " runs asked the same patients it is wider than it need be."
    ),
    "exact": (
        "Read from the evidence of both runs: exact figures. Own and others' text and diagnoses are compared over the"
        " patients whom both runs asked, all else as if the patients were others. PHI: do not pass on."
    ),
}
VERDICT_SENTENCES: Final[dict[ForgettingVerdict, str]] = {
    "never trained on": "Run B's model was never trained on the named patients, by its record, and none stands out.",
    "forgotten": "The named patients are shown to be forgotten.",
    "still leaks": "Named patients still leak.",
    "broken": "Run B no longer writes as run A did: it is broken, which is no forgetting.",
    "not shown": "It is not shown that the named patients are forgotten.",
}
_AMOUNTS: Final = {-1: "less", 1: "more"}
#: Diagnoses that became harder to tell, and tiers, are counted where they are more; the others are always named.
_MOST_NAMED: Final = 2


def verdicts_sentence(rules: MovedRules) -> str:
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
    measured = comparison.changes_of("attributable_fraction", arm="train")
    own = [change for change in measured if change.direction is not None]
    if not own:
        return "How much of its patients' notes run B repeats was not measured in both runs"
    tiers = order_tiers(change.tier for change in own)
    first = min(own, key=lambda change: (change.form != "text", change.tier != HEADLINE_TIER, tiers.index(change.tier)))
    asked = "with an appointment reminder" if first.tier == HEADLINE_TIER else f"at “{tier_title(first.tier)}”"
    a, b = (row_text(first.row(side), interval=False) for side in ("a", "b"))
    shares = f"{a} → {b} of the text {asked}"
    if first.direction:
        return f"Run B repeats {_AMOUNTS[first.direction]} of its patients' notes than run A: {shares}"
    return (
        f"The {comparison.figures} figures do not show a change in how much of its patients' notes run B repeats:"
        f" {shares}"
    )


def _diagnosis_clause(comparison: Comparison) -> str:
    """Return which diagnoses became easier or harder to tell, at which tiers: those whose difference excludes 0."""
    signs: dict[str, dict[str, int]] = {}
    for change in comparison.changes_of("auroc_all"):
        if change.direction is not None:
            known = signs.setdefault(change.diagnosis, {})
            # The worst of a tier's forms: easier to tell, then unchanged as far as is shown.
            known[change.tier] = max(known.get(change.tier, -1), change.direction)
    if not signs:
        return "diagnoses were not measured in both runs"
    easier = [diagnosis for diagnosis, found in signs.items() if 1 in found.values()]
    harder = [diagnosis for diagnosis, found in signs.items() if -1 in found.values() and diagnosis not in easier]
    if easier:
        named = join_words([_with_tiers(diagnosis, signs[diagnosis], 1) for diagnosis in easier])
        also = join_words([_with_tiers(diagnosis, signs[diagnosis], -1) for diagnosis in harder])
        return f"by AUROC over all patients {named} became easier to tell{f', and {also} harder' if also else ''}"
    if harder:
        which = _count_or_name({diagnosis: signs[diagnosis] for diagnosis in harder}, len(signs))
        return (
            f"by AUROC over all patients {which} became harder to tell, and no diagnosis is shown to have become easier"
        )
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
