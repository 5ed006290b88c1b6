"""What was found, as natural frequencies: three figures that the first screen shows, and what was not tested.

Owns which figures are shown and their wording. A figure that is missing gives the reason; nothing claims that there is
no leakage.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from clinaudit.priors.fragments import FEWEST_OWN_PROMPTS
from clinaudit.priors.tiers import FRAGMENT_TIERS, TIERS
from clinaudit.reports.schema.attacks import AttackName
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, DiagnosisStatus, PairResults, Side, VerdictCounts
from clinaudit.reports.schema.memorization import FractionOfText, MemorizationResults
from clinaudit.reports.schema.numbers import CountRange, EstimateRange, add
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.captions import rule_limit
from clinaudit.reports.wording.names import (
    HEADLINE_TIER,
    SIDE_WORDS,
    display_title,
    display_words,
    join_words,
    list_tiers,
    tier_title,
)
from clinaudit.reports.wording.numbers import (
    NOT_MEASURED,
    count_text,
    interval_text,
    is_measured,
    part_text,
    percent_text,
    range_text,
)
from clinaudit.reports.wording.rule_figures import is_of_others
from clinaudit.reports.wording.verdict import failed_rules, is_guess

#: Of so many patients, or a class that begins there, a frequency tells nothing.
_FEW: Final = 10
_TOO_FEW: Final = "Too few asked"
#: The shares of an answer that the second figure may speak of, largest first.
_PARTS_OF_ANSWER: Final = (
    (0.5, "more than half of the answer"),
    (0.1, "more than a tenth of the answer"),
    (0.01, "more than a hundredth of the answer"),
    (0.0, "any of the answer"),
)
_ABOUT: Final[dict[Arm, str]] = {"train": "it was trained on", "nontrain": "it never saw"}
_NONE_TO_COMPARE: Final = "No patients were held out to compare with."

#: Attacks that an audit runs where it can, in a few words; without text, diagnoses or identifiers more is said.
_NOT_RUN: Final[Mapping[AttackName, str]] = {
    "queries_needed": "queries needed",
    "chat": "chats",
    "membership": "membership",
    "ordinary_use": "everyday tasks",
}
_NEVER_RUN: Final[frozenset[AttackName]] = frozenset(
    {"sampling", "canaries", "fine_tuning", "gradients", "optimised_prompts", "poisoning"}
)


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One figure of the first screen: a few large words, and what they mean."""

    headline: str
    text: str
    #: Stands below all of them.
    footnote: str = ""


def memorization_summary(results: RunResults, tier: str, arm: Arm) -> MemorizationResults | None:
    """Return the summary of memorization at a tier in an arm; None where it was not measured."""
    return results.memorization.get(tier, {}).get(arm)


def key_tier(results: RunResults) -> str | None:
    """Return the tier that the first screen speaks of; None where nothing was measured.

    The appointment reminder where a rule of it failed; else the failed tier of least knowledge; else the tier where
    most is repeated, the appointment reminder where they are alike.
    """
    tiers = list_tiers(results)
    failed = [tier for tier in tiers if tier in {rule.tier for rule in failed_rules(results.decision)}]
    if failed:
        return HEADLINE_TIER if HEADLINE_TIER in failed else failed[0]
    return max(tiers, key=lambda tier: (_most_repeated(results, tier), tier == HEADLINE_TIER), default=None)


def _most_repeated(results: RunResults, tier: str) -> float:
    summary = memorization_summary(results, tier, "train")
    mean = None if summary is None else summary.attributable_fraction.mean
    return -1.0 if mean is None else mean.high if mean.high is not None else mean.value or -1.0


def key_figures(results: RunResults) -> list[KeyFigure]:
    """Return the figures of the first screen: words repeated, patients affected, the diagnosis that leaks most.

    Where too much of other patients' text decided, it stands in the place of the patients affected.
    """
    tier = key_tier(results)
    if tier is None:
        return []
    of_others = any(is_of_others(rule) and rule.tier == tier for rule in failed_rules(results.decision))
    affected = other_words_figure(results, tier) if of_others else patients_figure(results, tier)
    figures = [repeated_words_figure(results, tier), affected, diagnosis_figure(results, tier)]
    return [figure for figure in figures if figure is not None]


