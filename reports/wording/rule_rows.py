"""A rule of the policy in a reader's words, and the rows of the table of estimates that it is about.

Owns the kinds of leak, in their order, and what a rule is called. The gate owns what is decided of it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from clinaudit.reports.estimates.frame import METRICS, PLACE, Estimates, Row, RuleKind
from clinaudit.reports.schema.run_results import Rule, RuleStatus
from clinaudit.reports.wording.names import ARM_WORDS, display_title, order_tiers, tier_title
from clinaudit.reports.wording.numbers import number_text, percent_text

#: Kinds of leak.
KINDS: Final[dict[RuleKind, str]] = {
    "own": "Own text",
    "others": "Others’ text",
    "identifiers": "Identifiers",
    "queries": "Asked often",
    "diagnoses": "Diagnoses",
    "everyday": "Everyday tasks",
    "membership": "Membership",
}
#: Worst first.
STATUS_ORDER: Final[tuple[RuleStatus, ...]] = ("fail", "inconclusive", "pass")
FORM_WORDS: Final = {"chat": "in a chat", "drawn": "drawn"}
SHORT_ARMS: Final = {**ARM_WORDS, "control": "control model"}


class RuleRows(NamedTuple):
    """What a rule read: its figure, and what is taken off as chance."""

    figure: Row | None
    #: In a pool of as many patients as chance is measured in.
    pooled: Row | None = None
    chance: Row | None = None
    #: The figure less chance.
    beyond: Row | None = None


def rule_rows(rule: Rule, estimates: Estimates) -> RuleRows:
    """Return the rows that a rule is about; None for what the table does not hold."""
    place = {column: str(getattr(rule, column)) for column in PLACE[1:]}
    figure = estimates.find(rule.metric, **place)
    if not rule.chance_metric:
        return RuleRows(figure)
    chance = estimates.find(rule.chance_metric, **{**place, "arm": rule.chance_arm})
    if is_of_pools(rule):
        return RuleRows(figure, estimates.find(METRICS[rule.metric].pools[0], **place), chance)
    beyond = estimates.find(rule.metric, **{**place, "arm": f"{rule.arm}-{rule.chance_arm}"})
    return RuleRows(figure, chance=chance, beyond=beyond)


def is_of_pools(rule: Rule) -> bool:
    """Whether what was taken off as chance is what the same answers hold of a pool of patients never seen."""
    return rule.metric in METRICS and rule.chance_metric in METRICS[rule.metric].pools


def subject_words(rule: Rule) -> str:
    """Return what a rule is about: "Own text, edited", "HIV", "Within 1,000 queries"."""
    if rule.diagnosis:
        return display_title(rule.diagnosis)
    if rule.by == "queries" and rule.part.isdigit():
        return f"Within {int(rule.part):,} queries"
    title = METRICS[rule.metric].title if rule.metric in METRICS else rule.metric
    return f"{title}, asked about strangers" if is_of_strangers(rule) else title


def place_words(tier: str, form: str) -> str:
    """Return who asks, and how: "Appointment reminder", "Public facts, in a chat"."""
    return f"{tier_title(tier) if tier else 'Anyone'}{how_words(form)}"


def how_words(form: str) -> str:
    """Return the form after who asks, where it is not plain text: ", in a chat"."""
    return "" if form in {"", "text"} else f", {FORM_WORDS.get(form, form)}"


def order_forms(forms: Iterable[str]) -> list[str]:
    """Return forms in their order: none in particular, plain text, a chat, drawn; others after these."""
    order = ["", "text", *FORM_WORDS]
    return sorted(set(forms), key=lambda form: (order.index(form) if form in order else len(order), form))


def is_of_strangers(rule: Rule) -> bool:
    """Whether a rule is about what others' data stands in answers about patients never seen."""
    return rule.arm == "nontrain"


def comparable(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules whose figures compare: those on shares of patients where there are any, else of one metric."""
    shares = [rule for rule in rules if METRICS[rule.metric].unit == "share"]
    return shares or [rule for rule in rules if rule.metric == rules[0].metric]


def in_order(rules: Iterable[Rule]) -> list[Rule]:
    """Return rules by kind of leak, then by who asks, that of least knowledge first, then by form."""
    rules = list(rules)
    kinds, tiers = list(KINDS), order_tiers({rule.tier for rule in rules})
    forms = order_forms({rule.form for rule in rules})
    return sorted(rules, key=lambda of: (kinds.index(of.kind), tiers.index(of.tier), forms.index(of.form)))


def worst_status(rules: Sequence[Rule]) -> RuleStatus | None:
    """Return the worst status of some rules; None of none."""
    return min((rule.status for rule in rules), key=STATUS_ORDER.index, default=None)


def rule_name(rule: Rule) -> str:
    """Return a rule in words that no other rule of the verdict has: "Own text · Appointment reminder, in a chat"."""
    return f"{subject_words(rule)} · {place_words(rule.tier, rule.form)}"


def limit_text(rule: Rule) -> str:
    """Return the limit: "at most 5%", "at most 0.25"."""
    return f"at most {percent_text(rule.limit) if METRICS[rule.metric].is_percent else number_text(rule.limit)}"
