"""Numbers as readers see them: percentages, numbers, intervals, or the reason why there is no number.

Owns every phrase for a number that more than one output uses. A 95% interval is written with "to" ("62 to 79").
"""

import math
from typing import Final

from clinaudit.reports.schema.numbers import ShownEstimate

NOT_MEASURED: Final = "not measured"
#: Below this difference two ends are one number.
_SAME: Final = 1e-9


def counted(number: int, one: str, many: str = "") -> str:
    """Return an exact number with its noun: "1 tag", "2 tags"; `many` where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def percent_text(value: float, *, signed: bool = False) -> str:
    """Return a share as a percentage, to one decimal below 10% and above 99%: "58%", "5%", "0.8%", "99.0%".

    A zero decimal is dropped, but kept above 99%.
    """
    if 0 < abs(value) < 0.0005:
        return f"{'−' if value < 0 else ''}below 0.1%"
    if 0.9995 < abs(value) < 1:
        return f"{'−' if value < 0 else ''}above 99.9%"
    digits = 1 if 0 < abs(value) < 0.0995 or 0.99 < abs(value) < 1 else 0
    text = f"{100 * value:{'+' if signed else ''}.{digits}f}%"
    # "99.0%" says that it is more than 99%.
    return _tidy(text.replace(".0%", "%") if 0.001 <= abs(value) <= 0.99 else text)


def number_text(value: float, *, signed: bool = False) -> str:
    """Return a number that is no share (an AUROC, a length) to two decimals, or to one decimal from 100 on."""
    digits = 1 if abs(value) >= 100 else 2
    return _tidy(f"{value:{'+' if signed else ''},.{digits}f}")


def estimate_text(
    estimate: ShownEstimate | None, *, share: bool = False, signed: bool = False, interval: bool = False
) -> str:
    """Return an estimate: "71%", "41–58%", with `interval` "71% (62 to 79)"; or the reason why there is none."""
    if estimate is None:
        return NOT_MEASURED
    if estimate.low is None or estimate.high is None:
        if estimate.value is None:
            return f"{NOT_MEASURED}: {estimate.reason}" if estimate.reason else NOT_MEASURED
        return percent_text(estimate.value, signed=signed) if share else number_text(estimate.value, signed=signed)
    text = range_text(estimate, share=share, signed=signed)
    between = interval_text(estimate, share=share, signed=signed) if interval else ""
    return f"{text} ({between})" if between else text


def range_text(estimate: ShownEstimate, *, share: bool, signed: bool = False) -> str:
    """Return the number where it is published or exact, else its range, ends rounded outwards."""
    if estimate.value is not None:
        return percent_text(estimate.value, signed=signed) if share else number_text(estimate.value, signed=signed)
    return _join(estimate.low or 0.0, estimate.high or 0.0, "–", share=share, signed=signed)


def interval_text(estimate: ShownEstimate, *, share: bool, signed: bool = False) -> str:
    """Return the 95% interval without the word, as "62 to 79" (percent) or "0.30 to 0.70"; empty where none is."""
    low, high = estimate.confidence_low, estimate.confidence_high
    if low is None or high is None:
        return ""
    return _join(low, high, " to ", share=share, signed=signed).removesuffix("%")


def p_text(p: float) -> str:
    """Return a p-value: "0.013", or "below 0.001"."""
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def shown_text(estimate: ShownEstimate | None) -> str:
    """Return the share or its range, or that it was not measured, without a reason."""
    return range_text(estimate, share=True) if estimate is not None and is_measured(estimate) else NOT_MEASURED


def is_measured(estimate: ShownEstimate | None) -> bool:
    """Whether there is a number or a range."""
    return estimate is not None and (estimate.value is not None or estimate.low is not None)


def _join(low: float, high: float, between: str, *, share: bool, signed: bool) -> str:
    """Return both ends, rounded outwards, and one alone where they print the same."""
    if high - low <= _SAME:
        return percent_text(low, signed=signed) if share else number_text(low, signed=signed)
    scale = 100.0
    floor, ceiling = math.floor(low * scale + _SAME) / scale, math.ceil(high * scale - _SAME) / scale
    if share:
        sign = "+" if signed else ""
        first, last = (_tidy(f"{100 * end:{sign}.0f}") for end in (floor, ceiling))
        # A minus sign beside a dash would read as two signs.
        dash = " to " if between == "–" and (floor < 0 or signed) else between
        return f"{first}%" if first == last else f"{first}{dash}{last}%"
    sign = "+" if signed else ""
    first, last = (_tidy(f"{end:{sign},.2f}") for end in (floor, ceiling))
    dash = " to " if between == "–" and (floor < 0 or signed) else between
    return first if first == last else f"{first}{dash}{last}"


def _tidy(text: str) -> str:
    text = text.replace("-", "−")
    bare = text.strip("+−%").replace(",", "")
    return text.lstrip("+−") if bare and set(bare) <= {"0", "."} else text
