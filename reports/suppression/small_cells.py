"""Small cells: when a count of patients is hidden, and what may be said in its place (docs/results.md, "Small cells").

Owns the arithmetic of hiding one count, one breakdown, one rate. Knows nothing of which figure stands where in
the results: that is `results` and `disclosure`.
"""

import math
import re
from collections.abc import Collection, Mapping

from clinaudit.reports.schema.estimate import REASON, Estimate

#: Counts of patients from 1 to this many are hidden (docs/results.md, "Small cells").
LARGEST_HIDDEN = 10
#: A 90th percentile rests on a tenth of what it is of: shown from this many patients on.
PATIENTS_FOR_P90 = 10 * (LARGEST_HIDDEN + 1)
#: Grid cells are multiples of this wide, so that their width tells little of the count it came from.
GRID_STEP = 0.05
#: A band at least this wide says nothing of an AUROC or a share, and is not published.
WIDEST_BAND = 0.5
#: Exact Poisson upper 97.5% bound for ten events: divided by n, above Clopper-Pearson's for ten of any n.
_MOST_EVENTS = 18.4
#: Steps in which a bound over fewer patients than so many is given: one more or less moves it by 0.001 of 68 patients,
#: by 0.005 of 25 and by 0.02 of 11. With these three sizes or more in a row have the same bounds (found by trying all).
_BOUND_STEPS = ((28, 0.1), (68, GRID_STEP))
#: The same for none and all, whose bounds depend on the number of patients alone.
_BOUND_STEPS_OF_NONE = ((68, 0.1), (math.inf, GRID_STEP))
#: Square of the normal quantile of a two-sided 95% interval.
_Z_SQUARED = 3.8415
#: Hidden cells that are all small hold so many patients fewer than they could: each has that many other values left.
_ROOM = 4
_WHOLE_PERCENTAGE = re.compile(r"(?<![\d.])\d{1,3}%")


def is_small(count: int | None) -> bool:
    """Whether a count of patients must be hidden; zero tells of nobody and may be shown."""
    return count is not None and 1 <= count <= LARGEST_HIDDEN


def suppress_count(count: int | None, *, total: int | None = None) -> int | None:
    """Return the count, or None where it or its complement in `total` is small."""
    if count is None or is_small(count) or (total is not None and is_small(total - count)):
        return None
    return count


def suppress_breakdown(
    counts: Mapping[str, int | None], *, hidden_elsewhere: Collection[str] = ()
) -> dict[str, int | None]:
    """Hide the small cells of a breakdown whose total is shown, and others beside them until none can be had back.

    `hidden_elsewhere`: cells that are hidden where nearly the same patients are counted.

    At least two cells are hidden with at least 11 patients in them together, and where all are small, not nearly as
    many as they could hold. Others are taken by name, zeros never: the smallest first would tell that they are no
    larger than what is shown, which with the total can leave a single value. A cell that is the total stays.
    """
    if [count for count in counts.values() if count != 0] == [sum(count or 0 for count in counts.values())]:
        hidden_elsewhere = ()
    hidden = {key for key, count in counts.items() if count is None or is_small(count)}
    hidden |= {key for key, count in counts.items() if count and key in hidden_elsewhere}
    if not hidden:
        return dict(counts)
    sizes = [counts[key] or 0 for key in hidden]
    most = len(sizes) * LARGEST_HIDDEN - _ROOM if max(sizes) <= LARGEST_HIDDEN else math.inf
    if len(sizes) < 2 or not LARGEST_HIDDEN < sum(sizes) <= most:
        for key in sorted(key for key, count in counts.items() if count and key not in hidden):
            hidden.add(key)
            if len(hidden) >= 2:
                break
    return {key: None if key in hidden else count for key, count in counts.items()}


def hidden_range(count: int, total: int) -> tuple[int, int] | None:
    """Return the counts that a reader must still think possible, or None where the count may be shown.

    In a total that both sides may be small of, which of them is would leave few values: 9 or 10 of 19.
    """
    if total <= 2 * LARGEST_HIDDEN:
        return (1, total - 1) if 0 < count < total else None
    low, high = 0, total
    if is_small(count):
        low, high = 1, min(LARGEST_HIDDEN, high)
    if is_small(total - count):
        low, high = max(low, total - LARGEST_HIDDEN), min(high, total - 1)
    return None if (low, high) == (0, total) else (low, high)


def counted(estimate: Estimate) -> int | None:
    """Return the numerator of a rate (`value` times `n`), or None where it has none."""
    if estimate.value is None or estimate.n is None:
        return None
    return round(estimate.value * estimate.n)


def withhold(estimate: Estimate) -> Estimate:
    """Return the estimate without any figure; a figure that never was keeps its reason, if in words."""
    reason = REASON if estimate.value is not None else without_numbers(estimate.reason)
    return Estimate(value=None, reason=reason)


def band(low: float, high: float) -> Estimate:
    """Return a suppressed figure that is published as the range its hidden counts allow."""
    return Estimate(value=None, low=low, high=high, reason=REASON)


