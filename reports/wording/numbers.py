"""Numbers as readers see them: classes of counts, ranges, intervals, or the reason why there is no number.

Owns every phrase for a number that more than one output uses, so that there is one notation: a range of what is not
published exactly is written with a dash ("41–50", "41–58%"), a 95% interval with "to" ("62 to 79"). An exact number is
a range of no width, and is written as one number. Ends of a range are rounded outwards.
"""

import math
from typing import Final

from clinaudit.reports.schema.numbers import CountRange, ShownEstimate

NOT_MEASURED: Final = "not measured"
#: Once on a page, beside the first range.
RANGE_NOTE: Final = "Counts of patients are given in classes of ten, twenty or forty so that nobody can be singled out."
#: Below this difference two ends are one number.
_SAME: Final = 1e-9


def counted(number: int, one: str, many: str = "") -> str:
    """Return an exact number with its noun: "1 tag", "2 tags"; `many` where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def count_text(count: CountRange) -> str:
    """Return a count of patients: "0", "41–50", or "58" where it is exact."""
    return f"{count.low:,}" if count.low == count.high else f"{count.low:,}–{count.high:,}"


def part_text(part: CountRange, whole: CountRange, *, rest: CountRange | None = None) -> str:
    """Return "41–50 of 51–60"; with `rest`, the others: "all of 51–60" where there are none."""
    if rest is not None and rest.high == 0 and whole.high:
        return f"all of {count_text(whole)}"
    return f"{count_text(part)} of {count_text(whole)}"


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


def rate_text(estimate: ShownEstimate | None, *, interval: bool = False) -> str:
    """Return a number per 1,000 queries: "12", "3–83 (1 to 90)", or "at least 320" where nothing bounds it above."""
    if estimate is None or not is_measured(estimate):
        return estimate_text(estimate)
    low, high = estimate.low, estimate.high
    if estimate.value is not None:
        text = _rate(estimate.value)
    elif high is None:
        text = f"at least {_rate(low, down=True)}" if low else "not published"
    else:
        text = _between_rates(low or 0.0, high, "–")
    if not interval or estimate.confidence_low is None or estimate.confidence_high is None:
        return text
    return f"{text} ({_between_rates(estimate.confidence_low, estimate.confidence_high, ' to ')})"


def _between_rates(low: float, high: float, between: str) -> str:
    first, last = _rate(low, down=True), _rate(high, down=False)
    return first if first == last else f"{first}{between}{last}"


def _rate(rate: float, *, down: bool | None = None) -> str:
    """Return a rate as a whole number, below ten to one decimal; rounded outwards where it is an end of a range."""
    scale = 1 if rate >= 10 else 10
    whole = round(rate * scale)
    if down is not None:
        whole = math.floor(rate * scale + _SAME) if down else math.ceil(rate * scale - _SAME)
    shown = whole / scale
    return f"{shown:,.0f}" if shown >= 10 or shown == int(shown) else f"{shown:.1f}"


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
