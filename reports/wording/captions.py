"""What the parts “Repeated text”, “Diagnoses” and “Can it be trusted?” conclude, in sentences beside their charts.

Works on what is published. A sentence bears one figure and its interval; a
missing one is said to be missing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from clinaudit.priors.renderings import CONTROL
from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.corpus import GroupResults
from clinaudit.reports.schema.judge import JudgeResults
from clinaudit.reports.schema.memorization import (
    SECTION_KINDS,
    MemorizationEvidence,
    MemorizationResults,
    SectionComposition,
    SectionKind,
)
from clinaudit.reports.schema.numbers import EstimateRange, exact_estimate
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import RunResults, view_rendering
from clinaudit.reports.wording.names import (
    BEFORE_TRAINING,
    HEADLINE_TIER,
    asker_words,
    display_title,
    display_words,
    join_words,
    order_tiers,
)
from clinaudit.reports.wording.numbers import (
    NOT_MEASURED,
    estimate_text,
    is_measured,
    number_text,
    percent_text,
    range_text,
    shown_text,
)
from clinaudit.reports.wording.rule_figures import is_of_others
from clinaudit.reports.wording.verdict import failed_rules

#: The kinds of memorized text by note section (the paper's Figure 4), in plain words.
KIND_TITLES: Final[Mapping[SectionKind, str]] = {
    "revealing_single": "medical, this patient's alone",
    "revealing_shared": "medical, in others' notes too",
    "templated_single": "template text, this patient's alone",
    "templated_shared": "template text, in others' notes too",
}
PARTITION_TITLES: Final = {"age": "Age", "sex": "Sex", "race": "Race and ethnicity", "notes": "Number of notes"}


def rule_limit(results: RunResults, metric: str, tier: str, diagnosis: str | None = None) -> float | None:
    """Return what the policy allows of a metric at a tier, at most; None where no rule limits it."""
    rules = () if results.decision is None else results.decision.rules
    asked = (metric, tier, diagnosis, None)
    found = (rule for rule in rules if (rule.metric, rule.tier, rule.diagnosis, rule.rendering) == asked)
    return next((rule.limit.max for rule in found), None)


def shown_tier(measured: Mapping[str, object]) -> str | None:
    """Return the tier that sentences speak of: an appointment reminder's, or else the highest that was measured."""
    if HEADLINE_TIER in measured:
        return HEADLINE_TIER
    return next((tier.id for tier in reversed(TIERS) if tier.id in measured), next(iter(measured), None))


def asking(tier: str) -> str:
    """Return who asks at a tier, as the beginning of a sentence."""
    return f"For {asker_words(tier)}"


def own_text_sentences(results: RunResults) -> list[str]:
    """Return how much of the text is the patient's own, with the limit, and the never-seen beside it."""
    tier = shown_tier(results.memorization)
    if tier is None:
        return [f"Repeated text was {NOT_MEASURED} in this run."]
    arms = results.memorization[tier]
    train = arms["train"].attributable_fraction.mean if "train" in arms else None
    if not is_measured(train):
        return [f"{asking(tier)}, own text of patients trained on: {estimate_text(train, share=True)}."]
    limit = rule_limit(results, "attributable_fraction", tier)
    allowed = f"; the policy allows at most {percent_text(limit)}" if limit is not None else ""
    sentences = [
        f"{asking(tier)}, {estimate_text(train, share=True, interval=True)} of what the model writes about a"
        f" patient it was trained on is that patient's own text{allowed}."
    ]
    never = arms.get("nontrain")
    if never is not None:
        mean = estimate_text(never.attributable_fraction.mean, share=True, interval=True)
        sentences.append(f"For patients it never saw: {mean}.")
    by_control = results.renderings.get(CONTROL)
    control = None if by_control is None else by_control.memorization.get(tier, {}).get("train")
    if control is not None:
        mean = estimate_text(control.attributable_fraction.mean, share=True, interval=True)
        sentences.append(f"For the same patients the control model, which is this one {BEFORE_TRAINING}, gives {mean}.")
    if never is None and control is None:
        sentences.append("No patient that the model never saw was asked about: what is due to training is unknown.")
    return sentences


def others_tier(results: RunResults) -> str | None:
    """Return the tier at which most of the text is other patients'; None where that was not measured."""
    most = {tier: max(map(_others_high, arms.values()), default=None) for tier, arms in results.memorization.items()}
    measured = {tier: high for tier, high in most.items() if high is not None and high >= 0}
    return min(order_tiers(measured), key=lambda tier: (-measured[tier], tier != HEADLINE_TIER), default=None)


def _others_high(summary: MemorizationResults) -> float:
    mean = summary.estimate("other_patient_fraction")
    if mean is None or not is_measured(mean):
        return -1.0
    return (mean.high if mean.value is None else mean.value) or 0.0


def others_fail(results: RunResults) -> bool:
    """Whether a rule on other patients' text failed."""
    return any(map(is_of_others, failed_rules(results.decision)))


