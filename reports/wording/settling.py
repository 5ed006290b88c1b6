"""With how many patients a rule that is open would be decided, all else as it is, in words."""

import math
from collections.abc import Iterable
from typing import Final

from clinaudit.reports.schema.decision import PublishedRule
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.schema.results import PublishedResults, view_rendering
from clinaudit.reports.wording.numbers import count_text

_UNKNOWN: Final = "a number that this audit cannot tell"


def settled_text(rules: Iterable[PublishedRule], results: PublishedResults) -> str:
    """Return "106 in each group, 180–470 patients", or that no number is known to do; empty where none is open."""
    needed: dict[str, list[int]] = {}
    for rule in (rule for rule in rules if rule.status == "inconclusive"):
        patients = patients_to_settle(rule, results)
        unit = _UNKNOWN if patients is None else "patients" if rule.diagnosis is None else "in each group"
        needed.setdefault(unit, []).append(patients or 0)
    unknown = [_UNKNOWN] if needed.pop(_UNKNOWN, None) else []
    counts = [f"{count_text(CountRange(low=min(of), high=max(of)))} {unit}" for unit, of in sorted(needed.items())]
    return ", ".join([*counts, *(f"for some {words}" if counts else words for words in unknown)])


def patients_to_settle(rule: PublishedRule, results: PublishedResults) -> int | None:
    """Return with how many patients a rule would be decided, all else as it is; None where no number is known to do.

    A model that gives nothing away takes `limit.patients`. Where there are as many, the limit lies within the interval,
    which shrinks with the root of the number; where it lies within the published range, nothing can be told.
    """
    seen, tier, observed, limit = view_rendering(results, rule.rendering), rule.tier or "", rule.observed, rule.limit
    pair = seen.disclosure.by_diagnosis.get(rule.diagnosis or "", {}).get(tier)
    summary = seen.memorization.get(tier, {}).get(rule.arm or "train")
    about = summary if rule.diagnosis is None else pair
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
