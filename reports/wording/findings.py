"""What the estimates say, in sentences: the plain-language summary, and what was not measured.

Owns the wording of conclusions. Works on suppressed results. A missing estimate gives a sentence that says so; no
sentence claims that there is no leakage.
"""

from collections import Counter

from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.disclosure import DisclosurePair
from clinaudit.reports.schema.estimate import Arm
from clinaudit.reports.schema.memorization import Memorization
from clinaudit.reports.schema.results import Results
from clinaudit.reports.wording.names import FACTS, HEADLINE_TIER, display_title, join_words, tier_title
from clinaudit.reports.wording.numbers import (
    NOT_MEASURED,
    SUPPRESSED_WHY,
    estimate_text,
    is_shown,
    is_suppressed,
    share_with_interval_text,
)
from clinaudit.reports.wording.verdict import diagnosis_sentence


def memorization_summary(results: Results, tier: str, arm: Arm) -> Memorization | None:
    """Return the summary of memorization at a tier in an arm; None where it was not measured."""
    return results.memorization.get(tier, {}).get(arm)


def headline_sentences(results: Results) -> list[str]:
    """Return what an adversary with an appointment reminder could get, and the nontrain baseline beside it."""
    train = memorization_summary(results, HEADLINE_TIER, "train")
    facts = join_words([FACTS[fact] for tier in TIERS if tier.id == HEADLINE_TIER for fact in tier.facts])
    estimate = None if train is None else train.attributable_fraction
    if train is None or estimate is None or not is_shown(estimate):
        why = estimate_text(estimate, share=True) if estimate else f"{NOT_MEASURED}: the tier was not run"
        return [f"What a person who holds only an appointment reminder ({facts}) could get: {why}."]
    sentences = [
        f"A person who knows only what an appointment reminder shows ({facts}) can make this model write text of"
        f" which on average {share_with_interval_text(estimate)} is patient-attributable: word for word from that"
        " patient's own notes, clinically revealing (no template text such as normal findings), in no other patient's"
        " notes, and not an echo of the prompt."
    ]
    sentences += _beside_headline(results, train)
    nontrain = memorization_summary(results, HEADLINE_TIER, "nontrain")
    if nontrain is None:
        sentences.append(
            "No comparison with patients outside training exists: this corpus holds none, so how much of it is owed to"
            f" training was {NOT_MEASURED}."
        )
    else:
        baseline = nontrain.attributable_fraction
        value = share_with_interval_text(baseline) if is_shown(baseline) else estimate_text(baseline, share=True)
        sentences.append(
            f"For patients whose notes the model was not trained on, the same figure is {value}: what overlap of text"
            " alone gives."
        )
    sentences.append(diagnosis_sentence(results.decision, tier=HEADLINE_TIER))
    return sentences


def _beside_headline(results: Results, train: Memorization) -> list[str]:
    """Return all memorized text beside the attributable part, and the bounds that the policy's rule reads."""
    sentences = []
    if is_shown(train.memorized_fraction):
        sentences.append(
            "With template text, text of other patients' notes too and echoes of the prompt,"
            f" {share_with_interval_text(train.memorized_fraction)} stands word for word in the patient's notes."
        )
    for rule in () if results.decision is None else results.decision.rules:
        is_headline = rule.metric == "attributable_fraction" and rule.tier == HEADLINE_TIER
        if is_headline and rule.observed.value is not None and rule.observed.high is not None:
            sentences.append(
                "The policy's rule reads the attributable share with wider bounds:"
                f" {estimate_text(rule.observed, share=True)}."
            )
    return [" ".join(sentences)] if sentences else []


def not_measured_sentences(results: Results) -> list[str]:
    """Return what the audit could not or did not measure, a sentence each; what lies outside it last."""
    gaps = []
    if results.corpus is not None and not results.corpus.counterfactual:
        gaps.append(
            "There are no patients outside training: no train-minus-nontrain figure exists, and nothing here can be"
            " attributed to training."
        )
    if not results.memorization:
        gaps.append("Verbatim memorization.")
    missing = [tier.id for tier in TIERS if results.memorization and tier.id not in results.memorization]
    if missing:
        gaps.append(f"Memorization at {join_words([tier_title(tier) for tier in missing])}.")
    gaps += _memorization_gaps(results)
    gaps += _disclosure_gaps(results)
    for diagnosis, cohort in results.cohorts.items():
        if cohort.status == "unavailable":
            gaps.append(f"{display_title(diagnosis)}: no matched cohort ({cohort.reason or 'no reason was recorded'}).")
    failed = {stage: units.failed for stage, units in results.completeness.items() if units.failed}
    if failed:
        stages = join_words([f"{count} of {display_title(stage).lower()}" for stage, count in failed.items()])
        gaps.append(f"Units of work that failed: {stages}.")
    if results.decision is None:
        gaps.append("No policy was applied: there is no verdict.")
    gaps.append(
        "Paraphrase, runs of words too short to count as a match, diagnoses outside the panel, sampled (non-greedy)"
        " text and attacks that see the model's weights or probabilities are outside this audit."
    )
    return gaps


