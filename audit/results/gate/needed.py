"""How many patients close an open rule, as far as published figures show it (docs/policy.md).

Reads published rows, at both ends of their bounds: a number computed from exact rows would give these away.
"""

import math
from typing import Final

from clinaudit.audit.results.gate.asked import Asked
from clinaudit.audit.results.gate.shares import decide_share
from clinaudit.reports.estimates.frame import Estimates, Row
from clinaudit.reports.estimates.intervals import beta_bounds

#: Numbers are rounded up to steps, and none above the most is said.
STEP: Final = 50
MOST: Final = 10_000
#: Standard errors of a one-sided test at 5% over some dozens of comparisons, which it passes four times in five; and
#: of half a 95% interval.
_OF_TEST, _OF_INTERVAL = 4.0, 1.96


def patients_needed(published: Row | None, chance: Row | None, limit: float) -> int | None:
    """Return with how many patients an arm a rule is decided if figure and chance stay as published, in steps of 50.

    Where the rows hold bounds, with the larger of the numbers at both ends. None where none up to 10,000 is enough, or
    nothing is published.

    Example::

        patients_needed(share_row("own_identifiers", 8, 100), None, 0.10)  # 900
    """
    ends = _ends(published)
    of_chance = [None] if chance is None else _ends(chance)
    if not ends or not of_chance:
        return None
    # The rule is open with as many as were asked, whatever the bounds of the published row say.
    asked = (published.of_high or 0) if published is not None else 0
    pairs = ((figure, by_chance) for figure in ends for by_chance in of_chance)
    numbers = [_needed(*pair, limit, asked // STEP + 1) for pair in pairs]
    return None if None in numbers else max(number for number in numbers if number)


def _ends(row: Row | None) -> list[float]:
    """Return the shares between which a published row lies."""
    if row is None:
        return []
    if row.value is not None:
        return [row.value]
    if row.count_low is None or row.count_high is None or not row.of_low or not row.of_high:
        return []
    return [row.count_low / row.of_high, min(1.0, row.count_high / row.of_low)]


def _needed(figure: float, chance: float | None, limit: float, low: int) -> int | None:
    """Return the least number from `low` steps on that decides; every larger one does too, since intervals shrink."""
    high = max(low, MOST // STEP)
    if not _is_decided(figure, chance, limit, high * STEP):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_decided(figure, chance, limit, middle * STEP) else (middle + 1, high)
    return low * STEP


def _is_decided(figure: float, chance: float | None, limit: float, patients: int) -> bool:
    by_chance = None if chance is None else _row(chance, patients)
    return decide_share(_row(figure, patients), by_chance, limit).status != "inconclusive"


def _row(share: float, patients: int) -> Row:
    low, high = beta_bounds(share * patients, patients)
    return Row("", value=share, low=low, high=high)


def groups_needed(published: Estimates, asked: Asked) -> int | None:
    """Return with how many patients a group a comparison is decided if its published difference stays."""
    sets = published.find("cohort_sets", tier=asked.tier, diagnosis=asked.diagnosis)
    sets = sets or published.find("cohort_sets", diagnosis=asked.diagnosis)
    place = {"form": asked.form, "tier": asked.tier, "diagnosis": asked.diagnosis}
    arms = ("train-nontrain", "train-control")
    row = next((of for arm in arms if (of := published.find(asked.limit.metric, arm=arm, **place))), None)
    if row is None or sets is None or not sets.value or row.value is None or row.low is None or row.high is None:
        return None
    error = (row.high - row.low) / 2 / _OF_INTERVAL * math.sqrt(sets.value)
    room = asked.limit.maximum - row.value
    to_pass = (_OF_INTERVAL * error / room) ** 2 if room > 0 else math.inf
    to_fail = (_OF_TEST * error / row.value) ** 2 if row.value > 0 else math.inf
    number = max(min(to_pass, to_fail), sets.value)
    return None if number > MOST else STEP * math.ceil(number / STEP)
