"""What is said of queries needed, in sentences."""

from collections.abc import Mapping
from typing import Final

from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.names import BEFORE_TRAINING, QUERIES_NEEDED, asker_words, order_tiers
from clinaudit.reports.wording.numbers import estimate_text, is_measured

#: A rate limit at which nobody's text comes is told of where these numbers bear it.
_PATIENCE: Final = (10_000, 1_000, 100, 10)
_WHO: Final[Mapping[Arm, str]] = {"train": "patients it was trained on", "nontrain": "patients it never saw"}


def limits_of(results: RunResults, tier: str) -> dict[str, float]:
    """Return the policy's limits at a tier, by number of queries."""
    rules = [] if results.decision is None else results.decision.rules
    return {
        str(rule.limit.queries): rule.limit.max for rule in rules if rule.metric == QUERIES_NEEDED and rule.tier == tier
    }


def queries_sentences(results: RunResults) -> list[str]:
    """Return what repeated questions give at the tier where they give most, and what a rate limit would prevent."""
    if not results.queries:
        return [f"Repeated questions: not measured ({results.not_scored})."] if results.not_scored else []
    tiers = [tier for tier in order_tiers(results.queries) if "train" in results.queries[tier]]
    measured = {tier: share for tier in tiers if (share := _within(results, tier, "train", 1_000)) is not None}
    if not measured:
        return []
    # The least knowledge at which anything comes.
    tier = next((tier for tier, share in measured.items() if share.low), next(iter(measured)))
    found = f"{estimate_text(measured[tier], share=True)} of {_WHO['train']}"
    other = _within(results, tier, "nontrain", 1_000)
    if other is not None:
        found += f" (never seen: {estimate_text(other, share=True)})"
    sentences = [
        f"Asked at most 1,000 times at temperature 1 by {asker_words(tier)}, the model gives text of their own, with an"
        f" even chance or better, of {found}."
    ]
    control = results.queries[tier]["train"].control_within
    if control is not None:
        sentences.append(f"The same model {BEFORE_TRAINING}: {estimate_text(control.get('1000'), share=True)}.")
    safe = next((most for most in _PATIENCE if _nobody_within(results, tiers, most)), None)
    if safe is not None and any(share.low for share in measured.values()):
        sentences.append(
            f"Of nobody within {safe:,}: a limit of so many queries for each person asked about would bind."
        )
    return sentences


def _within(results: RunResults, tier: str, arm: Arm, queries: int) -> EstimateRange | None:
    own = results.queries[tier].get(arm)
    share = None if own is None else own.within.get(str(queries))
    return share if is_measured(share) else None


def _nobody_within(results: RunResults, tiers: list[str], queries: int) -> bool:
    shares = [_within(results, tier, "train", queries) for tier in tiers]
    return all(share is not None and share.high == 0 for share in shares)
