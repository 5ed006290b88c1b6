"""Small cells in the distribution of the attributable fraction over patients.

The bins are a breakdown whose total is shown. A share above a threshold is given where no bin on either side is hidden,
else as the range that the hidden ones allow. Deciles and the worst tenth rest on at least 11 patients. Knows nothing of
the means: where their sum would tell of few in a bin, `memorization` hides it.
"""

from collections.abc import Sequence

from clinaudit.reports.schema.groups import FractionBin, PatientDistribution, ShareAbove
from clinaudit.reports.suppression.small_cells import (
    LARGEST_HIDDEN,
    band,
    blur,
    is_small,
    suppress_breakdown,
    suppress_count,
    withhold,
)


def tells_bin(distribution: PatientDistribution, total: float) -> bool:
    """Whether so small a `total` of the patients' fractions leaves a bin of few patients fewer than three counts.

    What each of them has is not known here: a quarter above the lower end of the bin is taken, or the upper end of the
    lowest.
    """
    room = total - sum((1.25 * item.low or item.high) * (item.patients or 0) for item in distribution.bins)
    return any(
        is_small(item.patients) and item.low * (3 - (item.patients or 0)) > max(0.0, room) for item in distribution.bins
    )


def suppress_distribution(
    distribution: PatientDistribution, *, patients: int, total: float, hides_patients: bool
) -> PatientDistribution:
    """Return the publishable copy of the distribution over more than ten `patients`.

    `total` is the sum of their fractions. `hides_patients`: their number is hidden, and so is all that it could be
    solved from.
    """
    touched = patients - (distribution.bins[0].patients or 0)
    hides_bins = is_small(touched) or tells_bin(distribution, total)
    if hides_bins:
        # Not even which bins they are in.
        bins = [item.model_copy(update={"patients": None}) for item in distribution.bins]
        few = band(0.0, LARGEST_HIDDEN / patients)
        above = [
            item.model_copy(update={"share": few if is_small(touched) else withhold(item.share)})
            for item in distribution.above
        ]
    else:
        bins = _suppress_bins(distribution.bins, patients)
        above = [_suppress_share(item, distribution.bins, bins, patients) for item in distribution.above]
    deciles = [
        # Round off: the figure of a decile is one patient's, or two patients'.
        item.model_copy(update={"fraction": None if item.fraction is None else round(item.fraction, 2)})
        if min(item.share, 1 - item.share) * patients > LARGEST_HIDDEN
        else item.model_copy(update={"fraction": None})
        for item in distribution.deciles
    ]
    worst = distribution.worst_tenth
    if worst.n is None or worst.n <= LARGEST_HIDDEN or hides_bins:
        worst = withhold(worst)
    if hides_patients:
        bins = [item.model_copy(update={"patients": None}) for item in bins]
        above = [item.model_copy(update={"share": blur(item.share, patients=patients)}) for item in above]
        worst = blur(worst, patients=patients)
    return PatientDistribution(bins=bins, above=above, deciles=deciles, worst_tenth=worst)


def _suppress_bins(bins: Sequence[FractionBin], patients: int) -> list[FractionBin]:
    """Hide small bins and others beside them, the highest first; who have any are a shown total where they can be."""
    counts = {str(len(bins) - place): item.patients for place, item in enumerate(bins)}
    first = str(len(bins))
    none = counts[first] or 0
    if none in (0, patients) or suppress_count(patients - none, total=patients) is None:
        published = suppress_breakdown(counts)
    else:
        touched = {place: count for place, count in counts.items() if place != first}
        published = {first: none, **suppress_breakdown(touched)}
    return [item.model_copy(update={"patients": published[str(len(bins) - place)]}) for place, item in enumerate(bins)]


def _suppress_share(
    above: ShareAbove, bins: Sequence[FractionBin], published: Sequence[FractionBin], patients: int
) -> ShareAbove:
    """Give the share, or the range of it that the hidden bins allow: each of them holds a patient or more.

    Where all but few patients have any, and it is hidden with whom these few are counted, they are 1 to 10.
    """
    hidden = [place for place, item in enumerate(published) if item.patients is None]
    inside = [place for place in hidden if bins[place].low >= above.threshold and place > 0]
    if not inside or len(inside) == len(hidden):
        return above
    together = sum(bins[place].patients or 0 for place in hidden)
    shown = sum(item.patients or 0 for item in published[1:] if item.low >= above.threshold)
    low = (shown + len(inside)) / patients
    high = (shown + together - (len(hidden) - len(inside))) / patients
    if [place for place in hidden if place not in inside] == [0] and is_small(bins[0].patients):
        low = max(low, (shown + together - LARGEST_HIDDEN) / patients)
    return above.model_copy(update={"share": band(low, high)})
