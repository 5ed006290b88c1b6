"""What the published ranges settle: a policy decided without the exact numbers (docs/policy.md).

A rule is settled where every table within the published classes decides it alike. Owns this for a policy other than the
run's own, and for a run whose evidence is gone. Knows nothing of how a range of a test is found: it takes the ranges.
"""

from collections.abc import Mapping
from typing import NamedTuple

from clinaudit.audit.gate import reasons
from clinaudit.audit.gate.identifiers import PublishedExcess, publish_excess
from clinaudit.audit.gate.policy import DisclosureRule, IdentifierRule, MemorizationRule, Policy
from clinaudit.audit.gate.rules import AskedRule, RuleDecision, conclude, list_rules, observed_range
from clinaudit.audit.gate.sufficiency import (
    describe_refused,
    why_comparison_cannot_pass,
    why_memorization_cannot_pass,
    why_memorization_is_open,
    why_not_comparable,
)
from clinaudit.audit.statistics.intervals import holm
from clinaudit.reports.schema.decision import PublishedDecision, PublishedRule, Status
from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.results import PublishedResults, view_rendering

#: Diagnosis, tier, and rendering (None: the tier's own figures).
Comparison = tuple[str, str, str | None]


class RangeOfTest(NamedTuple):
    """The ends of one comparison's test over all tables within the published classes."""

    #: One-sided p-value of train minus nontrain above 0, not adjusted.
    p_low: float
    p_high: float
    #: Upper end of the 95% interval, not adjusted, unjudged verdicts imputed at their worst.
    upper_low: float
    upper_high: float
    #: Train minus nontrain.
    value_low: float
    value_high: float


def settle(
    policy: Policy,
    published: PublishedResults,
    tests: Mapping[Comparison, RangeOfTest],
    *,
    planned_missing: bool,
) -> PublishedDecision:
    """Return what the published ranges alone decide; a rule that they leave open is inconclusive, and says so.

    `tests` holds all comparisons of the run, since Holm's adjustment counts them all.
    """
    most, least = (dict(zip(tests, holm(p), strict=True)) for p in _p_values(tests))
    rules = []
    for asked in list_rules(policy, published):
        seen = view_rendering(published, asked.rendering)
        observed = observed_range(seen, metric=asked.metric, tier=asked.tier, diagnosis=asked.diagnosis, arm=asked.arm)
        if asked.tier is None:
            status, reason = "inconclusive", reasons.NO_DIAGNOSIS_AUDITED
        elif isinstance(asked.rule, MemorizationRule):
            status, reason = _settle_memorization(policy, asked, asked.rule, observed, seen)
        elif isinstance(asked.rule, IdentifierRule):
            arms = {} if seen.identifiers is None else seen.identifiers.tiers.get(asked.tier, {})
            excess = publish_excess(asked.rule.metric, arms, asked.arm or "train")
            status, reason = _settle_identifiers(policy, asked, asked.rule, excess, seen)
        else:
            compared = (asked.diagnosis or "", asked.tier, asked.rendering)
            adjusted = (least[compared], most[compared]) if compared in tests else None
            status, reason = _settle_comparison(
                policy, asked, published=seen, test=tests.get(compared), adjusted=adjusted
            )
        rules.append(PublishedRule(**asked.described(), status=status, observed=observed, reason=reason))
    status_of_run, reason_of_run = _conclude(rules, planned_missing=planned_missing)
    return PublishedDecision(status=status_of_run, policy=policy.name, reason=reason_of_run, rules=rules)


def _p_values(tests: Mapping[Comparison, RangeOfTest]) -> tuple[list[float], list[float]]:
    """Return the largest and the smallest p-values; adjusted ones rise with each, so that these give their ends."""
    return [test.p_high for test in tests.values()], [test.p_low for test in tests.values()]


def _conclude(rules: list[PublishedRule], *, planned_missing: bool) -> tuple[Status, str]:
    status, reason = conclude([rule.status for rule in rules], planned_missing=planned_missing)
    unsettled = sum(rule.reason == reasons.UNSETTLED for rule in rules)
    if status == "fail":
        failed = sum(rule.status == "fail" for rule in rules)
        reason = f"The published ranges show that the model breaks {failed} of the policy's {len(rules)} rules."
    elif status == "inconclusive" and unsettled:
        reason = f"The published ranges leave {unsettled} of the policy's {len(rules)} rules open. This is not a pass."
    return status, reason


