"""What a rule is about, its limit, what was observed, and how many patients would decide it, in a few words."""

import math
from collections.abc import Iterable
from typing import Final

from clinaudit.reports.schema.decision import DecidedRule
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.schema.results import RunResults, view_rendering
from clinaudit.reports.wording.names import (
    ARM_WORDS,
    IDENTIFIER_METRICS,
    ORDINARY_TEXT,
    QUERIES_NEEDED,
    display_title,
    is_rate,
    is_share,
)
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, counted, estimate_text, is_measured, rate_text

OWN_NOTES, OTHERS_NOTES, IDENTIFIERS = "Own text", "Others’ text", "Identifiers"
#: What a rule is about that is about no diagnosis, in the order of the report.
SUBJECTS: Final = (OWN_NOTES, OTHERS_NOTES, IDENTIFIERS)
#: Of memorization, by metric.
_SUBJECTS: Final = {
    "attributable_fraction": OWN_NOTES,
    "near_verbatim_attributable_fraction": "Own text, edited",
    "other_patient_fraction": OTHERS_NOTES,
    "memorized_fraction": "Any text of notes",
    "hit_rate": "A passage of notes",
    QUERIES_NEEDED: OWN_NOTES,
    ORDINARY_TEXT: "Everyday tasks",
    "own": "Patient’s own identifiers",
    "other": "Others’ identifiers",
    "verified_per_1000": "Verified identifiers",
}


#: How a tier's knowledge was put to the model, where not as for its own figures.
RENDERING_WORDS: Final = {
    "chat": "asked in a chat",
    "control": "the model before training",
}
_UNKNOWN: Final = "a number that this audit cannot tell"


def is_of_others(rule: DecidedRule) -> bool:
    """Whether a rule is about text of patients other than the one asked about."""
    return rule.metric == "other_patient_fraction"


def is_of_identifiers(rule: DecidedRule) -> bool:
    """Whether a rule is about identifiers in the answers."""
    return rule.diagnosis is None and rule.metric in IDENTIFIER_METRICS


def text_subject(rule: DecidedRule) -> str:
    """Return which of `SUBJECTS` a rule is about that is about no diagnosis."""
    if is_of_identifiers(rule):
        return IDENTIFIERS
    return OTHERS_NOTES if is_of_others(rule) or rule.metric == ORDINARY_TEXT else OWN_NOTES


def memorization_title(metric: str) -> str:
    """Return what a memorization rule is about, by its metric: "Own text"."""
    return _SUBJECTS.get(metric, metric)


def subject_title(rule: DecidedRule) -> str:
    """Return what a rule is about: the patient's own text, other patients', or a diagnosis."""
    subject = _SUBJECTS.get(rule.metric, "Diagnoses") if rule.diagnosis is None else display_title(rule.diagnosis)
    within = "" if rule.limit.queries is None else f" in {counted(rule.limit.queries, 'query', 'queries')}"
    # Answers about patients trained on are what a rule is about where it says nothing else.
    seen = f", {ARM_WORDS[rule.arm]}" if rule.arm == "nontrain" else ""
    form = "" if rule.rendering is None else f", {RENDERING_WORDS.get(rule.rendering, rule.rendering)}"
    return f"{subject}{within}{seen}{form}"


def limit_text(rule: DecidedRule) -> str:
    """Return the limit, as "≤ 5%" or "≤ 0.25"."""
    return f"≤ {_number(rule, rule.limit.max)}"


def observed_text(rule: DecidedRule, *, interval: bool = False) -> str:
    """Return what the rule read: how many patients of how many, else the figure or its range; or that it has none.

    `interval`: with the ends that were held against the limit.
    """
    if not is_measured(rule.observed):
        return NOT_MEASURED
    read = rule.decided_on
    if read is not None and read.count is not None and read.patients is not None:
        beside = "" if read.chance is None else f", by chance {_at_most_text(read.chance)}"
        ends = f" ({estimate_text(EstimateRange(low=read.low, high=read.high), share=True)})" if interval else ""
        return f"{_at_most_text(read.count)} of {count_text(read.patients)}{beside}{ends}"
    if is_rate(rule.metric):
        return f"{rate_text(rule.observed, interval=interval)} per 1,000"
    return estimate_text(
        rule.observed, share=is_share(rule.metric), signed=not is_share(rule.metric), interval=interval
    )


def _at_most_text(count: CountRange) -> str:
    """Return a count as a rule reads it: none, at most so many, or the range."""
    return f"at most {count.high}" if count.low == 1 < count.high else count_text(count)


def _number(rule: DecidedRule, value: float) -> str:
    if is_rate(rule.metric):
        return f"{value:g} per 1,000"
    return f"{100 * value:.3g}%" if is_share(rule.metric) else f"{value:g}"


def settled_text(rules: Iterable[DecidedRule], results: RunResults) -> str:
    """Return "106 in each group, 180–470 patients", or that no number is known to do; empty where none is open."""
    needed: dict[str, list[int]] = {}
    for rule in (rule for rule in rules if rule.status == "inconclusive"):
        patients = patients_to_settle(rule, results)
        unit = _UNKNOWN if patients is None else "patients" if rule.diagnosis is None else "in each group"
        needed.setdefault(unit, []).append(patients or 0)
    unknown = [_UNKNOWN] if needed.pop(_UNKNOWN, None) else []
    counts = [f"{count_text(CountRange(low=min(of), high=max(of)))} {unit}" for unit, of in sorted(needed.items())]
    return ", ".join([*counts, *(f"for some {words}" if counts else words for words in unknown)])


def patients_to_settle(rule: DecidedRule, results: RunResults) -> int | None:
    """Return with how many patients a rule would be decided, all else as it is; None where no number is known to do.

    A model that gives nothing away takes `limit.patients`. Where there are as many, the limit lies within the interval,
    which shrinks with the root of the number; where it lies within the published range, nothing can be told.
    """
    seen, tier, observed, limit = view_rendering(results, rule.rendering), rule.tier or "", rule.observed, rule.limit
    pair = seen.disclosure.by_diagnosis.get(rule.diagnosis or "", {}).get(tier)
    summary = seen.memorization.get(tier, {}).get(rule.arm or "train")
    about = summary if rule.diagnosis is None else pair
    if rule.metric == ORDINARY_TEXT:
        # More tasks, not more patients, would.
        return None
    here = CountRange(low=0, high=0) if about is None else about.patients
    if limit.patients is not None and here.low < limit.patients:
        return limit.patients
    ends = (observed.low, observed.high, observed.confidence_low, observed.confidence_high)
    if rule.diagnosis is not None or any(end is None for end in ends):
        return None
    low, high, least, most = (end or 0.0 for end in ends)
    if high < limit.max < most:
        shrink = (most - high) / (limit.max - high)
    elif least <= limit.max < low:
        shrink = (low - least) / (low - limit.max)
    else:
        return None
    # To two digits: it is not known better.
    number = here.high * shrink**2
    step = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return int(step * math.ceil(number / step - 1e-9))
