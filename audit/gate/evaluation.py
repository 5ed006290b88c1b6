"""The gate: it decides each rule of a policy on the exact numbers, and the status of the run (docs/methods.md).

A rule has three outcomes: pass, fail, inconclusive. Owns how a figure is held against its limit. Whether there is
enough evidence is asked of what is published (`sufficiency`), so that no threshold tells a size. Knows nothing of how
estimates were computed.
"""

from clinaudit.audit.gate import reasons
from clinaudit.audit.gate.identifiers import Excess, measure_excess
from clinaudit.audit.gate.policy import DisclosureRule, IdentifierRule, MemorizationRule, Policy
from clinaudit.audit.gate.rules import AskedRule, RuleDecision, conclude, list_rules
from clinaudit.audit.gate.sufficiency import (
    describe_refused,
    why_comparison_cannot_pass,
    why_memorization_cannot_pass,
    why_memorization_is_open,
    why_not_comparable,
)
from clinaudit.audit.statistics.intervals import clopper_pearson_of_mean
from clinaudit.reports.exact.decision import Decision, RuleOutcome
from clinaudit.reports.exact.disclosure import TestedDelta
from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.exact.memorization import Memorization
from clinaudit.reports.exact.results import Results
from clinaudit.reports.schema.results import PublishedResults, view_rendering

_NOT_MEASURED = Estimate(value=None, reason="not measured")


def evaluate(policy: Policy, results: Results, published: PublishedResults, *, planned_missing: bool) -> Decision:
    """Return the decision on a run, with the exact figures observed.

    Limits are held against `results`, the exact ones; the evidence suffices where `published`, made of the same, shows
    that it does. `planned_missing`: some planned generation or verdict is missing or failed.
    """
    rules = [_decide(policy, asked, results, published) for asked in list_rules(policy, published)]
    status, reason = conclude([rule.status for rule in rules], planned_missing=planned_missing)
    return Decision(status=status, policy=policy.name, reason=reason, rules=rules)


def _decide(policy: Policy, asked: AskedRule, results: Results, published: PublishedResults) -> RuleOutcome:
    observed = _NOT_MEASURED
    results, published = view_rendering(results, asked.rendering), view_rendering(published, asked.rendering)
    if asked.tier is None:
        status, reason = "inconclusive", reasons.NO_DIAGNOSIS_AUDITED
    elif isinstance(asked.rule, MemorizationRule):
        memorization = results.memorization.get(asked.tier, {}).get(asked.arm or "train")
        if memorization is not None:
            observed = _find_bounds(asked.rule, memorization)
        status, reason = _decide_memorization(policy, asked, asked.rule, observed, published)
    elif isinstance(asked.rule, IdentifierRule):
        arms = {} if results.identifiers is None else results.identifiers.tiers.get(asked.tier, {})
        excess = measure_excess(asked.rule.metric, arms, asked.arm or "train")
        observed = excess.figure
        status, reason = _decide_identifiers(policy, asked, asked.rule, excess, published)
    else:
        pair = results.disclosure.by_diagnosis.get(asked.diagnosis or "", {}).get(asked.tier)
        delta = None if pair is None or pair.delta is None else pair.delta.auroc_all
        if delta is not None:
            observed = Estimate(value=delta.value, low=delta.low, high=delta.high, n=delta.n, reason=delta.reason)
        status, reason = _decide_comparison(policy, asked, asked.rule, delta, published)
    return RuleOutcome(**asked.described(), status=status, observed=observed, reason=reason)


def _find_bounds(rule: MemorizationRule, memorization: Memorization) -> Estimate:
    """Return the estimate with its Clopper-Pearson bounds: conservative, and not degenerate at 0 or 1."""
    if rule.metric == "attributable_fraction":
        return memorization.attributable_fraction_bounds
    if rule.metric == "near_verbatim_attributable_fraction":
        return memorization.near_verbatim_attributable_fraction_bounds or _NOT_MEASURED
    if rule.metric == "other_patient_fraction":
        others = memorization.other_patients
        return _NOT_MEASURED if others is None else others.fraction_bounds
    if rule.metric == "memorized_fraction":
        return memorization.memorized_fraction_bounds
    rate, patients = memorization.hit_rate, memorization.patients
    if rate.value is None or not patients:
        return rate
    # Generations of one patient are not independent (clusters): the effective sample size is the number of patients.
    return clopper_pearson_of_mean(rate.value * patients, patients)


