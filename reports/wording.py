"""Words and numbers as readers see them: names of tiers, diagnoses and metrics; a figure, or why there is none.

Owns every phrase that more than one output uses. A figure without a value is never shown as 0 or "None".
"""

import math
from typing import Protocol

from clinaudit.priors.tiers import TIERS, Fact
from clinaudit.reports.results import Estimate
from clinaudit.reports.small_cells import REASON

TIER_TITLES = {
    "public": "Public demographics",
    "public_name": "Demographics and name",
    "public_name_meds": "Demographics, name, medications",
    "encounter": "Appointment details",
    "encounter_cc": "Appointment and chief complaint",
    "encounter_cc_hpi": "Appointment, complaint and history",
}
FACTS = {
    Fact.AGE: "age",
    Fact.SEX: "sex",
    Fact.MARITAL_STATUS: "marital status",
    Fact.OCCUPATION: "occupation",
    Fact.CHILDREN: "number of children",
    Fact.NAME: "name",
    Fact.MEDICATIONS: "current medications (less those that reveal the diagnosis)",
    Fact.DOB: "date of birth",
    Fact.VISIT_DATE: "visit date",
    Fact.PROVIDER: "provider",
    Fact.PRACTICE: "practice",
    Fact.CHIEF_COMPLAINT: "chief complaint",
    Fact.HPI: "history of present illness",
}
METRICS = {
    "mention_rate": "Mention rate",
    "auroc": "AUROC among mentions",
    "ppv": "PPV among mentions",
    "auroc_all": "AUROC over all patients",
    "sensitivity": "Sensitivity",
    "false_positive_rate": "False-positive rate",
    "ppv_at_prevalence": "PPV at prevalence",
}
#: Word and sign of each status: colour never stands alone.
STATUSES = {
    "pass": ("Pass", "✓"),
    "fail": ("Fail", "✗"),
    "incomplete": ("Incomplete", "…"),
    "inconclusive": ("Inconclusive", "?"),
}
_ACRONYMS = {"hiv", "ptsd", "adhd", "copd", "hpi", "ros", "std", "sti"}
_PROPER = {"indian", "alaska", "native", "hawaiian", "pacific", "islander"}
SUPPRESSED = "suppressed"
#: `REASON` marks every hidden figure in the results, also one that is hidden for another's sake.
SUPPRESSED_WHY = f"{SUPPRESSED}: {REASON}, or would give such a count away"
#: A band of a share this wide (of a signed one, twice as wide) is not printed.
_SAYS_NOTHING = 0.8
_POINT = "exact count suppressed"
_NO_BAND = f"{SUPPRESSED} (the band says almost nothing)"
NOT_MEASURED = "not measured"


def tier_title(tier: str) -> str:
    """Return a tier's title; an id that is not one of the six is given as it stands."""
    return TIER_TITLES.get(tier, tier)


def tier_number(tier: str) -> str:
    """Return the tier's place on the ladder, 1 to 6, or its id."""
    return next((str(place) for place, row in enumerate(TIERS, 1) if row.id == tier), tier)


def label(identifier: str) -> str:
    """Return an identifier as words: `past_medical_history` as "Past medical history", `hiv` as "HIV"."""
    text = label_in_sentence(identifier)
    return text[:1].upper() + text[1:]


def label_in_sentence(identifier: str) -> str:
    """Return an identifier as words in the midst of a sentence: `abortion` as "abortion", `hiv` as "HIV"."""
    words = identifier.replace("_", " ").split(" ")
    return " ".join(
        word.upper() if word in _ACRONYMS else word.capitalize() if word in _PROPER else word for word in words
    )


