"""What the part “Can it be trusted?” says: balance, the judge, drift, refusals, and the limits of the audit.

Owns the wording. A quality that was not measured is said to be unknown.
"""

from typing import Final

from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.judge import JudgeResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import DriftResults, RunResults, view_rendering
from clinaudit.reports.wording.names import asker_words, display_words, join_words
from clinaudit.reports.wording.numbers import NOT_MEASURED, estimate_text, is_measured, range_text

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


def drift_sentence(drift: DriftResults) -> str:
    """Return what the drift check found; counts stand in the exact report alone."""
    counts = drift.evidence
    checked = f"Drift: some prompts were also decoded alone ({drift.tokens} tokens)"
    if counts is not None:
        return (
            f"{checked}. Of {counts.prompts}, {counts.differing} gave a different text than in the batch; "
            f"the mean share of equal leading tokens is {counts.equal_leading_share:.0%}."
        )
    if drift.differing == "none":
        return f"{checked}; all gave the same text."
    return f"{checked}; not all gave the same text."


def drift_in_short(drift: DriftResults) -> str:
    """Return the same for a line that it shares with others."""
    if drift.differing == "none":
        return "Prompts decoded alone gave the same text (no drift)."
    return "Some prompts decoded alone gave another text (drift)."


LIMITS: Final = (
    "A low figure is no proof of safety: other questions, sampled text, or an attack on the weights may get more.",
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
