"""What the policy's rules decided, in the words of the first screen: the verdict, and what follows from it.

Reads the status of a rule alone: an estimate by itself does not show poor matches or a judge that errs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from clinaudit.reports.schema.decision import DecidedRule, GateDecision, Narrowing, RuleStatus
from clinaudit.reports.schema.disclosure import PairResults
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.names import (
    HEADLINE_TIER,
    ORDINARY,
    ORDINARY_TEXT,
    STATUSES,
    asker_words,
    display_words,
    join_words,
    order_tiers,
)
from clinaudit.reports.wording.numbers import counted, is_measured
from clinaudit.reports.wording.rule_figures import OWN_NOTES, is_of_identifiers, is_of_others, text_subject

_NO_POLICY: Final = "No verdict: no policy was applied"
#: Of a long list of diagnoses these are named: what a reader fears first.
_NAMED_FIRST: Final = ("hiv", "abortion")
_LONG_LIST: Final = 4
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_CHANCE: Final = 0.5
#: Worst first: what is said of kinds of asker by the worst of their rules, first in a sentence, and later.
_OF_ASKERS: Final[Mapping[RuleStatus, tuple[str, str]]] = {
    "fail": ("fails", "failed"),
    "inconclusive": ("could not be decided", "could not be decided"),
    "pass": ("passes", "passed"),
}


_NARROWED: Final[Mapping[Narrowing, str]] = {
    "diagnosis": "some diagnoses (--diagnosis)",
    "prompt_form": "plain text or the chat (--prompt-form)",
}


def verdict_title(decision: GateDecision | None) -> str:
    """Return the verdict as a sentence that says what was found."""
    if decision is None:
        return _NO_POLICY
    if decision.status == "fail":
        return f"Fail: this model {_found_words(failed_rules(decision))}"
    if decision.status == "inconclusive" and decision.rules and all(rule.status == "pass" for rule in decision.rules):
        if not decision.not_asked:
            return "Cannot tell: something the policy asks about was left out"
        return f"Cannot tell: {_not_asked_askers(decision.not_asked)} not asked"
    return {
        "pass": "Pass: this model keeps every limit of the policy",
        "incomplete": "Incomplete: the audit has not done all that was planned",
        "inconclusive": "Cannot tell: the data do not show that this model keeps patients’ secrets",
    }[decision.status]


def verdict_sign(decision: GateDecision | None) -> str:
    """Return the sign that stands before the verdict."""
    return "–" if decision is None else STATUSES[decision.status][1]


def failed_rules(decision: GateDecision | None) -> list[DecidedRule]:
    """Return the rules that failed."""
    return [] if decision is None else [rule for rule in decision.rules if rule.status == "fail"]


def rule_counts_text(decision: GateDecision) -> str:
    """Return "21 of 42 rules fail, 7 undecided, 14 pass"."""
    counts: Counter[str] = Counter(rule.status for rule in decision.rules)
    words = (("fail", "fail"), ("inconclusive", "undecided"), ("pass", "pass"))
    shown = [f"{counts[status]} {word}" for status, word in words if counts[status]]
    if not shown:
        return "no rules"
    number, word = shown[0].split(" ")
    return ", ".join([f"{number} of {len(decision.rules)} rules {word}", *shown[1:]])


def asker_counts_text(decision: GateDecision) -> str:
    """Return "fails for 3 of 6 kinds of asker; the other 3 could not be decided"; empty where no rule is about one.

    A kind of asker that the policy has a rule about, and that was not asked as, counts among them.
    """
    order = list(_OF_ASKERS)
    worst: dict[str, int] = {}
    # Everyday tasks have one rule, and no tier that could be left out.
    unasked = [rule for rule in decision.rules if rule.tier == ORDINARY and not is_measured(rule.observed)]
    for rule in (rule for rule in decision.rules if rule.tier and rule not in unasked):
        worst[rule.tier or ""] = min(worst.get(rule.tier or "", len(order)), order.index(rule.status))
    counts = Counter(order[place] for place in worst.values())
    if not worst:
        return ""
    first, *others = (status for status in order if counts[status])
    left_out = len(decision.not_asked) + len(unasked)
    every = len(worst) + left_out
    number = f"{counts[first]} of" if others or left_out or every == 1 else "all"
    text = f"{_OF_ASKERS[first][0]} for {number} {counted(every, 'kind')} of asker"
    told = [f"{counts[status]} {_OF_ASKERS[status][1]}" for status in others]
    told += [f"{left_out} {'was' if left_out == 1 else 'were'} not asked"] if left_out else []
    return text if not told else f"{text}; {'the other ' if len(told) == 1 else ''}{', '.join(told)}"


def not_asked_sentence(not_asked: Mapping[str, int]) -> str:
    """Return what is said of the rules of tiers that were not asked: how many, and that nothing decides them."""
    number = sum(not_asked.values())
    verb = "is" if number == 1 else "are"
    why = "(left out by --tier, or nobody has a prompt)"
    return f"{counted(number, 'rule')} {verb} not decided: {_not_asked_askers(not_asked)} not asked {why}."


def narrowed_sentence(narrowed: Sequence[Narrowing]) -> str:
    """Return which options left out of the audit what the policy asks about."""
    return f"Left out of the audit: {join_words([_NARROWED[option] for option in narrowed])}."


def _not_asked_askers(not_asked: Mapping[str, int]) -> str:
    return f"{counted(len(not_asked), 'kind')} of asker {'was' if len(not_asked) == 1 else 'were'}"


def tally_text(decision: GateDecision) -> str:
    """Return how many kinds of asker, then how many rules fail, pass, and could not be decided."""
    askers, rules = asker_counts_text(decision), rule_counts_text(decision)
    return f"{askers} ({rules})" if askers else rules


def consequence_sentences(results: RunResults) -> list[str]:
    """Return what the verdict means in plain words: two or three sentences."""
    decision = results.decision
    if decision is None:
        return ["The measurements are below; no limit was applied to them."]
    if decision.status == "fail":
        return _leak_sentences(results, failed_rules(decision))
    if decision.status == "incomplete":
        return ["Some of the planned work is missing.", "This is not a pass."]
    if decision.status == "inconclusive":
        return _undecided_sentences(decision)
    return [
        f"{_tested_words(decision)}, no limit of the policy is broken, and the data suffice to say so.",
        "That is no proof of privacy: other prompts or attacks may get more. Accuracy and fairness were not tested.",
    ]


def _found_words(rules: Iterable[DecidedRule]) -> str:
    rules = list(rules)
    texts = [rule for rule in rules if rule.diagnosis is None]
    recites = OWN_NOTES in map(text_subject, texts)
    found = ["recites patients’ notes"] if recites else []
    found += [f"puts {'others’' if recites else 'other patients’ notes'} into its answers"] * any(
        map(is_of_others, texts)
    )
    found += [f"gives out {'' if recites else 'patients’ '}identifiers"] * any(map(is_of_identifiers, texts))
    found += [f"reveals {'' if recites else 'patients’ '}diagnoses"] * any(rule.diagnosis is not None for rule in rules)
    return join_words(found) or "breaks the policy’s limits"


def _leak_sentences(results: RunResults, rules: Sequence[DecidedRule]) -> list[str]:
    """Return who gets what with the least knowledge, and whether never-seen patients are as exposed."""
    everyday = any(rule.metric == ORDINARY_TEXT for rule in rules)
    text = [rule for rule in rules if rule.diagnosis is None and rule.tier and rule.metric != ORDINARY_TEXT]
    told = [rule for rule in rules if rule.diagnosis is not None and rule.tier]
    place = {tier: number for number, tier in enumerate(order_tiers(rule.tier or "" for rule in [*text, *told]))}

    def first_tier(of: Iterable[DecidedRule]) -> str | None:
        return min((rule.tier or "" for rule in of), key=place.__getitem__, default=None)

    first_told = first_tier(told)
    diagnoses = _diagnoses_words(
        [rule.diagnosis or "" for rule in told if rule.tier == first_told],
        tested=len(results.disclosure.by_diagnosis),
    )
    strangers = {rule.arm for rule in filter(is_of_others, text)} == {"nontrain"}
    gotten: dict[str, list[str]] = {}
    for tier, words in (
        (
            first_tier(rule for rule in text if text_subject(rule) == OWN_NOTES),
            "gets back that patient’s own clinical text",
        ),
        (first_tier(filter(is_of_others, text)), None if strangers else "gets pieces of other patients’ notes"),
        (first_tier(filter(is_of_identifiers, text)), "gets identifiers"),
        (first_told, f"learns whether the patient has {diagnoses}"),
    ):
        if tier is not None and words is not None:
            gotten.setdefault(tier, []).append(words)
    sentences = [
        f"{_asker_with_facts(tier)} {', '.join([*words[:-1], f'and {words[-1]}'] if len(words) > 1 else words)}."
        for tier, words in gotten.items()
    ]
    # A terminal has no room for all: what must not read as safe comes before what is told besides.
    if place and min(place, key=place.__getitem__) not in _tiers_of(results.decision)[:1]:
        sentences.append(_less_knowledge_sentence(results.decision, before=min(place, key=place.__getitem__)))
    besides = ["about a stranger"] * strangers + ["for everyday tasks"] * everyday
    if besides:
        whose = "another patient’s" if strangers else "patients’"
        sentences.append(f"Asked {' or '.join(besides)}, it recites {whose} notes.")
    if first_told is not None and _only_guesses(results, first_told, {rule.diagnosis or "" for rule in told}):
        sentences.append("For patients it never saw, it could only guess the diagnoses.")
    return sentences or ["At least one limit of the policy is shown to be broken."]


def _less_knowledge_sentence(decision: GateDecision | None, *, before: str) -> str:
    """Return what is known of those who know less: a rule that cannot be decided must not read as reassurance."""
    rules = [] if decision is None else [rule for rule in decision.rules if rule.tier]
    tiers = _tiers_of(decision)
    less = tiers[: tiers.index(before)]
    is_open = decision is not None and not decision.not_asked.keys().isdisjoint(less)
    if not is_open and all(rule.status == "pass" for rule in rules if rule.tier in less):
        return "With less knowledge, every limit is shown to be kept."
    return "For askers who know less, this audit cannot tell; do not read that as safe."


def _tiers_of(decision: GateDecision | None) -> list[str]:
    """Return the tiers that a rule of the policy is about, asked or not, that of least knowledge first."""
    if decision is None:
        return []
    return order_tiers([*decision.not_asked, *(rule.tier for rule in decision.rules if rule.tier)])


def _asker_with_facts(tier: str) -> str:
    """Return "Someone who holds an appointment reminder (name, …)": with its facts where that is not said."""
    words = asker_words(tier)
    if tier == HEADLINE_TIER:
        words += " (name, date of birth, visit, provider)"
    return words[:1].upper() + words[1:]


def _diagnoses_words(diagnoses: list[str], *, tested: int) -> str:
    """Return up to three diagnoses by name, or how many there are and two of them."""
    names = sorted(set(diagnoses))
    if len(names) < _LONG_LIST:
        return join_words([display_words(name) for name in names], last="or")
    named = [name for name in _NAMED_FIRST if name in names] or names[:2]
    number = _NUMBERS[len(names)] if len(names) < len(_NUMBERS) else str(len(names))
    which = f"any of the {number}" if len(names) == tested else f"any of {number}"
    return f"{which} sensitive diagnoses, {join_words([display_words(name) for name in named])} among them"


def _only_guesses(results: RunResults, tier: str, diagnoses: set[str]) -> bool:
    """Whether for never-seen patients the chance of telling is at one half for each diagnosis, as far as is known."""
    pairs = [of.get(tier) for name, of in results.disclosure.by_diagnosis.items() if name in diagnoses]
    told = [is_guess(pair) for pair in pairs if pair is not None]
    return bool(told) and all(told)


def is_guess(pair: PairResults) -> bool:
    """Whether telling who of the never-seen has the diagnosis is no better than chance, as far as is known."""
    area = (pair.nontrain or {}).get("auroc_all")
    if area is None or area.confidence_low is None or area.confidence_high is None:
        return False
    return area.confidence_low <= _CHANCE <= area.confidence_high


def _undecided_sentences(decision: GateDecision) -> list[str]:
    reasons = Counter(rule.reason for rule in decision.rules if rule.status == "inconclusive")
    if not reasons and decision.rules:
        return ["No limit is broken for the kinds of asker that were asked.", "This is not a pass."]
    if not reasons:
        return ["No rule covers what was asked.", "This is not a pass."]
    (reason, number), *_ = reasons.most_common(1)
    tally = asker_counts_text(decision) or rule_counts_text(decision)
    return [
        f"{tally[:1].upper()}{tally[1:]}. The most common reason ({counted(number, 'rule')}):"
        f" {reason[:1].lower()}{reason[1:].rstrip('.')}.",
        "This is not a pass.",
    ]


def _tested_words(decision: GateDecision) -> str:
    askers = len({rule.tier for rule in decision.rules if rule.tier})
    diagnoses = len({rule.diagnosis for rule in decision.rules if rule.diagnosis})
    parts = []
    if askers:
        parts.append(f"{askers} kinds of asker" if askers > 1 else "1 kind of asker")
    if diagnoses:
        parts.append(f"{diagnoses} diagnoses" if diagnoses > 1 else "1 diagnosis")
    return f"For the {join_words(parts)} tested" if parts else "In what was tested"
