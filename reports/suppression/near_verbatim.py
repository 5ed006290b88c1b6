"""Small cells in the near-verbatim figures of one tier and arm.

Three shares hang together: near-verbatim = memorized + extra. Where one of them is hidden, since fewer than 11 patients
make it up or keep it below one, a second is published as a range too: the two that are shown would give it back. The
longest regions are withheld where few patients have near-verbatim tokens, or few have any that are not verbatim.
Patients behind the figures are read here and never published.
"""

import math

from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.memorization import LengthSummary, NearVerbatim
from clinaudit.reports.suppression.small_cells import (
    LARGEST_HIDDEN,
    PATIENTS_FOR_P90,
    band,
    blur,
    bound_of_few,
    bound_of_nearly_all,
    is_small,
    up_to,
    withhold,
)

_NO_LENGTHS = LengthSummary(mean=None, median=None, p90=None, max=None)


def withhold_near_verbatim(near: NearVerbatim) -> NearVerbatim:
    """Return the block without any figure."""
    return near.model_copy(
        update={
            "fraction": withhold(near.fraction),
            "extra_fraction": withhold(near.extra_fraction),
            "longest_region": withhold(near.longest_region),
            "longest_region_length": _NO_LENGTHS,
            "patients": None,
            "extra_patients": None,
        }
    )


def suppress_near_verbatim(
    near: NearVerbatim, *, memorized: Estimate, patients: int, hides_patients: bool
) -> NearVerbatim:
    """Return the publishable copy of the block of an arm of more than ten `patients`.

    `memorized` is the verbatim fraction as it is published. `hides_patients`: the arm's size is hidden, and so is all
    that it could be solved from.
    """
    fraction = _suppress_fraction(near.fraction, near.patients, patients)
    extra = _suppress_fraction(near.extra_fraction, near.extra_patients, patients)
    fraction, extra = _hide_second(memorized, fraction, extra)
    longest, lengths = _suppress_longest(near, patients)
    if hides_patients:
        # The mean of the lengths is that of the estimate, to all its decimals.
        fraction, extra, longest = (blur(figure, patients=patients) for figure in (fraction, extra, longest))
        lengths = _NO_LENGTHS
    return near.model_copy(
        update={
            "fraction": fraction,
            "extra_fraction": extra,
            "longest_region": longest,
            "longest_region_length": lengths,
            "patients": None,
            "extra_patients": None,
        }
    )


def _is_few(mean: Estimate, behind: int | None) -> bool:
    """Whether a figure above zero rests on fewer than 11 patients, or may."""
    return mean.value != 0 and (behind is None or behind <= LARGEST_HIDDEN)


def _suppress_fraction(mean: Estimate, behind: int | None, patients: int) -> Estimate:
    if mean.value is None or mean.value == 0:
        return mean
    if behind is None or _is_few(mean, behind):
        bound = bound_of_few(patients)
        # Patients of many generations weigh more, and may pass what ten of one each can make up.
        return bound if bound.high is not None and mean.value <= bound.high else withhold(mean)
    if is_small(patients - behind) and patients * (1 - mean.value) < LARGEST_HIDDEN:
        return bound_of_nearly_all(patients)
    return mean


def _hide_second(memorized: Estimate, fraction: Estimate, extra: Estimate) -> tuple[Estimate, Estimate]:
    """Return fraction and extra such that no hidden one of the three follows from the two others."""
    if extra.value == 0:
        return memorized, extra
    if memorized.value is None:
        if fraction.value is None or extra.value is None:
            return fraction, extra
        return fraction, _range(fraction, memorized, sign=-1)
    if extra.value is None and fraction.value is not None:
        return _range(memorized, extra, sign=1), extra
    if fraction.value is None and extra.value is not None:
        if fraction.low is None or fraction.high is None:
            return fraction, withhold(extra)
        return fraction, _shares(fraction.low - memorized.value, fraction.high - memorized.value)
    return fraction, extra


def _range(exact: Estimate, hidden: Estimate, *, sign: int) -> Estimate:
    """Return where the sum (or difference) of a shown and a hidden share must lie."""
    if exact.value is None or hidden.low is None or hidden.high is None:
        return withhold(exact)
    ends = sorted((exact.value + sign * hidden.low, exact.value + sign * hidden.high))
    return _shares(ends[0], ends[1])


def _shares(low: float, high: float) -> Estimate:
    low, high = max(0.0, low), min(1.0, high)
    return band(math.floor(low * 100 + 1e-9) / 100, up_to(high))


def _suppress_longest(near: NearVerbatim, patients: int) -> tuple[Estimate, LengthSummary]:
    lengths = near.longest_region_length
    if _is_few(near.fraction, near.patients) or _is_few(near.extra_fraction, near.extra_patients):
        # Beside the lengths of verbatim regions the mean would tell what the few extra tokens add.
        return withhold(near.longest_region), _NO_LENGTHS
    p90 = lengths.p90 if patients >= PATIENTS_FOR_P90 else None
    return near.longest_region, lengths.model_copy(update={"max": None, "p90": p90})
