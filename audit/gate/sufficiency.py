"""Whether the evidence suffices for a rule to be decided, and to pass; in words why not (docs/policy.md).

Owns every reason for "inconclusive" besides the estimate itself: too few patients, short or unrated texts, imbalanced
groups, a judge that is not accepted, too little power. Knows nothing of limits on estimates: `evaluation` applies
these. A reason never holds a count of patients.
"""

from clinaudit.audit.gate.judge_acceptance import why_not_accepted
from clinaudit.audit.gate.policy import PassRequirements, Policy
from clinaudit.reports.schema.cohorts import CohortSummary
from clinaudit.reports.schema.disclosure import Disclosure, DisclosurePair
from clinaudit.reports.schema.estimate import ARMS
from clinaudit.reports.schema.memorization import Memorization
from clinaudit.reports.schema.results import Results


def why_memorization_is_open(policy: Policy, memorization: Memorization) -> str | None:
    """Return why a share within its limits is no evidence of a pass; None where it is.

    Few patients or short texts can hide what a model repeats, but not invent it. So a share beyond its limit is a
    failure all the same.
    """
    if memorization.patients is None or memorization.patients < policy.minimum_patients_per_class:
        return "There are too few patients to judge this."
    return _describe_short(policy.maximum_short_share, memorization)


def why_memorization_cannot_pass(policy: Policy, results: Results, tier: str) -> str | None:
    """Return in words which requirement for a pass a tier's memorization does not meet; None where it meets all."""
    asked, arms = policy.to_pass, results.memorization.get(tier, {})
    train, nontrain = arms.get("train"), arms.get("nontrain")
    if train is None or (asked.nontrain_arm and (nontrain is None or not nontrain.generations)):
        return "There are no patients outside the training data whose texts these could be set beside."
    minimum = asked.minimum_patients_per_class
    if minimum is not None and (train.patients is None or train.patients < minimum):
        return "There are fewer patients than the policy asks for before this may pass."
    return None if asked.maximum_short_share is None else _describe_short(asked.maximum_short_share, train)


def why_not_comparable(policy: Policy, results: Results, diagnosis: str, tier: str) -> str | None:
    """Return in words why a comparison must not be decided either way; None where it may be."""
    cohort = results.cohorts.get(diagnosis)
    if cohort is None:
        return "This diagnosis was not audited."
    if cohort.status == "unavailable":
        return f"No groups could be compared: {cohort.reason or 'there are no matched patients'}."
    if cohort.status == "poorly_matched":
        return "The groups compared differ too much in age, sex or number of notes for a fair comparison."
    if (unreliable := why_not_accepted(policy.judge, results.judge_quality)) is not None:
        return unreliable
    pair = results.disclosure.by_diagnosis.get(diagnosis, {}).get(tier)
    if pair is None:
        return "This diagnosis was not audited at this level of knowledge."
    if pair.nontrain is None or pair.delta is None:
        return "There are no patients outside the training data to compare with."
    if not _has_enough_patients(policy.minimum_patients_per_class, pair):
        return "There are too few patients in at least one of the groups compared."
    return _describe_unjudged(policy.maximum_unjudged_share, pair) or _describe_short_of_tier(
        policy.maximum_short_share, results, tier
    )


def why_comparison_cannot_pass(policy: Policy, results: Results, diagnosis: str, tier: str) -> str | None:
    """Return in words which requirement for a pass a comparison does not meet; None where it meets all.

    Only for a comparison of which `why_not_comparable` returns None.
    """
    asked = policy.to_pass
    pair = results.disclosure.by_diagnosis[diagnosis][tier]
    minimum = asked.minimum_patients_per_class
    if minimum is not None and not _has_enough_patients(minimum, pair):
        return "At least one of the groups compared is smaller than the policy asks for before this may pass."
    return (
        _describe_power(asked, pair)
        or _describe_imbalance(asked, results.cohorts[diagnosis])
        or why_not_accepted(asked.judge, results.judge_quality)
        or (asked.maximum_unjudged_share is not None and _describe_unjudged(asked.maximum_unjudged_share, pair))
        or (asked.maximum_short_share is not None and _describe_short_of_tier(asked.maximum_short_share, results, tier))
        or None
    )


def _describe_power(asked: PassRequirements, pair: DisclosurePair) -> str | None:
    if asked.maximum_detectable_delta is None:
        return None
    if pair.detectable_delta is None:
        return "How small an advantage would have been noticed is not known."
    if pair.detectable_delta > asked.maximum_detectable_delta:
        return (
            "The comparison has too little power: an advantage that the policy wants noticed would have been missed "
            "more often than one time in five."
        )
    return None


def _describe_imbalance(asked: PassRequirements, cohort: CohortSummary) -> str | None:
    if asked.maximum_smd is None:
        return None
    differences = [row.smd for row in cohort.balance]
    if not differences or None in differences:
        return "How alike the groups compared are is not published."
    if any(abs(difference or 0.0) > asked.maximum_smd for difference in differences):
        return "The groups compared differ more in age, sex or number of notes than the policy allows for a pass."
    return None


def _has_enough_patients(minimum: int, pair: DisclosurePair) -> bool:
    """Whether both classes of both arms are large enough; a class's size is the denominator of its own rate."""
    arms: list[Disclosure] = [arm for arm in (pair.train, pair.nontrain) if arm is not None]
    sizes = [estimate.n for arm in arms for estimate in (arm.sensitivity, arm.false_positive_rate)]
    return all(size is not None and size >= minimum for size in sizes)


def _describe_unjudged(maximum: float, pair: DisclosurePair) -> str | None:
    for arm in (pair.train, pair.nontrain):
        if arm is None or arm.unjudged is None or not arm.generations:
            return "How many texts could not be rated is not published."
        if arm.unjudged > maximum * arm.generations:
            return f"The judge could not rate more than {percent(maximum)} of the texts."
    return None


def _describe_short_of_tier(maximum: float, results: Results, tier: str) -> str | None:
    for memorization in (results.memorization.get(tier, {}).get(arm) for arm in ARMS):
        if memorization is None:
            return "It is not known whether the model's texts are long enough to give anything away."
        if (short := _describe_short(maximum, memorization)) is not None:
            return short
    return None


def _describe_short(maximum: float, memorization: Memorization) -> str | None:
    """Return a complaint where too many generations are empty or too short to hold a match."""
    counts = (memorization.generations, memorization.empty, memorization.shorter_than_ngram)
    if None in counts:
        return "How many of the model's texts are too short to judge is not published."
    generations, empty, short = (count or 0 for count in counts)
    if not generations:
        return "The model wrote nothing at this level of knowledge."
    # An empty generation is a short one too.
    if max(empty, short) > maximum * generations:
        return (
            f"More than {percent(maximum)} of the model's texts are too short to hold a match, and one that tells "
            "nothing may only have broken off; with so many, the policy lets no rule pass."
        )
    return None


def percent(share: float) -> str:
    """Return a share as a percentage of three digits at most."""
    return f"{100 * share:.3g}%"
