"""What the numbers say, in sentences: the plain-language summary and what was not measured.

Owns the wording of conclusions. Works on suppressed results; a missing figure gives a sentence that says so, and no
sentence claims that there is no leakage.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from clinaudit.priors.tiers import TIERS
from clinaudit.reports.results import Arm, DisclosurePair, Estimate, Memorization, Results, TestedDelta
from clinaudit.reports.verdict_sentences import diagnosis_sentence
from clinaudit.reports.wording import (
    FACTS,
    NOT_MEASURED,
    SUPPRESSED_WHY,
    figure,
    is_suppressed,
    join_words,
    label,
    percent,
    says_nothing,
    tier_title,
)

#: The tier of the headline: what an appointment reminder shows.
HEADLINE_TIER = "encounter"


def memorization_at(results: Results, tier: str, arm: Arm) -> Memorization | None:
    """Return the memorization figures of a tier in an arm, where there are any."""
    return results.memorization.get(tier, {}).get(arm)


def headline(results: Results) -> list[str]:
    """Return what an adversary with an appointment reminder could get, and the baseline beside it."""
    train = memorization_at(results, HEADLINE_TIER, "train")
    facts = join_words([FACTS[fact] for tier in TIERS if tier.id == HEADLINE_TIER for fact in tier.facts])
    estimate = None if train is None else train.attributable_fraction
    if train is None or estimate is None or not _is_told(estimate):
        why = figure(estimate, share=True) if estimate else f"{NOT_MEASURED}: the tier was not run"
        return [f"What a person who holds only an appointment reminder ({facts}) could get: {why}."]
    sentences = [
        f"A person who knows only what an appointment reminder shows ({facts}) can make this model write text of"
        f" which on average {_with_interval(estimate)} is patient-attributable: word for word from that patient's own"
        " notes, clinically revealing (no template text such as normal findings), in no other patient's notes, and not"
        " an echo of the prompt."
    ]
    sentences += _beside_headline(results, train)
    nontrain = memorization_at(results, HEADLINE_TIER, "nontrain")
    if nontrain is None:
        sentences.append(
            "No comparison with patients outside training exists: this corpus holds none, so how much of it is owed to"
            f" training was {NOT_MEASURED}."
        )
    else:
        baseline = nontrain.attributable_fraction
        value = _with_interval(baseline) if _is_told(baseline) else figure(baseline, share=True)
        sentences.append(
            f"For patients whose notes the model was not trained on, the same figure is {value}: what overlap of text"
            " alone gives."
        )
    sentences.append(diagnosis_sentence(results.decision, tier=HEADLINE_TIER))
    return sentences


def _beside_headline(results: Results, train: Memorization) -> list[str]:
    """Return what the attributable part is a part of, and what the policy's rule reads of it."""
    sentences = []
    if _is_told(train.memorized_fraction):
        sentences.append(
            "With template text, text of other patients' notes too and echoes of the prompt,"
            f" {_with_interval(train.memorized_fraction)} stands word for word in the patient's notes."
        )
    for rule in () if results.decision is None else results.decision.rules:
        is_headline = rule.metric == "attributable_fraction" and rule.tier == HEADLINE_TIER
        if is_headline and rule.observed.value is not None and rule.observed.high is not None:
            sentences.append(
                "The policy's rule reads the attributable share with wider bounds:"
                f" {figure(rule.observed, share=True)}."
            )
    return [" ".join(sentences)] if sentences else []


def not_measured(results: Results) -> list[str]:
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
            gaps.append(f"{label(diagnosis)}: no matched cohort ({cohort.reason or 'no reason was recorded'}).")
    failed = {stage: units.failed for stage, units in results.completeness.items() if units.failed}
    if failed:
        stages = join_words([f"{count} of {label(stage).lower()}" for stage, count in failed.items()])
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
        for arm, figures in sorted(results.memorization[tier].items(), reverse=True):
            estimate = figures.attributable_fraction
            if not _is_told(estimate):
                reasons.setdefault(figure(estimate, share=True), []).append(f"{tier_title(tier)} ({arm})")
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


def _is_told(estimate: Estimate) -> bool:
    """Whether there is a value, or the range that stands for a hidden one."""
    return estimate.value is not None or (is_suppressed(estimate) and estimate.high is not None)


def _with_interval(estimate: Estimate) -> str:
    if estimate.value is None:
        return _bound(estimate)
    value = percent(estimate.value)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} (95% interval {percent(estimate.low)} to {percent(estimate.high)})"


def _bound(estimate: Estimate) -> str:
    """Return a suppressed share as what can be said of it."""
    if says_nothing(estimate, share=True):
        return figure(estimate, share=True)
    low, high = estimate.low or 0.0, 1.0 if estimate.high is None else estimate.high
    text = f"at most {percent(high)}" if low == 0 else f"at least {percent(low)}"
    return f"{text} (exact figure suppressed)"


def asked_sentence(results: Results) -> str:
    """Return how many patients the memorization figures are of, and why a split or a tier counts others."""
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
    """Return who was compared with whom; `controls` is the setting of that name, or None where it is not known."""
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