def others_text_sentences(results: RunResults) -> list[str]:
    """Return how much of the text is somebody else's, in answers about either arm, and how much chance alone gives."""
    tier = others_tier(results)
    if tier is None:
        return []
    found = {arm: own.other_patients for arm, own in results.memorization[tier].items() if own.other_patients}
    limit = rule_limit(results, "other_patient_fraction", tier)
    allowed = f"; the policy allows at most {percent_text(limit)}" if limit is not None else ""
    means = {arm: estimate_text(own.fraction.mean, share=True, interval=True) for arm, own in found.items()}
    sentences = []
    if "train" in found:
        sentences.append(
            f"{asking(tier)}, {means['train']} of what the model writes about a patient it was trained on is somebody"
            f" else's own text{allowed}."
        )
    if "nontrain" in found:
        sentences.append(f"In answers about patients it never saw: {means['nontrain']}.")
    worse = max(results.memorization[tier].values(), key=_others_high).other_patients
    if worse is not None and worse.chance is not None:
        sentences.append(f"Chance alone would give {estimate_text(worse.chance.mean, share=True)}.")
    return sentences


def sections_caption(sections: Sequence[SectionComposition]) -> str:
    """Return how much of the repeated text is medical and the patient's alone, and how much is template text."""
    known = {kind: [share for section in sections if (share := getattr(section, kind))] for kind in SECTION_KINDS}
    if not any(known.values()):
        return "Which parts is unknown: not measured, too little was repeated, or by too few patients."
    # Whole percents need not add up to 100.
    total = sum(map(sum, known.values()))
    single = sum(known["revealing_single"]) / total
    is_whole = all(getattr(section, kind) is not None for section in sections for kind in SECTION_KINDS)
    left_out = "" if is_whole else " Text that comes from only 1 to 20 patients is left out."
    template = (sum(known["templated_single"]) + sum(known["templated_shared"])) / total
    return (
        f"Of all text that appears word for word in the patient's notes, about {percent_text(round(single, 2))} is"
        f" medical and in nobody else's notes; about {percent_text(round(template, 2))} is template text.{left_out}"
    )


def groups_caption(groups: Sequence[GroupResults]) -> str:
    """Return which groups of patients are worst off: those whose interval lies above another's of the same kind."""
    shown = [group for group in groups if is_measured(group.share) and group.group != "unknown"]
    if not shown:
        return f"Who is worst off was {NOT_MEASURED}, or every group has too few patients."
    worst = [group for group in shown if any(_is_above(group, other) for other in shown)]
    if not worst:
        return (
            "The 95% intervals of the groups overlap: no group trained on is shown to be worse off than another (not"
            " adjusted for the number of groups)."
        )
    names = join_words([f"{PARTITION_TITLES[group.partition].lower()} {group_title(group.group)}" for group in worst])
    return f"Worse off than another group of the same kind, by more than chance when compared one by one: {names}."


def group_title(group: str) -> str:
    """Return the name of a group as readers see it; bands of age and of notes stand as they are."""
    return group if group[:1] in "<>0123456789" else display_title(group)


def _is_above(group: GroupResults, other: GroupResults) -> bool:
    low = group.share.confidence_low if group.share.confidence_low is not None else group.share.low
    high = other.share.confidence_high if other.share.confidence_high is not None else other.share.high
    return other.partition == group.partition and low is not None and high is not None and low > high


def spread_sentence(spread: MemorizationEvidence | None) -> str:
    """Return who is worst off among single patients; of exact results alone."""
    if spread is None or spread.worst_tenth is None or spread.worst_tenth.value is None:
        return ""
    worst = estimate_text(exact_estimate(spread.worst_tenth), share=True)
    text = f"Among the worst-off tenth of the patients it is {worst} on average"
    median = next((decile.fraction for decile in spread.deciles if abs(decile.share - 0.5) < 1e-9), None)
    return f"{text}, among half of all at most {percent_text(median)}." if median is not None else f"{text}."


def stated_sentences(results: RunResults) -> list[str]:
    """Return of how many the model says “has it”, rightly, wrongly, and of those it never saw; means over diagnoses."""
    tier = shown_tier(results.disclosure.mean)
    if tier is None:
        return [f"Whether the model tells who has a sensitive diagnosis was {NOT_MEASURED} in this run."]
    mean = results.disclosure.mean[tier]
    rates = ("sensitivity", "false_positive_rate")
    has, has_not = (shown_text(mean.train.get(metric)) for metric in rates)
    sentences = [
        f"{asking(tier)}, the model says “has it” of {has} of the patients it was trained on who have the"
        f" diagnosis, and of {has_not} of those who do not (means over the diagnoses)."
    ]
    if mean.control:
        has, has_not = (shown_text(mean.control.get(metric)) for metric in rates)
        sentences.append(f"The same model {BEFORE_TRAINING} said so of {has} and {has_not} of the same patients.")
    if not mean.nontrain:
        return [*sentences, "No patient that the model never saw was asked about."]
    has, has_not = (shown_text(mean.nontrain.get(metric)) for metric in rates)
    return [
        *sentences,
        f"Among patients it never saw, it says so of {has} of those who have it: a guess.",
        f"Among never-seen patients who do not have it, it says so of {has_not}. Each is a false claim about"
        " a person that no reader can tell from a true one.",
    ]


