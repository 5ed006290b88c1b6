"""Words and numbers as readers see them: names of tiers, diagnoses and metrics; a figure, or why there is none.

Owns every phrase that more than one output uses. A figure without a value is never shown as 0 or "None".
"""

import math
from typing import Protocol

from clinaudit.reports.schema.estimate import REASON, Estimate

SUPPRESSED = "suppressed"
#: `REASON` marks every hidden figure in the results, also one that is hidden for another's sake.
SUPPRESSED_WHY = f"{SUPPRESSED}: {REASON}, or would give such a count away"
#: What a reader of plain text must know of its tables; a sentence on intervals follows.
RANGE_NOTE = f"[a to b]: {SUPPRESSED_WHY}; the range is\n  what may be published, no confidence interval."
#: A band of a share this wide (of a signed one, twice as wide) is not printed.
_SAYS_NOTHING = 0.8
_POINT = "exact count suppressed"
_NO_BAND = f"{SUPPRESSED} (the band says almost nothing)"
NOT_MEASURED = "not measured"


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


def estimate_text(estimate: Estimate | None, *, share: bool = False, signed: bool = False) -> str:
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


class _Render(Protocol):
    def __call__(self, value: float, *, signed: bool = False) -> str: ...


def _between(render: _Render, low: float, high: float, signed: bool) -> str:
    ends = render(low, signed=signed), render(high, signed=signed)
    # Hidden counts may leave one value only.
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def is_shown(estimate: Estimate) -> bool:
    """Whether there is a value, or the range that stands for a hidden one."""
    return estimate.value is not None or (is_suppressed(estimate) and estimate.high is not None)


def with_interval_text(estimate: Estimate) -> str:
    """Return a share with its 95% interval, or what can be said of a suppressed one."""
    if estimate.value is None:
        return bound_text(estimate)
    value = percent(estimate.value)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} (95% interval {percent(estimate.low)} to {percent(estimate.high)})"


def bound_text(estimate: Estimate) -> str:
    """Return a suppressed share as what can be said of it."""
    if says_nothing(estimate, share=True):
        return estimate_text(estimate, share=True)
    low, high = estimate.low or 0.0, 1.0 if estimate.high is None else estimate.high
    text = f"at most {percent(high)}" if low == 0 else f"at least {percent(low)}"
    return f"{text} (exact figure suppressed)"
