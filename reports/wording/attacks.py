"""What is said of attacks, in sentences: of queries needed, of membership, and of everyday tasks.

A figure of membership is of the whole split, never of one patient.
"""

import math
from typing import Final

from clinaudit.reports.schema.attacks import BlindFeature, MembershipResults, MembershipScore, OrdinaryResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.names import BEFORE_TRAINING, QUERIES_NEEDED, asker_words, join_words, order_tiers
from clinaudit.reports.wording.numbers import count_text, counted, estimate_text, is_measured, percent_text
from clinaudit.reports.wording.verdict import failed_rules

#: Numbers of queries within which nobody's text may come, the largest first. With a hundredth of them each text comes
#: with a chance below 1 - 0.5^(1/100) = 0.7%.
_PATIENCE: Final = (10_000, 1_000, 100)
_HUNDREDTH: Final = 100


def limits_of(results: RunResults, tier: str) -> dict[int, float]:
    """Return the policy's limits at a tier, by number of queries."""
    rules = [] if results.decision is None else results.decision.rules
    return {
        rule.limit.queries: rule.limit.max for rule in rules if rule.limit.queries is not None and rule.tier == tier
    }


def queries_fail(results: RunResults) -> bool:
    """Whether a rule on queries needed failed."""
    return any(rule.metric == QUERIES_NEEDED for rule in failed_rules(results.decision))


def queries_sentences(results: RunResults) -> list[str]:
    """Return what 1,000 questions give at the least knowledge at which anything comes, and what few questions give."""
    if not results.queries:
        return [f"Queries needed were not measured: {results.not_scored}."] if results.not_scored else []
    tiers = [tier for tier in order_tiers(results.queries) if "train" in results.queries[tier]]
    measured = {tier: share for tier in tiers if (share := _within(results, tier, "train", 1_000)) is not None}
    if not measured:
        return []
    # The least knowledge at which anything comes.
    tier = next((tier for tier, share in measured.items() if share.low), next(iter(measured)))
    beside = {"never seen": _within(results, tier, "nontrain", 1_000)}
    beside[f"the model {BEFORE_TRAINING}"] = results.queries[tier]["train"].share(1_000, by_control=True)
    others = [f"{who}: {estimate_text(share, share=True)}" for who, share in beside.items() if is_measured(share)]
    compared = f" ({'; '.join(others)})" if others else ""
    asker = asker_words(tier)
    sentences = [
        f"{asker[:1].upper()}{asker[1:]} and asks 1,000 times at temperature 1 gets, with an even chance or better, the"
        f" patient’s own text for {estimate_text(measured[tier], share=True)} of the patients trained on{compared}."
    ]
    safe = next((most for most in _PATIENCE if _nobody_within(results, tiers, most)), None)
    if safe is not None:
        few = counted(safe // _HUNDREDTH, "query", "queries")
        sentences.append(
            f"{safe:,} queries are enough for none of them, whoever asks. So {few} about a patient"
            f" {'gives' if safe == _HUNDREDTH else 'give'} this text, word for word, with a chance below 1%."
        )
    return sentences


def _within(results: RunResults, tier: str, arm: Arm, queries: int) -> EstimateRange | None:
    own = results.queries[tier].get(arm)
    share = None if own is None else own.share(queries)
    return share if is_measured(share) else None


def _nobody_within(results: RunResults, tiers: list[str], queries: int) -> bool:
    shares = [_within(results, tier, "train", queries) for tier in tiers]
    return all(share is not None and share.high == 0 for share in shares)


SCORE_TITLES: Final[dict[MembershipScore, str]] = {
    "ratio": "likelihood under the model against that under the control model",
    "min_k_plus_plus": "Min-K%++",
    "loss": "likelihood under the model",
}
_FEATURES: Final[dict[BlindFeature, str]] = {
    "words": "words",
    "lengths": "lengths of notes",
    "number": "number of notes",
    "dates": "dates of visits",
}
_CHANCE: Final = 0.5


def membership_sentence(results: MembershipResults) -> str:
    """Return in one sentence whether the model tells who was trained on, or why that is not known."""
    if results.is_interpretable is False:
        return f"Whether the model tells who was trained on cannot be said: {difference_text(results)}."
    if not is_measured(results.auroc):
        return f"Whether the model tells who was trained on was not measured: {results.auroc.reason}."
    beside = "more than" if (results.auroc.confidence_low or 0.0) > _CHANCE else "not shown to be more than"
    return (
        "Of a patient trained on and one never seen, the model finds the notes of the former more familiar with a"
        f" probability of {estimate_text(results.auroc, interval=True)}, {beside} the 0.5 of chance."
    )


def difference_text(results: MembershipResults) -> str:
    """Return by what the arms are told apart without the model."""
    if results.is_interpretable:
        return "without the model, the notes do not tell both groups apart"
    if not results.differ_in:
        return "without the model, words, lengths, number and dates of the notes together tell both groups apart"
    words = join_words([_FEATURES[name] for name in results.differ_in])
    return f"without the model, both groups are told apart by {words} alone"


def ordinary_sentence(ordinary: OrdinaryResults) -> str:
    """Return a sentence or two: how many everyday tasks brought back text of a patient the model was trained on."""
    text = ordinary.text
    if not is_measured(text.share) or text.share.confidence_high is None:
        return "Everyday tasks were not measured: none fits into the model’s context."
    asked = f"{counted(ordinary.tasks, 'everyday task')} about nobody brought back text from"
    # Rounded outwards, to one decimal: the limit is one percent.
    interval = f"(95% interval up to {percent_text(math.ceil(1000 * text.share.confidence_high - 1e-9) / 1000)})"
    if not text.tasks.high:
        short = f" {counted(ordinary.short, 'task')} got no answer long enough to hold any." if ordinary.short else ""
        return f"None of {asked} a patient the model was trained on {interval}.{short}"
    chance = "" if text.chance is None else f"; of as many it never saw, by chance: {count_text(text.chance.tasks)}"
    return (
        f"{count_text(text.tasks)} of {asked} patients the model was trained on {interval}{chance}; patients concerned:"
        f" {count_text(text.patients)}."
    )