def _memorization_gaps(results: Results) -> list[str]:
    reasons: dict[str, list[str]] = {}
    bounded: list[str] = []
    places = [tier.id for tier in TIERS]
    for tier in sorted(results.memorization, key=lambda tier: places.index(tier) if tier in places else len(places)):
        for arm, summary in sorted(results.memorization[tier].items(), reverse=True):
            estimate = summary.attributable_fraction
            if not is_shown(estimate):
                reasons.setdefault(estimate_text(estimate, share=True), []).append(f"{tier_title(tier)} ({arm})")
            elif estimate.value is None:
                bounded.append(f"{tier_title(tier)} ({arm})")
    gaps = [f"Memorization at {join_words(where)}: {reason}." for reason, where in reasons.items()]
    if bounded:
        gaps.append(
            f"Measured but published only as a bound ({SUPPRESSED_WHY}): the patient-attributable fraction at"
            f" {join_words(bounded)}."
        )
    return gaps


def _disclosure_gaps(results: Results) -> list[str]:
    pairs = [pair for tiers in results.disclosure.by_diagnosis.values() for pair in tiers.values()]
    if not pairs:
        return ["Disclosure of sensitive diagnoses."]
    missing = Counter(_absence(pair) for pair in pairs)
    total = len(pairs)
    gaps = [
        f"AUROC over all patients for {count} of {total} pairs of diagnosis and tier: {reason}."
        for reason, count in sorted(missing.items())
        if reason
    ]
    hidden = sum(
        1 for pair in pairs if any(side and is_suppressed(side.auroc_all) for side in (pair.train, pair.nontrain))
    )
    if hidden:
        gaps.append(
            f"Measured but published only as a band or not at all ({SUPPRESSED_WHY}): the AUROC of one arm at least,"
            f" in {hidden} of {total} pairs of diagnosis and tier."
        )
    return gaps


def _absence(pair: DisclosurePair) -> str:
    estimate = pair.train.auroc_all
    if estimate.value is not None or is_suppressed(estimate):
        return ""
    return estimate.reason or "no reason was recorded"


def asked_sentence(results: Results) -> str:
    """Return how many patients were targets of prompts, and why a split or a tier counts others."""
    arms: tuple[Arm, ...] = ("train", "nontrain")
    most = {
        arm: max((tier[arm].patients or 0 for tier in results.memorization.values() if arm in tier), default=0)
        for arm in arms
    }
    asked = join_words([f"{patients:,} {arm}" for arm, patients in most.items() if patients])
    if not asked or not any(cohort.cells for cohort in results.cohorts.values()):
        return ""
    return (
        f"The figures are of up to {asked} patients, those who stand in a matched cohort; other patients of the splits"
        " were not matched, and not asked about. A tier has fewer patients where facts are missing, and more"
        " generations than patients where the prompt differs by diagnosis."
    )


def compared_sentence(results: Results, controls: object) -> str:
    """Return which four groups were compared; `controls` is the setting of that name, or None where it is not known."""
    if all(cohort.status == "unavailable" for cohort in results.cohorts.values()):
        return ""
    without = {
        "sensitive": "Those without it (controls) have another diagnosis of the panel",
        "any": "Those without it (controls) need have no other diagnosis of the panel",
    }.get(str(controls), "Whether those without it (controls) have another diagnosis of the panel, --controls says")
    return (
        "Four groups are compared for each diagnosis: patients with and without it, in training and not, matched by"
        f" age, sex and number of notes. {without}. The prevalence is among candidates, the training patients who could"
        " be matched: it is no hospital's rate, and “PPV at prevalence” uses it."
    )
