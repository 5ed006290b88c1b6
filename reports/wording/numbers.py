"""Numbers as readers see them: counts, shares, estimates with their intervals, or the reason why there is no value.

Owns every phrase for a number that more than one output uses. An estimate without a value is never shown as 0 or
"None". Every `<noun>_text` returns a string. `estimate_text` says everything known of an estimate;
`short_estimate_text` is its form for a narrow cell, without reasons.
"""

import math
from typing import Protocol

from clinaudit.reports.schema.estimate import REASON, Estimate

SUPPRESSED = "suppressed"
#: `REASON` marks every suppressed estimate, also one under complementary suppression (hidden for another's sake).
SUPPRESSED_WHY = f"{SUPPRESSED}: {REASON}, or would give such a count away"
#: What a reader of plain text must know of its tables. Callers add a sentence on intervals.
RANGE_NOTE = f"[a to b]: {SUPPRESSED_WHY}; the range is\n  what may be published, no confidence interval."
#: Width from which a band of a share is not printed; twice as wide for a signed share.
_UNINFORMATIVE = 0.8
_POINT = "exact count suppressed"
_NO_BAND = f"{SUPPRESSED} (the band says almost nothing)"
NOT_MEASURED = "not measured"


def count_text(number: int | None) -> str:
    """Return a count with commas between thousands, or that it is suppressed."""
    return SUPPRESSED if number is None else f"{number:,}"


def percent_text(value: float, *, signed: bool = False) -> str:
    """Return a share as a percentage, to one decimal below 10% and above 99%."""
    digits = 1 if abs(value) < 0.0995 or 0.99 < abs(value) < 1 else 0
    text = f"{100 * value:{'+' if signed else ''}.{digits}f}%".replace("-", "−")
    return text.replace("−0.0%", "0.0%").replace("−0%", "0%").replace("+0.0%", "0.0%")


def _outwards(estimate: Estimate, *, share: bool) -> tuple[float, float]:
    """Return a band's ends rounded outwards to what is printed: never narrower than the band (AUROCs: two decimals)."""
    low, high = estimate.low or 0.0, estimate.high or 0.0
    return (low, high) if share else (math.floor(low * 100 + 1e-9) / 100, math.ceil(high * 100 - 1e-9) / 100)


def number_text(value: float, *, signed: bool = False) -> str:
    """Return a number that is no share (an AUROC, a length) to two decimals, or to one decimal from 100 on."""
    digits = 1 if abs(value) >= 100 else 2
    text = f"{value:{'+' if signed else ''},.{digits}f}".replace("-", "−")
    return text.replace("−0.00", "0.00") if math.isclose(value, 0, abs_tol=0.005) else text


def estimate_text(estimate: Estimate | None, *, share: bool = False, signed: bool = False) -> str:
    """Return an estimate with its interval, its band if it is suppressed, or the reason why there is no value."""
    if estimate is None:
        return NOT_MEASURED
    render = percent_text if share else number_text
    if estimate.value is not None:
        text = render(estimate.value, signed=signed)
        if estimate.low is not None and estimate.high is not None:
            return f"{text} ({_between(render, estimate.low, estimate.high, signed)})"
        return f"{text} (no interval: {estimate.reason})" if estimate.reason else text
    if estimate.reason == REASON:
        if estimate.low is None or estimate.high is None:
            return SUPPRESSED
        if is_uninformative(estimate, share=share, signed=signed):
            return _NO_BAND
        low, high = _outwards(estimate, share=share)
        is_point = render(low, signed=signed) == render(high, signed=signed)
        return f"{_between(render, low, high, signed)} ({_POINT if is_point else SUPPRESSED})"
    return f"{NOT_MEASURED}: {estimate.reason or 'no reason was recorded'}"


def short_estimate_text(
    estimate: Estimate | None, *, share: bool = False, signed: bool = False, interval: bool = False
) -> str:
    """Return an estimate for a narrow cell: the value (with its interval, if asked), a band in brackets, or a word."""
    if estimate is None:
        return NOT_MEASURED
    render = percent_text if share else number_text
    if estimate.value is not None:
        text = render(estimate.value, signed=signed)
        if interval and estimate.low is not None and estimate.high is not None:
            return f"{text} ({_between(render, estimate.low, estimate.high, signed)})"
        return text
    if estimate.low is not None and estimate.high is not None:
        if is_uninformative(estimate, share=share, signed=signed):
            return SUPPRESSED
        text = _between(render, *_outwards(estimate, share=share), signed)
        return f"[{text}]" if " to " in text else f"{text} ({_POINT})"
    return SUPPRESSED if estimate.reason == REASON else NOT_MEASURED


def is_uninformative(estimate: Estimate, *, share: bool, signed: bool = False) -> bool:
    """Whether the band of a suppressed share spans nearly all that is possible; false for what is no share."""
    if not share or estimate.value is not None or estimate.low is None or estimate.high is None:
        return False
    return estimate.high - estimate.low >= _UNINFORMATIVE * (2 if signed else 1)


def is_suppressed(estimate: Estimate | None) -> bool:
    """Whether an estimate was measured and is suppressed."""
    return estimate is not None and estimate.value is None and estimate.reason == REASON


class _Render(Protocol):
    def __call__(self, value: float, *, signed: bool = False) -> str: ...


def _between(render: _Render, low: float, high: float, signed: bool) -> str:
    ends = render(low, signed=signed), render(high, signed=signed)
    # Suppressed counts may leave one value only.
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def is_shown(estimate: Estimate) -> bool:
    """Whether there is a value, or the band of a suppressed one."""
    return estimate.value is not None or (is_suppressed(estimate) and estimate.high is not None)


def share_with_interval_text(estimate: Estimate) -> str:
    """Return a share with its 95% interval named as such, or the bound of a suppressed one."""
    if estimate.value is None:
        return bound_text(estimate)
    value = percent_text(estimate.value)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} (95% interval {percent_text(estimate.low)} to {percent_text(estimate.high)})"


def bound_text(estimate: Estimate) -> str:
    """Return a suppressed share as the bound that is published of it."""
    if is_uninformative(estimate, share=True):
        return estimate_text(estimate, share=True)
    low, high = estimate.low or 0.0, 1.0 if estimate.high is None else estimate.high
    text = f"at most {percent_text(high)}" if low == 0 else f"at least {percent_text(low)}"
    return f"{text} (exact figure suppressed)"