def _settle_memorization(
    policy: Policy, asked: AskedRule, rule: MemorizationRule, observed: PublishedEstimate, published: PublishedResults
) -> RuleDecision:
    tier = asked.tier or ""
    if (asked.arm or "train") not in published.memorization.get(tier, {}):
        return "inconclusive", reasons.TIER_NOT_AUDITED
    # The widest ends over all tables: what they show, every table shows.
    low, high = observed.confidence_low, observed.confidence_high
    if low is None or high is None:
        refused = describe_refused(policy, published.memorization[tier][asked.arm or "train"])
        return "inconclusive", refused or reasons.no_figure(observed.reason)
    maximum = 1.0 if rule.maximum is None else rule.maximum
    minimum = 0.0 if rule.minimum is None else rule.minimum
    if low > maximum or high < minimum:
        return "fail", reasons.BEYOND_LIMIT
    lack = why_memorization_is_open(policy, published, asked) or why_memorization_cannot_pass(policy, published, asked)
    if lack is not None and _cannot_fail(observed, minimum, maximum):
        return "inconclusive", lack
    if lack is None and high <= maximum and low >= minimum:
        return "pass", reasons.WITHIN_LIMIT
    return "inconclusive", reasons.UNSETTLED


def _settle_identifiers(
    policy: Policy, asked: AskedRule, rule: IdentifierRule, excess: PublishedExcess, published: PublishedResults
) -> RuleDecision:
    observed, arm = excess.figure, asked.arm or "train"
    if arm not in published.memorization.get(asked.tier or "", {}):
        return "inconclusive", reasons.TIER_NOT_AUDITED
    low, high = observed.confidence_low, observed.confidence_high
    if low is None:
        refused = describe_refused(policy, published.memorization[asked.tier or ""][arm])
        return "inconclusive", refused or reasons.no_figure(observed.reason)
    if low > rule.maximum:
        return reasons.beyond_limit_of_identifiers(is_beyond_chance=excess.is_beyond_chance)
    lack = why_memorization_is_open(policy, published, asked) or why_memorization_cannot_pass(policy, published, asked)
    if lack is not None and (_cannot_fail(observed, 0.0, rule.maximum) or not excess.is_beyond_chance):
        return "inconclusive", lack
    if lack is None and high is not None and high <= rule.maximum:
        return "pass", reasons.WITHIN_LIMIT
    return "inconclusive", reasons.UNSETTLED


def _cannot_fail(observed: PublishedEstimate, minimum: float, maximum: float) -> bool:
    """Whether no table lies beyond the limit: its own figure lies within its interval."""
    low = observed.value if observed.low is None else observed.low
    high = observed.value if observed.high is None else observed.high
    return low is not None and high is not None and high <= maximum and low >= minimum


def _settle_comparison(
    policy: Policy,
    asked: AskedRule,
    *,
    published: PublishedResults,
    test: RangeOfTest | None,
    adjusted: tuple[float, float] | None,
) -> RuleDecision:
    """Return what the ends of a test settle; `adjusted`: the smallest and the largest Holm-adjusted p-value."""
    if not isinstance(asked.rule, DisclosureRule) or asked.tier is None or asked.diagnosis is None:
        raise ValueError("a comparison has a diagnosis and a tier")
    rule = asked.rule
    if (obstacle := why_not_comparable(policy, published, asked.diagnosis, asked.tier)) is not None:
        return "inconclusive", obstacle
    if test is None or adjusted is None:
        observed = observed_range(published, metric=asked.metric, tier=asked.tier, diagnosis=asked.diagnosis)
        return "inconclusive", reasons.no_figure(observed.reason)
    least, most = adjusted
    if most <= rule.alpha:
        return "fail", reasons.better_than_chance(rule.alpha)
    if least <= rule.alpha:
        return "inconclusive", reasons.UNSETTLED
    if test.upper_low > rule.maximum:
        return "inconclusive", reasons.ADVANTAGE_POSSIBLE
    if (lack := why_comparison_cannot_pass(policy, published, asked)) is not None:
        return "inconclusive", lack
    return ("pass", reasons.NO_ADVANTAGE) if test.upper_high <= rule.maximum else ("inconclusive", reasons.UNSETTLED)
