"""How often the model refused to answer, in a sentence: a refusal is no evidence of safety.

Owns these words for every output. Works on what is published.
"""

from typing import Final

from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import RunResults, view_rendering
from clinaudit.reports.wording.names import asker_words
from clinaudit.reports.wording.numbers import range_text

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