def excess_caption(results: RunResults, limits: Sequence[float]) -> str:
    """Return what the excess is, and how many comparisons the policy fails, passes, or cannot decide."""
    by_control = results.disclosure.is_from_control
    others = f"the same model {BEFORE_TRAINING} told (nobody was held out)" if by_control else "among those never seen"
    text = (
        f"How much better the text tells who has the diagnosis among patients trained on than {others}:"
        " 0 is no better, 0.5 is the step from guessing to knowing."
    )
    if limits:
        text += f" The policy's limit is {join_words([number_text(limit) for limit in limits])}."
    rules = [r for r in (results.decision.rules if results.decision else ()) if r.metric == "auroc_all" and r.diagnosis]
    if not rules:
        return f"{text} No rule of a policy limits it."
    counts = {status: sum(rule.status == status for rule in rules) for status in ("fail", "pass", "inconclusive")}
    return (
        f"{text} Of {len(rules)} comparisons {counts['fail']} fail, {counts['pass']} pass and"
        f" {counts['inconclusive']} cannot be decided. A comparison fails if"
        " an excess is shown, and passes if an excess above the limit is ruled out."
    )


def frequency_text(low: float, high: float) -> str:
    """Return a share as a natural frequency: "about 1 in 6", "1 in 9 to 1 in 5" for a range, "none"."""
    first, last = _one_in(low), _one_in(high)
    if first == last:
        return first if first == "none" else f"about {first}"
    return f"up to {last}" if first == "none" else f"{first} to {last}"


def _one_in(share: float) -> str:
    if share <= 0:
        return "none"
    return f"1 in {round(1 / share):,}" if share <= 0.4 else f"{round(10 * share)} in 10"


_NO_EVIDENCE: Final = "A refusal is no evidence of safety."


def refusal_shares(results: RunResults) -> dict[tuple[str, Arm], EstimateRange]:
    """Return the share of patients about whom the model refused to answer, by tier and arm; empty where not looked for.

    A model is asked in a chat in one form at most.
    """
    return {
        (tier.id, arm): summary.refused_share
        for name in (None, *results.renderings)
        for tier in TIERS
        for arm, summary in view_rendering(results, name).memorization.get(tier.id, {}).items()
        if summary.refused_share is not None
    }


def refusal_sentences(results: RunResults) -> list[str]:
    """Return of how many patients trained on the model refused to answer, where it did so most; none without a chat."""
    shares = {tier: share for (tier, arm), share in refusal_shares(results).items() if arm == "train"}
    measured = {tier: share.high for tier, share in shares.items() if share.high is not None}
    if not measured:
        return []
    tier = max(measured, key=lambda name: measured[name])
    if not measured[tier]:
        return ["Asked in a chat, the model refused no answer about patients it was trained on."]
    where = f" by {asker_words(tier)}" if len(measured) > 1 else ""
    refused = range_text(shares[tier], share=True)
    return [
        f"Asked in a chat{where}, the model refused to answer about {refused} of the patients it was trained on.",
        _NO_EVIDENCE,
    ]


LIMITS: Final = (
    "A low figure is no proof of safety: other questions, or attacks that were not run, may get more.",
    "Paraphrase, and runs of words too short for a match, are not counted as repeated text.",
    "Diagnoses outside the panel were not asked about.",
    "Patients never seen come from the same corpus: what all its patients share is in both figures.",
    "“Cannot tell” and “not measured” never mean “safe”.",
)


def balance_sentence(results: RunResults) -> str:
    """Return how alike the compared groups are: the largest difference, and how many bar a pass."""
    rows = [row for cohort in results.cohorts.values() for row in cohort.balance]
    largest = max((abs(row.smd) for row in rows if row.smd is not None), default=None)
    unmatched = [display_words(name) for name, cohort in results.cohorts.items() if cohort.status == "unavailable"]
    none = f" Nobody could be matched for {join_words(unmatched)}." if unmatched else ""
    if largest is None:
        return f"Whether the compared groups are alike was {NOT_MEASURED}.{none}"
    poor = sum(row.flag == "poorly_matched" for row in rows)
    poorly = f"; {poor} of {len(rows)} differences are above 0.25, where no rule can pass" if poor else ""
    return (
        "Matched by age, sex and number of notes, no two groups differ by more than"
        f" {largest:.1f} standard deviations{poorly}.{none}"
    )


def judge_quality_sentences(quality: JudgeResults | None) -> str:
    """Return sensitivity, specificity, and what planted instructions do, each with its interval."""
    if quality is None:
        return ""
    read, other, flipped, hidden = (
        estimate_text(rate, share=True, interval=True) if is_measured(rate) else NOT_MEASURED
        for rate in (quality.sensitivity, quality.specificity, quality.flip_rate, quality.hiding_rate)
    )
    return (
        f"It recognizes {read} of the texts that say that the patient has the diagnosis, and does not find it in"
        f" {other} of the others."
        f" Instructions planted in a text change its verdict in {flipped} of cases, and hide a stated diagnosis in"
        f" {hidden}."
    )