def repeated_words_figure(results: RunResults, tier: str) -> KeyFigure:
    """Return what share of the text is the patient's own, beside the limit and the never-seen."""
    summary = memorization_summary(results, tier, "train")
    mean = None if summary is None else summary.attributable_fraction.mean
    if mean is None or not is_measured(mean):
        return KeyFigure("Not measured", f"Words repeated from the patient’s own notes: {_reason_of(mean)}.")
    limit = rule_limit(results, "attributable_fraction", tier)
    text = (
        "about a patient it was trained on is medical and from that patient’s notes alone."
        f" {'No limit was set' if limit is None else f'Limit: {percent_text(limit)}'}."
    )
    other = memorization_summary(results, tier, "nontrain")
    if other is None:
        text += f" {_NONE_TO_COMPARE}"
    elif is_measured(other.attributable_fraction.mean):
        text += f" Patients never seen: {_at_most(other.attributable_fraction.mean)}."
    interval = interval_text(mean, share=True)
    between = f"; 95% interval {interval}" if interval else ""
    return KeyFigure(
        f"{range_text(mean, share=True)} of the text*",
        text,
        f"* Share of tokens, averaged over patients{between}.",
    )


def other_words_figure(results: RunResults, tier: str) -> KeyFigure | None:
    """Return what share of the text is one other patient's, beside the limit; None where it was not measured.

    Asked about patients trained on, or those never seen where these alone broke the limit.
    """
    failed = [rule for rule in failed_rules(results.decision) if is_of_others(rule) and rule.tier == tier]
    arms: tuple[Arm, ...] = ("nontrain",) if {rule.arm for rule in failed} == {"nontrain"} else ("train", "nontrain")
    asked = results.memorization.get(tier, {})
    means = [(arm, asked[arm].estimate("other_patient_fraction")) for arm in arms if arm in asked]
    shown = [(arm, mean) for arm, mean in means if mean is not None and is_measured(mean)]
    if not shown:
        return None
    (arm, mean), *others = shown
    limit = next((rule.limit.max for rule in failed), None)
    text = (
        f"about a patient {_ABOUT[arm]} is medical and from one other patient’s notes."
        f"{'' if limit is None else f' Limit: {percent_text(limit)}.'}"
    )
    text += "".join(f" Asked about patients {_ABOUT[other]}: {_at_most(of)}." for other, of in others)
    interval = interval_text(mean, share=True)
    between = f", {interval}" if interval else ""
    return KeyFigure(f"{range_text(mean, share=True)} of the text†", text, f"† Likewise{between}.")


def patients_figure(results: RunResults, tier: str) -> KeyFigure | None:
    """Return of how many patients much of the answer is their own; None where it was not measured."""
    summary = memorization_summary(results, tier, "train")
    if summary is None or not summary.attributable_fraction.above or not summary.patients.high:
        return None
    threshold, part = _largest_part(summary.attributable_fraction)
    patients, rest = _patients_above(summary.attributable_fraction, threshold)
    if _are_few(summary.patients):
        return KeyFigure(
            _TOO_FEW,
            f"to say how many are affected: {part_text(patients, summary.patients, rest=rest)} it was trained on had "
            f"{part} taken from their own notes.",
        )
    text = f"patients it was trained on had {part} taken from their own notes."
    other = memorization_summary(results, tier, "nontrain")
    if other is None:
        return KeyFigure(_large(part_text(patients, summary.patients, rest=rest)), f"{text} {_NONE_TO_COMPARE}")
    others, other_rest = _patients_above(other.attributable_fraction, threshold)
    text += f" Patients never seen: {part_text(others, other.patients, rest=other_rest)}."
    return KeyFigure(_large(part_text(patients, summary.patients, rest=rest)), text)


def diagnosis_figure(results: RunResults, tier: str) -> KeyFigure | None:
    """Return of the diagnosis that leaks most: of how many who have it, and who have not, the model says so."""
    diagnosis = _leakiest_diagnosis(results, tier)
    if diagnosis is None:
        return None
    pair = results.disclosure.by_diagnosis[diagnosis][tier]
    have, *others = (stated_text(pair, side, status) for side in pair.compared for status in DIAGNOSIS_STATUSES)
    # All groups are of one size: it is said once.
    lack, *seen = (None if text is None else text.removesuffix(f" of {count_text(pair.patients)}") for text in others)
    if have is None or lack is None:
        return KeyFigure("Not measured", f"Whether the model can tell who has {display_words(diagnosis)}.")
    if _are_few(pair.patients):
        return KeyFigure(
            _TOO_FEW,
            f"to tell who has {display_words(diagnosis)}: {count_text(pair.patients)} in each group. Those trained on "
            f"and named as having it: {have} with it, {lack} without.",
        )
    named = f"patients it was trained on with {display_words(diagnosis)} are named as having it"
    text = f"{named}; of the same number without it: {lack}."
    if not seen or None in seen:
        text += f" {_NONE_TO_COMPARE}"
    else:
        who = f"{SIDE_WORDS[pair.compared[1]].capitalize()}{', a guess' if is_guess(pair) else ''}"
        text += f" {who}: {seen[0]} with it, {seen[1]} without."
    return KeyFigure(_large(have), text)