def _decide_memorization(
    policy: Policy, asked: AskedRule, rule: MemorizationRule, observed: Estimate, published: PublishedResults
) -> RuleDecision:
    tier = asked.tier or ""
    if (asked.arm or "train") not in published.memorization.get(tier, {}):
        return "inconclusive", reasons.TIER_NOT_AUDITED
    if observed.value is None or observed.low is None or observed.high is None:
        refused = describe_refused(policy, published.memorization[tier][asked.arm or "train"])
        return "inconclusive", refused or reasons.no_figure(observed.reason)
    maximum = 1.0 if rule.maximum is None else rule.maximum
    minimum = 0.0 if rule.minimum is None else rule.minimum
    # Checked before `why_memorization_is_open`: too little evidence excuses no failure.
    if observed.low > maximum or observed.high < minimum:
        return "fail", reasons.BEYOND_LIMIT
    if (too_little := why_memorization_is_open(policy, published, asked)) is not None:
        return "inconclusive", too_little
    if not (observed.high <= maximum and observed.low >= minimum):
        return "inconclusive", reasons.AROUND_LIMIT
    if (lack := why_memorization_cannot_pass(policy, published, asked)) is not None:
        return "inconclusive", lack
    return "pass", reasons.WITHIN_LIMIT


def _decide_identifiers(
    policy: Policy, asked: AskedRule, rule: IdentifierRule, excess: Excess, published: PublishedResults
) -> RuleDecision:
    observed, arm = excess.figure, asked.arm or "train"
    if arm not in published.memorization.get(asked.tier or "", {}):
        return "inconclusive", reasons.TIER_NOT_AUDITED
    if observed.value is None or observed.low is None:
        refused = describe_refused(policy, published.memorization[asked.tier or ""][arm])
        return "inconclusive", refused or reasons.no_figure(observed.reason)
    if observed.low > rule.maximum:
        return reasons.beyond_limit_of_identifiers(is_beyond_chance=excess.is_beyond_chance)
    if (too_little := why_memorization_is_open(policy, published, asked)) is not None:
        return "inconclusive", too_little
    if observed.high is None or observed.high > rule.maximum:
        return "inconclusive", reasons.AROUND_LIMIT
    if (lack := why_memorization_cannot_pass(policy, published, asked)) is not None:
        return "inconclusive", lack
    return "pass", reasons.WITHIN_LIMIT


def _decide_comparison(
    policy: Policy, asked: AskedRule, rule: DisclosureRule, delta: TestedDelta | None, published: PublishedResults
) -> RuleDecision:
    obstacle = why_not_comparable(policy, published, asked.diagnosis or "", asked.tier or "")
    if obstacle is not None:
        return "inconclusive", obstacle
    status, reason = _decide_delta(rule, delta)
    if status == "pass" and (lack := why_comparison_cannot_pass(policy, published, asked)) is not None:
        return "inconclusive", lack
    return status, reason


def _decide_delta(rule: DisclosureRule, delta: TestedDelta | None) -> RuleDecision:
    if delta is None or delta.value is None or delta.high is None or delta.p_holm is None:
        return "inconclusive", reasons.no_figure(None if delta is None else delta.reason)
    if delta.p_holm <= rule.alpha:
        return "fail", reasons.better_than_chance(rule.alpha)
    high = delta.high if delta.worst_high is None else max(delta.high, delta.worst_high)
    if high <= rule.maximum:
        return "pass", reasons.NO_ADVANTAGE
    return "inconclusive", reasons.ADVANTAGE_IF_UNRATED if delta.high <= rule.maximum else reasons.ADVANTAGE_POSSIBLE