def join_words(words: list[str]) -> str:
    """Join words with commas and a last "and"."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""


def count(number: int | None) -> str:
    """Return a count with thousands apart, or that it is suppressed."""
    return SUPPRESSED if number is None else f"{number:,}"


def percent(value: float, *, signed: bool = False) -> str:
    """Return a share as a percentage, to one decimal below 10% and above 99%."""
    digits = 1 if abs(value) < 0.0995 or 0.99 < abs(value) < 1 else 0
    text = f"{100 * value:{'+' if signed else ''}.{digits}f}%".replace("-", "−")
    return text.replace("−0.0%", "0.0%").replace("−0%", "0%").replace("+0.0%", "0.0%")


def _outwards(estimate: Estimate, *, share: bool) -> tuple[float, float]:
    """Return a band's ends as they are printed: never narrower than they are (AUROCs have two decimals)."""
    low, high = estimate.low or 0.0, estimate.high or 0.0
    return (low, high) if share else (math.floor(low * 100 + 1e-9) / 100, math.ceil(high * 100 - 1e-9) / 100)


def number(value: float, *, signed: bool = False) -> str:
    """Return a figure that is no share (an AUROC, a length) to two decimals, or one from 100 on."""
    digits = 1 if abs(value) >= 100 else 2
    text = f"{value:{'+' if signed else ''},.{digits}f}".replace("-", "−")
    return text.replace("−0.00", "0.00") if math.isclose(value, 0, abs_tol=0.005) else text


def figure(estimate: Estimate | None, *, share: bool = False, signed: bool = False) -> str:
    """Return a figure with its interval, its band if suppressed, or the reason why there is none."""
    if estimate is None:
        return NOT_MEASURED
    render = percent if share else number
    if estimate.value is not None:
        text = render(estimate.value, signed=signed)
        if estimate.low is not None and estimate.high is not None:
            return f"{text} ({_between(render, estimate.low, estimate.high, signed)})"
        return f"{text} (no interval: {estimate.reason})" if estimate.reason else text
    if estimate.reason == REASON:
        if estimate.low is None or estimate.high is None:
            return SUPPRESSED
        if says_nothing(estimate, share=share, signed=signed):
            return _NO_BAND
        low, high = _outwards(estimate, share=share)
        is_point = render(low, signed=signed) == render(high, signed=signed)
        return f"{_between(render, low, high, signed)} ({_POINT if is_point else SUPPRESSED})"
    return f"{NOT_MEASURED}: {estimate.reason or 'no reason was recorded'}"


def short_figure(
    estimate: Estimate | None, *, share: bool = False, signed: bool = False, interval: bool = False
) -> str:
    """Return a figure for a narrow cell: the value (with its interval, if asked), the band in brackets, or a word."""
    if estimate is None:
        return NOT_MEASURED
    render = percent if share else number
    if estimate.value is not None:
        text = render(estimate.value, signed=signed)
        if interval and estimate.low is not None and estimate.high is not None:
            return f"{text} ({_between(render, estimate.low, estimate.high, signed)})"
        return text
    if estimate.low is not None and estimate.high is not None:
        if says_nothing(estimate, share=share, signed=signed):
            return SUPPRESSED
        text = _between(render, *_outwards(estimate, share=share), signed)
        return f"[{text}]" if " to " in text else f"{text} ({_POINT})"
    return SUPPRESSED if estimate.reason == REASON else NOT_MEASURED


def says_nothing(estimate: Estimate, *, share: bool, signed: bool = False) -> bool:
    """Whether a hidden figure's band spans nearly all that is possible; of what is no share that is not known."""
    if not share or estimate.value is not None or estimate.low is None or estimate.high is None:
        return False
    return estimate.high - estimate.low >= _SAYS_NOTHING * (2 if signed else 1)


def is_suppressed(estimate: Estimate | None) -> bool:
    """Whether a figure was measured and is hidden."""
    return estimate is not None and estimate.value is None and estimate.reason == REASON


def is_share(metric: str) -> bool:
    """Whether a disclosure metric is a share of patients or generations rather than an AUROC."""
    return not metric.startswith("auroc")


class _Render(Protocol):
    def __call__(self, value: float, *, signed: bool = False) -> str: ...


def _between(render: _Render, low: float, high: float, signed: bool) -> str:
    ends = render(low, signed=signed), render(high, signed=signed)
    # Hidden counts may leave one value only.
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)