def stated_text(pair: PairResults, arm: Side, status: DiagnosisStatus) -> str | None:
    """Return of how many patients of a side and status the model says "has it": "all of 51–60"; None where unknown."""
    counts = pair.verdicts.get(arm, {}).get(status)
    if counts is None:
        return None
    rest = unstated_count(counts)
    if not counts.positive.high and not rest.high:
        return None
    return part_text(counts.positive, pair.patients, rest=rest)


def unstated_count(counts: VerdictCounts) -> CountRange:
    """Return the patients of whom the model does not say that they have it."""
    return add([counts.negative, counts.undecided, counts.unjudged])


def not_tested_words(results: RunResults) -> str:
    """Return what the audit did not test: what no audit of this kind tests, then what this run left out."""
    not_run = [of.name for of in results.attacks if of.status == "not run"]
    words = ["paraphrase", *(_NOT_RUN[name] for name in not_run if name in _NOT_RUN)]
    if others := sum(name in _NEVER_RUN for name in not_run):
        words.append(f"{others} attacks more (annex)")
    if results.corpus is not None and not results.corpus.counterfactual:
        words.append("patients never seen (there are none)")
    if not results.memorization:
        words.append("repeated text")
    else:
        missing = [tier.id for tier in TIERS if tier.id not in results.memorization]
        words += [f"asking with “{tier_title(tier)}”" for tier in missing]
    words += [
        f"“{tier_title(tier)}” (several patients had the same prompt)"
        for tier, arms in results.prompts.items()
        if tier in FRAGMENT_TIERS
        and tier in results.memorization
        and any((prompts.own_share.low or 0.0) < FEWEST_OWN_PROMPTS for prompts in arms.values())
    ]
    if not results.disclosure.by_diagnosis:
        words.append("diagnoses")
    if results.identifiers is None:
        words.append("identifiers")
    unmatched = [diagnosis for diagnosis, cohort in results.cohorts.items() if cohort.status == "unavailable"]
    if unmatched and len(unmatched) < len(results.cohorts):
        words.append(f"{join_words([display_title(name) for name in unmatched])} (nobody to compare)")
    if results.disclosure.by_diagnosis and results.judge_quality is None:
        words.append("how well the judge reads")
    return join_words(words)


def patients_words(results: RunResults) -> str:
    """Return how many patients were trained on, and how many never seen."""
    sizes = {}
    if results.corpus is not None:
        sizes = {arm: population.patients for arm, population in results.corpus.splits.items()}
    for arms in results.memorization.values():
        for arm, summary in arms.items():
            sizes.setdefault(arm, summary.patients)
    if not sizes:
        return NOT_MEASURED
    seen = f"{count_text(sizes['train'])} trained on" if "train" in sizes else "nobody trained on"
    return f"{seen}, {count_text(sizes['nontrain'])} never seen" if "nontrain" in sizes else f"{seen}, nobody held out"


def _largest_part(fraction: FractionOfText) -> tuple[float, str]:
    """Return the largest of the shares that somebody exceeds, and its words."""
    exceeded = {above.threshold for above in fraction.above if above.patients.high}
    known = {above.threshold for above in fraction.above}
    offered = [(threshold, words) for threshold, words in _PARTS_OF_ANSWER if threshold in known]
    return next(((threshold, words) for threshold, words in offered if threshold in exceeded), offered[-1])


def _patients_above(fraction: FractionOfText, threshold: float) -> tuple[CountRange, CountRange]:
    above = next((item.patients for item in fraction.above if item.threshold == threshold), CountRange(low=0, high=0))
    return above, add([item.patients for item in fraction.bins if item.high <= threshold])


def _leakiest_diagnosis(results: RunResults, tier: str) -> str | None:
    failed = {rule.diagnosis for rule in failed_rules(results.decision) if rule.tier == tier}
    pairs = {name: tiers[tier] for name, tiers in results.disclosure.by_diagnosis.items() if tier in tiers}

    def leak(name: str) -> tuple[bool, bool, float, str]:
        figures = pairs[name].delta or pairs[name].train
        area = figures.get("auroc_all")
        middle = -1.0 if area is None or area.low is None or area.high is None else (area.low + area.high) / 2
        return name not in failed, _are_few(pairs[name].patients), -middle, name

    return min(pairs, key=leak, default=None)


def _are_few(patients: CountRange) -> bool:
    return patients.low <= _FEW


def _at_most(mean: EstimateRange) -> str:
    high = next((end for end in (mean.confidence_high, mean.high, mean.value) if end is not None), 1.0)
    return f"at most {math.ceil(100 * high - 1e-9)}%"


def _reason_of(mean: EstimateRange | None) -> str:
    return (mean.reason if mean is not None else None) or "nobody was asked about"


def _large(text: str) -> str:
    return text[:1].upper() + text[1:]
