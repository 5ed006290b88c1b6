"""Captions of the charts, made from the numbers that the charts show.

Owns what a caption concludes. Works on suppressed results.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.disclosure import TestedDelta
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.results import Results
from clinaudit.reports.wording.findings import memorization_summary
from clinaudit.reports.wording.names import HEADLINE_TIER, join_words, tier_title
from clinaudit.reports.wording.numbers import (
    NOT_MEASURED,
    bound_text,
    estimate_text,
    is_shown,
    is_suppressed,
    percent_text,
)


def gradient_caption(results: Results) -> str:
    """Return the caption of the chart of memorization by tier: the gradient, and train beside nontrain."""
    in_train = {
        tier: arms["train"].memorized_fraction for tier, arms in results.memorization.items() if "train" in arms
    }
    tiers = [tier.id for tier in TIERS if tier.id in in_train and is_shown(in_train[tier.id])]
    if len(tiers) < 2:
        return f"The gradient over tiers was {NOT_MEASURED}."
    first, last = in_train[tiers[0]], in_train[tiers[-1]]
    shown = [
        f"{percent_text(mean.value) if mean.value is not None else bound_text(mean)} ({tier_title(tier)})"
        for mean, tier in ((first, tiers[0]), (last, tiers[-1]))
    ]
    share = "In train the share of a generation that stands word for word in the patient's notes"
    if first.value is None or last.value is None:
        text = f"{share} is {shown[0]} and {shown[1]}"
    else:
        text = f"{share} {'rises' if _rises(in_train, tiers) else 'goes'} from {shown[0]} to {shown[1]}"
        lower = [f"{percent_text(now)} at {tier_title(tier)}" for tier, _, _, now in _lower_than_before(in_train)]
        if lower and last.value > first.value:
            text += f", though not up at every step: {join_words(lower)}"
    return f"{text}.{_headline_gap(results)}{_less_left(results)}"


def _rises(means: Mapping[str, Estimate], tiers: Sequence[str]) -> bool:
    """Whether a mean is larger at every tier than at the one before; false where a mean is suppressed."""
    values = [means[tier].value for tier in tiers]
    return all(now is not None and then is not None and now > then for then, now in pairwise(values))


def _lower_than_before(means: Mapping[str, Estimate]) -> list[tuple[str, str, float, float]]:
    """Return tier, the tier before it, and both values, where the shown share falls from one tier to the next."""
    tiers = [(tier.id, means[tier.id].value) for tier in TIERS if tier.id in means]
    return [
        (tier, before, then, now)
        for (before, then), (tier, now) in pairwise(tiers)
        if then is not None and now is not None and now < then and percent_text(now) != percent_text(then)
    ]


def _less_left(results: Results) -> str:
    """Say why the attributable fraction can fall where the prompt holds more of the note."""
    fragments = {
        tier.id: results.memorization[tier.id]["train"].attributable_fraction
        for tier in TIERS
        if tier.is_fragment and "train" in results.memorization.get(tier.id, {})
    }
    return "".join(
        f" In train the attributable fraction falls from {percent_text(then)} at {tier_title(before)} to"
        f" {percent_text(now)} at {tier_title(tier)}, as it can: what stands in the prompt does not count, and who"
        " holds more of the note has less left to learn."
        for tier, before, then, now in _lower_than_before(fragments)[:1]
    )


def _headline_gap(results: Results) -> str:
    train = memorization_summary(results, HEADLINE_TIER, "train")
    nontrain = memorization_summary(results, HEADLINE_TIER, "nontrain")
    if train is None or nontrain is None:
        return " There is no nontrain arm to compare with." if train is not None else ""
    inside, outside = train.attributable_fraction, nontrain.attributable_fraction
    if not is_shown(inside) and not is_shown(outside):
        return f" The attributable fraction at {tier_title(HEADLINE_TIER)} was {NOT_MEASURED} in both arms."
    if not is_shown(inside) or not is_shown(outside):
        return f" The attributable fraction at {tier_title(HEADLINE_TIER)} was {NOT_MEASURED} in one of the arms."
    apart = inside.low is not None and outside.high is not None and inside.low > outside.high
    ranges = "intervals" if inside.value is not None and outside.value is not None else "ranges"
    verdict = f"the {ranges} do not overlap" if apart else f"the {ranges} overlap"
    values = [percent_text(mean.value) if mean.value is not None else bound_text(mean) for mean in (inside, outside)]
    return (
        f" The attributable fraction at {tier_title(HEADLINE_TIER)} is {values[0]} in train and"
        f" {values[1]} in nontrain; {verdict}."
    )


def composition_caption(totals: Mapping[str, int], *, hidden: Sequence[str] = ()) -> str:
    """Return the caption of the composition chart; `totals` are tokens by kind, in the palette's order.

    Of the kinds in `hidden` only a part of the tokens, or nothing, is published.
    """
    total = sum(totals.values())
    if hidden:
        return (
            f"Composition by section is suppressed in part, for text that is “{'” or “'.join(hidden)}”. Shares of the"
            " whole cannot be told."
        )
    if total == 0:
        return f"Composition by section was {NOT_MEASURED}: no memorized token has a section."
    templated = sum(tokens for kind, tokens in totals.items() if kind.startswith("templated"))
    single = totals.get("revealing, this patient only", 0)
    return (
        f"Of the memorized tokens {percent_text(single / total)} are clinically revealing and in no other patient's"
        f" notes; {percent_text(templated / total)} are template text."
    )


def delta_caption(values: Mapping[str, Estimate | None], metric: str) -> str:
    """Return the caption of a chart of deltas, at the headline tier; `values` are its deltas by diagnosis."""
    place = tier_title(HEADLINE_TIER)
    exact = {name: delta for name, delta in values.items() if delta is not None and delta.value is not None}
    bands = {name: delta for name, delta in values.items() if is_suppressed(delta) and delta and delta.low is not None}
    if not exact and not bands:
        return f"At {place} the difference was {NOT_MEASURED} or is suppressed for every diagnosis."
    parts = []
    if exact:
        parts.append(f"95% interval above zero for {_above_zero(exact)} (of {len(exact)} shown)")
    if bands:
        with_chance = {
            name: delta.model_copy(update={"low": delta.confidence_low})
            for name, delta in bands.items()
            if isinstance(delta, TestedDelta) and delta.confidence_low is not None
        }
        if with_chance:
            parts.append(f"band and chance together above zero for {_above_zero(with_chance)} (of {len(bands)} bands)")
        else:
            parts.append(f"band above zero for {_above_zero(bands)} (of {len(bands)} shown; a band leaves out chance)")
    return f"{metric} at {place}: {'; '.join(parts)}."


def _above_zero(deltas: Mapping[str, Estimate]) -> str:
    above = [name for name, delta in deltas.items() if delta.low is not None and delta.low > 0]
    return join_words(above) if above else "no diagnosis"


def stitched_caption(results: Results) -> str:
    """Return how many memorized regions are stitched from several notes, at the headline tier in train."""
    summary = memorization_summary(results, HEADLINE_TIER, "train")
    if summary is None:
        return f"Stitching was {NOT_MEASURED}."
    stitched, sources, shared = summary.stitched_share, summary.source_notes_mean, summary.multi_patient_share
    return (
        f"At {tier_title(HEADLINE_TIER)} in train: regions stitched from several notes,"
        f" {estimate_text(stitched, share=True)}; source notes of a generation, {estimate_text(sources)};"
        f" pieces that other patients' notes hold too, {estimate_text(shared, share=True)}."
    )


def near_verbatim_caption(results: Results) -> str:
    """Return what near-verbatim text is, that it is counted separately, and how much of it there is."""
    measured = [
        summary.near_verbatim
        for arms in results.memorization.values()
        for summary in arms.values()
        if summary.near_verbatim is not None
    ]
    if not measured:
        return f"Near-verbatim text was {NOT_MEASURED}."
    text = (
        "Counted separately, never part of the figures above: text that stands in the patient's own notes but for small"
        f" edits, at most {measured[0].edit_budget} tokens added, left out or changed in any {measured[0].window} in a"
        " row. Exact matches are among it; “beyond verbatim” is what they miss."
    )
    summary = memorization_summary(results, HEADLINE_TIER, "train")
    near = None if summary is None else summary.near_verbatim
    if near is None:
        return text
    return (
        f"{text} At {tier_title(HEADLINE_TIER)} in train: near-verbatim {estimate_text(near.fraction, share=True)},"
        f" beyond verbatim {estimate_text(near.extra_fraction, share=True)}; tokens of the longest such region of a"
        f" generation, {estimate_text(near.longest_region)}."
    )
