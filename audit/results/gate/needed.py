"""How many patients close an open rule, as far as published figures show it (docs/policy.md).

Reads published rows, at both ends of their bounds: a number computed from exact rows would give these away.
"""

import math
from collections.abc import Sequence
from itertools import product
from typing import Final

from clinaudit.audit.results.gate.asked import Asked, Sides
from clinaudit.reports.estimates.frame import Estimates, Row
from clinaudit.reports.estimates.intervals import beta_bounds

#: Numbers are rounded up to steps, and none above the most is said.
STEP: Final = 50
MOST: Final = 10_000
#: Standard errors of a one-sided test at 5% over some dozens of comparisons, which it passes four times in five; and
#: of half a 95% interval.
_OF_TEST, _OF_INTERVAL = 4.0, 1.96


def patients_needed(published: Sides, limit: float) -> int | None:
    """Return with how many patients an arm a rule is decided if figure and chance stay as published, in steps of 50.

    Where the rows hold bounds, with the largest of the numbers at their ends. None where none up to 10,000 is enough,
    or nothing is published. Pools stay as large a part of all who were trained on as they are.

    Example::

        patients_needed(Sides(share_row("own_identifiers", 8, 100), None), 0.10)  # 900
    """
    # The rule is open with as many as were asked, whatever the bounds of the published row say.
    asked = 0 if published.figure is None else published.figure.of_high or 0
    ends = product(
        _ends(published.figure),
        *([None] if row is None else _ends(row) for row in (published.chance, published.sampled)),
    )
    numbers = [_needed(shares, published.scale, limit, asked // STEP + 1) for shares in ends]
    return max((number for number in numbers if number), default=None) if None not in numbers else None


def _ends(row: Row | None) -> list[float]:
    """Return the shares between which a published row lies."""
    if row is None:
        return []
    if row.value is not None:
        return [row.value]
    if row.count_low is None or row.count_high is None or not row.of_low or not row.of_high:
        return []
    return [row.count_low / row.of_high, min(1.0, row.count_high / row.of_low)]


def _needed(shares: Sequence[float | None], scale: float, limit: float, low: int) -> int | None:
    """Return the least number from `low` steps on that decides; every larger one does too, since intervals shrink."""
    high = max(low, MOST // STEP)
    if not _is_decided(shares, scale, limit, high * STEP):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_decided(shares, scale, limit, middle * STEP) else (middle + 1, high)
    return low * STEP


def _is_decided(shares: Sequence[float | None], scale: float, limit: float, patients: int) -> bool:
    figure, chance, sampled = (None if share is None else _row(share, patients) for share in shares)
    return Sides(figure, chance, sampled, scale).decide(limit).status != "inconclusive"


def _row(share: float, patients: int) -> Row:
    low, high = beta_bounds(share * patients, patients)
    return Row("", value=share, low=low, high=high)


def groups_needed(published: Estimates, asked: Asked, other_arm: str) -> int | None:
    """Return with how many patients a group a comparison is decided if its published difference stays.

    `other_arm` is the one compared with. None where the difference is within the limit already: what then keeps the
    rule open is not that.
    """
    place = {"form": asked.form, "tier": asked.tier, "diagnosis": asked.diagnosis}
    sets = published.find("cohort_sets", **place)
    row = published.find(asked.limit.metric, arm=f"train-{other_arm}", **place)
    if row is None or sets is None or row.value is None or row.low is None or row.high is None:
        return None
    # Where few sets were left out, how many are left is published as bounds: the most takes the most patients.
    size = sets.value or sets.count_high
    if not size or row.high <= asked.limit.maximum:
        return None
    error = (row.high - row.low) / 2 / _OF_INTERVAL * math.sqrt(size)
    room = asked.limit.maximum - row.value
    to_pass = (_OF_INTERVAL * error / room) ** 2 if room > 0 else math.inf
    to_fail = (_OF_TEST * error / row.value) ** 2 if row.value > 0 else math.inf
    number = max(min(to_pass, to_fail), size)
    return None if number > MOST else STEP * math.ceil(number / STEP)
