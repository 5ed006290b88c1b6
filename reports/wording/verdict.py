"""What the policy's rules decided, in sentences for the summary: tier by tier, and for the sensitive diagnoses.

Owns their wording. Reads the status and the reason of a rule alone: an estimate or a p-value by itself does not show
poor matches or a judge that errs. Knows nothing of how a rule is decided.
"""

from collections.abc import Mapping, Sequence

from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.decision import Decision, RuleOutcome
from clinaudit.reports.wording.names import display_words, join_words, tier_number

#: A status where every rule of a tier has it, and where only some have.
_WORDS = {
    "fail": ("every rule failed at {}", "{} of {} rules failed at {}"),
    "inconclusive": ("no rule could be decided at {}", "{} of {} rules could not be decided at {}"),
    "pass": ("every rule passed at {}", "{} of {} rules passed at {}"),
}


def tier_sentences(decision: Decision | None) -> str:
    """Say which tiers failed, could not be decided, or passed; empty where no rule is about a tier."""
    by_tier: dict[str, list[RuleOutcome]] = {}
    for rule in () if decision is None else decision.rules:
        if rule.tier is not None:
            by_tier.setdefault(rule.tier, []).append(rule)
    if not by_tier:
        return ""
    sentences = [
        text + _reason_of(status, by_tier)
        for status, words in _WORDS.items()
        if (text := _place(status, words, by_tier))
    ]
    unlimited = [tier.id for tier in TIERS if tier.id not in by_tier]
    if unlimited:
        sentences.append(f"the policy has no rule for {_name_tiers(unlimited)}")
    first, *others = sentences
    text = ". ".join(
        [f"By tier of access (“Who could ask”): {first}", *(other[:1].upper() + other[1:] for other in others)]
    )
    return f"{text}."


def _place(status: str, words: tuple[str, str], by_tier: Mapping[str, Sequence[RuleOutcome]]) -> str:
    """Return at which tiers all rules have the status, and at which some have it."""
    counts = {tier: sum(rule.status == status for rule in rules) for tier, rules in by_tier.items()}
    whole = [tier for tier, number in counts.items() if number == len(by_tier[tier])]
    parts = [words[0].format(_name_tiers(whole))] if whole else []
    parts += [
        words[1].format(number, len(by_tier[tier]), _name_tiers([tier]))
        for tier, number in counts.items()
        if 0 < number < len(by_tier[tier])
    ]
    return ", ".join(parts)


def _reason_of(status: str, by_tier: Mapping[str, Sequence[RuleOutcome]]) -> str:
    """Return why rules could not be decided: their one reason, or where several stand."""
    reasons = {rule.reason for rules in by_tier.values() for rule in rules if rule.status == status}
    if status != "inconclusive":
        return ""
    return f": {_in_sentence(reasons.pop())}" if len(reasons) == 1 else " (why: “The policy, rule by rule”)"


def _name_tiers(tiers: Sequence[str]) -> str:
    """Return "tier 3", or "tiers 1, 2 and 4 to 6"; an id that is not one of the six as it stands."""
    order = [tier.id for tier in TIERS]
    runs: list[list[str]] = []
    for tier in sorted(tiers, key=lambda tier: order.index(tier) if tier in order else len(order)):
        follows = bool(runs) and tier in order and order.index(tier) and order[order.index(tier) - 1] == runs[-1][-1]
        if follows:
            runs[-1].append(tier)
        else:
            runs.append([tier])
    names: list[str] = []
    for run in runs:
        numbers = [tier_number(tier) for tier in run]
        names += [f"{numbers[0]} to {numbers[-1]}"] if len(run) > 2 else numbers
    return f"{'tier' if len(tiers) == 1 else 'tiers'} {join_words(names)}"


def diagnosis_sentence(decision: Decision | None, *, tier: str) -> str:
    """Say of which diagnoses the model gives away more where it was trained on the patient, by the rules of a tier."""
    rules = {
        display_words(rule.diagnosis): rule
        for rule in (() if decision is None else decision.rules)
        if rule.diagnosis is not None and rule.tier == tier
    }
    if not rules:
        return (
            "No rule of a policy decided whether training gives away sensitive diagnoses at this level of access; what"
            " was measured stands under “Sensitive diagnoses”."
        )
    more = [diagnosis for diagnosis, rule in rules.items() if rule.status == "fail"]
    kept = [diagnosis for diagnosis, rule in rules.items() if rule.status == "pass"]
    undecided: dict[str, list[str]] = {}
    for diagnosis, rule in rules.items():
        if rule.status == "inconclusive":
            undecided.setdefault(rule.reason, []).append(diagnosis)
    sentences = []
    if more:
        sentences.append(
            "At this level of access the model gives away more about these diagnoses of patients it was trained on than"
            f" of patients it was not, matched by age, sex and number of notes alone: {join_words(more)} (adjusted"
            " one-sided tests)."
        )
    if kept:
        sentences.append(
            f"For {join_words(kept)} this audit does not show that it gives away more about patients it was trained on"
            " at this level of access, which is not proof of absence."
        )
    for reason, diagnoses in undecided.items():
        sentences.append(
            f"For {join_words(diagnoses)} it cannot be told whether the model gives away more about patients it was"
            f" trained on at this level of access: {_in_sentence(reason)}."
        )
    return " ".join(sentences)


def _in_sentence(reason: str) -> str:
    return f"{reason[:1].lower()}{reason[1:].rstrip('.')}"