def bound_of_few(patients: int) -> Estimate:
    """Return what is published of a mean of shares over `patients` that fewer than 11 of them make up."""
    return band(0.0, _share_of_ten(patients))


def bound_of_nearly_all(patients: int) -> Estimate:
    """Return what is published of a mean of shares over `patients` that fewer than 11 of them keep below one."""
    return band(1 - _share_of_ten(patients), 1.0)


def _share_of_ten(patients: int) -> float:
    return up_to(min(1.0, _MOST_EVENTS / patients))


def up_to(bound: float, *, step: float = 0.01) -> float:
    """Return the bound, rounded up to a multiple of `step`, of 0.01 or more."""
    return round(math.ceil(bound / step - 1e-9) * step, 2)


def suppress_rate(estimate: Estimate, *, patients_per_unit: int = 1) -> Estimate:
    """Publish a rate over `n` units as it is, or as the range that its hidden count allows.

    Where a patient may stand behind several units (generations), `patients_per_unit` raises the threshold.
    """
    if estimate.value is None:
        return estimate.model_copy(update={"n": suppress_count(estimate.n)})
    count = counted(estimate)
    if count is None or estimate.n is None or is_small(estimate.n):
        return withhold(estimate)
    if patients_per_unit > 1:
        largest = LARGEST_HIDDEN * patients_per_unit
        if estimate.n <= 2 * largest and 0 < count < estimate.n:
            return band(1 / estimate.n, 1 - 1 / estimate.n)
        if 0 < count <= largest:
            return band(1 / estimate.n, min(1.0, largest / estimate.n))
        if 0 < estimate.n - count <= largest:
            return band(max(0.0, 1 - largest / estimate.n), 1 - 1 / estimate.n)
        return estimate
    hidden = hidden_range(count, estimate.n)
    return estimate if hidden is None else band(hidden[0] / estimate.n, hidden[1] / estimate.n)


def grid_width(smallest_class: int, *, per_patient: float = 1.0) -> float | None:
    """Return how wide a grid cell must be so that ten patients of a class may move inside it; None if useless.

    Moving one of `n` patients changes the figure by at most `per_patient` / n.
    """
    if smallest_class <= 0:
        return None
    width = math.ceil(LARGEST_HIDDEN * per_patient / smallest_class / GRID_STEP - 1e-9) * GRID_STEP
    return None if width >= WIDEST_BAND else width


def grid_cell(
    value: float, *, width: float, centre: float, floor: float, ceiling: float, slack: float = 0.0
) -> Estimate:
    """Return the grid cell that holds `value`, wider by `slack` on either side.

    Cells are centred on `centre`, the value that means no leakage.
    """
    cell = math.floor((value - centre) / width + 0.5)
    low, high = centre + (cell - 0.5) * width - slack, centre + (cell + 0.5) * width + slack
    return band(max(floor, low), min(ceiling, high))


def published_range(estimate: Estimate | None) -> tuple[float, float] | None:
    """Return what is published of a figure as a range: a value is a range of one point, not its interval."""
    if estimate is None:
        return None
    if estimate.value is not None:
        return estimate.value, estimate.value
    return None if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)


def is_withheld(estimate: Estimate) -> bool:
    """Whether not even a range of the figure is published."""
    return estimate.value is None and estimate.low is None and estimate.reason == REASON


def blur(estimate: Estimate, *, patients: int | None = None) -> Estimate:
    """Return the estimate to two decimals and without `n`, so that `n` cannot be solved for.

    Bounds are rounded outwards. `patients`: how many the figure is over, where that is to be hidden; the fewer they
    are, the more a bound depends on them, and the coarser it is given.
    """
    step = 0.01
    if patients is not None:
        steps = _BOUND_STEPS_OF_NONE if estimate.value in (0, 1) else _BOUND_STEPS
        step = next((step for most, step in steps if patients < most), step)
    return Estimate(
        value=None if estimate.value is None else round(estimate.value, 2),
        low=None if estimate.low is None else round(math.floor(estimate.low / step + 1e-9) * step, 2),
        high=None if estimate.high is None else up_to(estimate.high, step=step),
        reason=estimate.reason,
    )


def rate_of_none(patients: int) -> Estimate:
    """Return a rate of zero whose bound is that over `patients`: the wider of Wilson's and Clopper and Pearson's."""
    high = max(_Z_SQUARED / (patients + _Z_SQUARED), 1 - 0.025 ** (1 / patients))
    return Estimate(value=0.0, low=0.0, high=up_to(high))


def bound_of_none(patients: int) -> float:
    """Return how large a rate may be of which nobody of `patients` was found: one-sided 95%, to two decimals."""
    return up_to(1 - 0.05 ** (1 / patients))


def without_numbers(reason: str | None, *, instead: str = "for a reason that names a number") -> str:
    """Return a reason in words; one that holds any number but a whole percentage might name a hidden count."""
    if reason is None:
        return "no reason was recorded"
    is_safe = not any(sign.isdigit() for sign in _WHOLE_PERCENTAGE.sub("", reason))
    return reason if is_safe else instead
