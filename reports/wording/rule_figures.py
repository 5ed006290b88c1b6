"""What a rule is about, its limit and what was observed, in a few words: for tables of rules.

Owns these words for every output. Knows nothing of how a rule is decided.
"""

from typing import Final

from clinaudit.reports.schema.decision import DecidedOn, PublishedRule
from clinaudit.reports.schema.numbers import CountRange, PublishedEstimate
from clinaudit.reports.wording.names import ARM_WORDS, IDENTIFIER_METRICS, display_title, is_rate, is_share
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, estimate_text, is_measured, rate_text

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
    "own": "Patient’s own identifiers",
    "other": "Others’ identifiers",
    "verified_per_1000": "Verified identifiers",
}


#: How a tier's knowledge was put to the model, where not as for its own figures.
RENDERING_WORDS: Final = {"facts": "facts alone", "chat": "asked in a chat"}


def is_of_others(rule: PublishedRule) -> bool:
    """Whether a rule is about text of patients other than the one asked about."""
    return rule.metric == "other_patient_fraction"


def is_of_identifiers(rule: PublishedRule) -> bool:
    """Whether a rule is about identifiers in the answers."""
    return rule.diagnosis is None and rule.metric in IDENTIFIER_METRICS


def text_subject(rule: PublishedRule) -> str:
    """Return which of `SUBJECTS` a rule is about that is about no diagnosis."""
    if is_of_identifiers(rule):
        return IDENTIFIERS
    return OTHERS_NOTES if is_of_others(rule) else OWN_NOTES


def memorization_title(metric: str) -> str:
    """Return what a memorization rule is about, by its metric: "Own text"."""
    return _SUBJECTS.get(metric, metric)


def subject_title(rule: PublishedRule) -> str:
    """Return what a rule is about: the patient's own text, other patients', or a diagnosis."""
    subject = _SUBJECTS.get(rule.metric, "Diagnoses") if rule.diagnosis is None else display_title(rule.diagnosis)
    # Answers about patients trained on are what a rule is about where it says nothing else.
    seen = f", {ARM_WORDS[rule.arm]}" if rule.arm == "nontrain" else ""
    form = "" if rule.rendering is None else f", {RENDERING_WORDS.get(rule.rendering, rule.rendering)}"
    return f"{subject}{seen}{form}"


def limit_text(rule: PublishedRule) -> str:
    """Return the limit, as "≤ 5%" or "≤ 0.25"."""
    return f"≤ {_number(rule, rule.limit.max)}"


def observed_text(rule: PublishedRule, *, interval: bool = False) -> str:
    """Return what the rule read: how many patients of how many, else the figure or its range; or that it has none.

    `interval`: with the ends that were held against the limit.
    """
    if not is_measured(rule.observed):
        return NOT_MEASURED
    read = rule.decided_on
    if read is not None and read.count is not None and read.patients is not None:
        beside = "" if read.chance is None else f", by chance {_at_most_text(read.chance)}"
        ends = f" ({estimate_text(_ends_of(read), share=True)})" if interval else ""
        return f"{_at_most_text(read.count)} of {count_text(read.patients)}{beside}{ends}"
    if is_rate(rule.metric):
        return f"{rate_text(rule.observed, interval=interval)} per 1,000"
    return estimate_text(
        rule.observed, share=is_share(rule.metric), signed=not is_share(rule.metric), interval=interval
    )


def _at_most_text(count: CountRange) -> str:
    """Return a count as a rule reads it: none, at most so many, or the range."""
    return f"at most {count.high}" if count.low == 1 < count.high else count_text(count)


def _ends_of(read: DecidedOn) -> PublishedEstimate:
    return PublishedEstimate(low=read.low, high=read.high)


def _number(rule: PublishedRule, value: float) -> str:
    if is_rate(rule.metric):
        return f"{value:g} per 1,000"
    return f"{100 * value:.3g}%" if is_share(rule.metric) else f"{value:g}"