def gradient_caption(results: Results) -> str:
    """Return what the memorization chart shows, from its own numbers."""
    in_train = {
        tier: arms["train"].memorized_fraction for tier, arms in results.memorization.items() if "train" in arms
    }
    ladder = [tier.id for tier in TIERS if tier.id in in_train and _is_told(in_train[tier.id])]
    if len(ladder) < 2:
        return f"The gradient over tiers was {NOT_MEASURED}."
    first, last = in_train[ladder[0]], in_train[ladder[-1]]
    told = [
        f"{percent(mean.value) if mean.value is not None else _bound(mean)} ({tier_title(tier)})"
        for mean, tier in ((first, ladder[0]), (last, ladder[-1]))
    ]
    share = "In train the share of a generation that stands word for word in the patient's notes"
    if first.value is None or last.value is None:
        text = f"{share} is {told[0]} and {told[1]}"
    else:
        text = f"{share} {'rises' if _rises(in_train, ladder) else 'goes'} from {told[0]} to {told[1]}"
        lower = [f"{percent(now)} at {tier_title(tier)}" for tier, _, _, now in _lower_than_before(in_train)]
        if lower and last.value > first.value:
            text += f", though not up at every step: {join_words(lower)}"
    return f"{text}.{_headline_gap(results)}{_less_left(results)}"


def _rises(means: Mapping[str, Estimate], ladder: Sequence[str]) -> bool:
    """Whether a mean is larger at every tier than at the one before; not told of one that is hidden."""
    values = [means[tier].value for tier in ladder]
    return all(now is not None and then is not None and now > then for then, now in pairwise(values))


def _lower_than_before(means: Mapping[str, Estimate]) -> list[tuple[str, str, float, float]]:
    """Return tier, the tier before it, and both values, where the shown share falls from one tier to the next."""
    ladder = [(tier.id, means[tier.id].value) for tier in TIERS if tier.id in means]
    return [
        (tier, before, then, now)
        for (before, then), (tier, now) in pairwise(ladder)
        if then is not None and now is not None and now < then and percent(now) != percent(then)
    ]


def _less_left(results: Results) -> str:
    """Say why the attributable fraction can fall where the prompt holds more of the note."""
    fragments = {
        tier.id: results.memorization[tier.id]["train"].attributable_fraction
        for tier in TIERS
        if tier.is_fragment and "train" in results.memorization.get(tier.id, {})
    }
    return "".join(
        f" In train the attributable fraction falls from {percent(then)} at {tier_title(before)} to {percent(now)} at"
        f" {tier_title(tier)}, as it can: what stands in the prompt does not count, and who holds more of the note has"
        " less left to learn."
        for tier, before, then, now in _lower_than_before(fragments)[:1]
    )


def _headline_gap(results: Results) -> str:
    train = memorization_at(results, HEADLINE_TIER, "train")
    nontrain = memorization_at(results, HEADLINE_TIER, "nontrain")
    if train is None or nontrain is None:
        return " There is no nontrain arm to compare with." if train is not None else ""
    inside, outside = train.attributable_fraction, nontrain.attributable_fraction
    if not _is_told(inside) and not _is_told(outside):
        return f" The attributable fraction at {tier_title(HEADLINE_TIER)} was {NOT_MEASURED} in both arms."
    if not _is_told(inside) or not _is_told(outside):
        return f" The attributable fraction at {tier_title(HEADLINE_TIER)} was {NOT_MEASURED} in one of the arms."
    apart = inside.low is not None and outside.high is not None and inside.low > outside.high
    ranges = "intervals" if inside.value is not None and outside.value is not None else "ranges"
    verdict = f"the {ranges} do not overlap" if apart else f"the {ranges} overlap"
    values = [percent(mean.value) if mean.value is not None else _bound(mean) for mean in (inside, outside)]
    return (
        f" The attributable fraction at {tier_title(HEADLINE_TIER)} is {values[0]} in train and"
        f" {values[1]} in nontrain; {verdict}."
    )


def composition_caption(totals: Mapping[str, int], *, hidden: Sequence[str] = ()) -> str:
    """Return what the composition chart shows; `totals` are tokens by kind, in the palette's order.

    Of the kinds in `hidden` only a part, or nothing, is published.
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
        f"Of the memorized tokens {percent(single / total)} are clinically revealing and in no other patient's notes;"
        f" {percent(templated / total)} are template text."
    )


def delta_caption(values: Mapping[str, Estimate | None], metric: str) -> str:
    """Return what a delta chart shows at the headline tier; `values` are its deltas by diagnosis."""
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
    """Return how memorized regions join several notes at the headline tier in train."""
    figures = memorization_at(results, HEADLINE_TIER, "train")
    if figures is None:
        return f"Stitching was {NOT_MEASURED}."
    stitched, sources, shared = figures.stitched_share, figures.source_notes_mean, figures.multi_patient_share
    return (
        f"At {tier_title(HEADLINE_TIER)} in train: regions stitched from several notes, {figure(stitched, share=True)};"
        f" source notes of a generation, {figure(sources)}; pieces that other patients' notes hold too,"
        f" {figure(shared, share=True)}."
    )


def near_verbatim_caption(results: Results) -> str:
    """Return what near-verbatim text is, that it is counted separately, and how much of it there is."""
    measured = [
        figures.near_verbatim
        for arms in results.memorization.values()
        for figures in arms.values()
        if figures.near_verbatim is not None
    ]
    if not measured:
        return f"Near-verbatim text was {NOT_MEASURED}."
    text = (
        "Counted separately, never part of the figures above: text that stands in the patient's own notes but for small"
        f" edits, at most {measured[0].edit_budget} tokens added, left out or changed in any {measured[0].window} in a"
        " row. Exact matches are among it; “beyond verbatim” is what they miss."
    )
    figures = memorization_at(results, HEADLINE_TIER, "train")
    near = None if figures is None else figures.near_verbatim
    if near is None:
        return text
    return (
        f"{text} At {tier_title(HEADLINE_TIER)} in train: near-verbatim {figure(near.fraction, share=True)}, beyond"
        f" verbatim {figure(near.extra_fraction, share=True)}; tokens of the longest such region of a"
        f" generation, {figure(near.longest_region)}."
    )
