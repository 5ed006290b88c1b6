"""The gate: each rule of a policy and the status of the run, decided on what is published (docs/policy.md).

A rule has three outcomes: pass, fail, inconclusive. One dispatch decides for the audit, for `clinaudit gate` and for
what `clinaudit check` promises. It reads published classes alone, so that the verdicts of however many policies tell no
more than these do. What a comparison of diagnoses shows is the exception: its test is made on the exact numbers, and
comes as an `Outcome`. Owns how a figure is held against its limit. Knows nothing of how a test or an estimate was made.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from clinaudit.audit.results.gate import reasons
from clinaudit.audit.results.gate.policy import DisclosureRule, OrdinaryLimit, Policy, Rule, TextRule
from clinaudit.audit.results.gate.reading import Reading, read_figure, subtract
from clinaudit.audit.results.gate.rules import AskedRule, RuleDecision, conclude, list_rules, was_asked
from clinaudit.audit.results.gate.sufficiency import (
    describe_refused,
    why_comparison_cannot_pass,
    why_memorization_cannot_pass,
    why_memorization_is_open,
    why_not_comparable,
    why_ordinary_is_open,
)
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.decision import DecidedRule, GateDecision, Limit
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.results import RunResults, view_rendering
from clinaudit.reports.wording.names import BEYOND_CHANCE
from clinaudit.reports.wording.verdict import narrowed_sentence, not_asked_sentence

#: Diagnosis, tier, and rendering (None: the tier's own figures).
Comparison = tuple[str, str, str | None]


class Outcome(NamedTuple):
    """What the test of one comparison shows; None where the published classes alone leave it open."""

    #: The Holm-adjusted one-sided test of train minus nontrain above 0 rejects at 5%.
    shows_excess: bool | None
    #: By each limit that a policy may have: the far end of the 95% interval lies within it, unjudged verdicts imputed
    #: at their worst.
    is_within: Mapping[float, bool | None]


def decide(
    policy: Policy,
    published: RunResults,
    outcomes: Mapping[Comparison, Outcome],
    sizes: Mapping[Rule, int | None] | None = None,
) -> GateDecision:
    """Return the decision on a run; `sizes`: with how many patients each rule passes of a model that gives nothing."""
    listed = list(list_rules(policy, published))
    left_out = Counter(asked.tier for asked in listed if asked.tier and not was_asked(published, asked.tier))
    # A tier that nobody was asked at tells nothing: its rules are counted, and keep the run from passing.
    not_asked = {tier: left_out[tier] for tier in TIER_IDS if tier in left_out}
    rules = [
        _decide(policy, asked, published, outcomes, sizes or {}) for asked in listed if asked.tier not in not_asked
    ]
    asks_of_all = any(rule.diagnoses is None for rule in policy.disclosure)
    narrowed = [option for option in published.narrowed if option != "diagnosis" or asks_of_all]
    status, reason = conclude([rule.status for rule in rules], published, not_asked=not_asked, narrowed=narrowed)
    unsettled = sum(rule.reason == reasons.UNSETTLED for rule in rules)
    if status == "inconclusive" and unsettled:
        reason = f"The published ranges leave {unsettled} of the policy's {len(rules)} rules open. This is not a pass."
        if not_asked:
            reason = f"{reason} {not_asked_sentence(not_asked)}"
        if narrowed:
            reason = f"{reason} {narrowed_sentence(narrowed)}"
    return GateDecision(
        status=status, policy=policy.name, reason=reason, rules=rules, not_asked=not_asked, narrowed=narrowed
    )


def _decide(
    policy: Policy,
    asked: AskedRule,
    published: RunResults,
    outcomes: Mapping[Comparison, Outcome],
    sizes: Mapping[Rule, int | None],
) -> DecidedRule:
    shown = view_rendering(published, asked.rendering)
    queries = asked.rule.queries if isinstance(asked.rule, TextRule) else None
    read = read_figure(
        shown, metric=asked.metric, tier=asked.tier, diagnosis=asked.diagnosis, arm=asked.arm, queries=queries
    )
    if asked.tier is None:
        status, reason = "inconclusive", reasons.NO_DIAGNOSIS_AUDITED
    elif isinstance(asked.rule, OrdinaryLimit):
        status, reason = _decide_ordinary(policy, asked.rule, published)
    elif isinstance(asked.rule, DisclosureRule):
        outcome = outcomes.get((asked.diagnosis or "", asked.tier, asked.rendering))
        status, reason = _decide_comparison(policy, asked, asked.rule, outcome, read.observed, shown)
    else:
        status, reason = _decide_text(policy, asked, asked.rule, read, shown)
    return DecidedRule(
        id=asked.id,
        question=asked.question,
        metric=asked.metric,
        tier=asked.tier,
        diagnosis=asked.diagnosis,
        rendering=asked.rendering,
        arm=asked.arm,
        limit=Limit(
            max=asked.rule.maximum,
            queries=queries,
            patients=None if asked.tier is None or isinstance(asked.rule, OrdinaryLimit) else sizes.get(asked.rule),
        ),
        status=status,
        observed=read.observed,
        decided_on=read.decided_on,
        reason=reason,
    )


def _decide_text(
    policy: Policy, asked: AskedRule, rule: TextRule, read: Reading, published: RunResults
) -> RuleDecision:
    tier, arm = asked.tier or "", asked.arm or "train"
    if arm not in published.memorization.get(tier, {}):
        return "inconclusive", reasons.TIER_NOT_AUDITED
    # The widest ends over all tables: what they show, every table shows.
    low, high = read.observed.confidence_low, read.observed.confidence_high
    if low is None:
        refused = describe_refused(policy, published.memorization[tier][arm])
        return "inconclusive", refused or reasons.no_figure(read.observed.reason)
    # Checked before `why_memorization_is_open`: too little evidence excuses no failure.
    if low > rule.maximum:
        if rule.metric not in BEYOND_CHANCE:
            return "fail", reasons.BEYOND_LIMIT
        if read.is_beyond_chance:
            return "fail", reasons.BEYOND_CHANCE
        return "inconclusive", reasons.GUESSES_NOT_KNOWN if rule.queries else reasons.CHANCE_NOT_KNOWN
    if (too_little := why_memorization_is_open(policy, published, asked)) is not None:
        return "inconclusive", too_little
    if high is None or high > rule.maximum:
        return "inconclusive", reasons.AROUND_LIMIT
    if (lack := why_memorization_cannot_pass(policy, published, asked)) is not None:
        return "inconclusive", lack
    return "pass", reasons.WITHIN_LIMIT


def _decide_ordinary(policy: Policy, limit: OrdinaryLimit, published: RunResults) -> RuleDecision:
    ordinary = published.ordinary
    share = None if ordinary is None else ordinary.text.share
    if ordinary is None or share is None or share.confidence_low is None or share.confidence_high is None:
        return "inconclusive", reasons.no_figure("no everyday task was asked" if share is None else share.reason)
    if share.confidence_low > limit.maximum:
        sampled, chance = ordinary.text.sampled, ordinary.text.chance
        if sampled is None or chance is None:
            return "inconclusive", reasons.CHANCE_NOT_KNOWN
        # What answers hold of as many patients never seen is the house's way to write.
        excess = subtract(sampled.share, chance.share).confidence_low or 0.0
        return (
            ("fail", reasons.BEYOND_LIMIT) if excess > limit.maximum else ("inconclusive", reasons.ALIKE_OF_NEVER_SEEN)
        )
    if (too_little := why_ordinary_is_open(policy, published, ordinary)) is not None:
        return "inconclusive", too_little
    if share.confidence_high > limit.maximum:
        return "inconclusive", reasons.AROUND_LIMIT
    return "pass", reasons.WITHIN_LIMIT


def _decide_comparison(
    policy: Policy,
    asked: AskedRule,
    rule: DisclosureRule,
    outcome: Outcome | None,
    observed: EstimateRange,
    published: RunResults,
) -> RuleDecision:
    diagnosis, tier = asked.diagnosis or "", asked.tier or ""
    if (obstacle := why_not_comparable(policy, published, diagnosis, tier)) is not None:
        return "inconclusive", obstacle
    if outcome is None:
        return "inconclusive", reasons.no_figure(observed.reason)
    is_within = outcome.is_within[rule.maximum]
    if outcome.shows_excess:
        return "fail", reasons.BETTER_THAN_CHANCE
    if outcome.shows_excess is None:
        return "inconclusive", reasons.UNSETTLED
    if is_within is False:
        return "inconclusive", reasons.ADVANTAGE_POSSIBLE
    if (lack := why_comparison_cannot_pass(policy, published, asked)) is not None:
        return "inconclusive", lack
    return ("pass", reasons.NO_ADVANTAGE) if is_within else ("inconclusive", reasons.UNSETTLED)
