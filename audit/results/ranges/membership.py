"""Membership from its tally: as measured, or as ranges over all orders that the published classes allow.

The patients trained on are counted by percentile class of those never seen. A patient of a class outranks all
never-seen patients below it, none above it, and any number within: so the AUROC is a weighted mean between two of the
class's ends, the weights being the counts (docs/methods.md, section 14).
"""

from collections.abc import Sequence
from itertools import product
from typing import Final

from clinaudit.audit.statistics.auroc import one_sided_p_value, widest_interval
from clinaudit.audit.statistics.counts import ranged, share_range
from clinaudit.reports.schema.membership import PARTS_ABOVE, PERCENTILE_CLASSES, MembershipResults
from clinaudit.reports.schema.numbers import CountRange, EstimateRange, add, exact_estimate
from clinaudit.reports.tally.classes import extreme_means
from clinaudit.reports.tally.membership import MembershipTally

#: Never-seen patients below whom one alone is 1% of them or more.
_ENOUGH_FOR_1: Final = 101
_TOO_FEW_FOR_1: Final = f"fewer than {_ENOUGH_FOR_1} patients never seen: one wrongly found is 1% of them or more"


def derive_membership(tally: MembershipTally) -> MembershipResults:
    """Return the figures of membership; without a partition none, with the reason."""
    none = EstimateRange(reason=tally.reason)
    results = MembershipResults(
        score=tally.score,
        is_interpretable=tally.is_interpretable,
        differ_in=list(tally.differ_in),
        never_seen=tally.never_seen.range,
        trained={},
        auroc=none,
        found_at_10=none,
        found_at_1=none,
        p_value=none,
        evidence=tally.evidence.value,
    )
    if tally.trained is None or tally.score is None:
        return results
    trained, never_seen = {name: tally.trained[name] for name in PERCENTILE_CLASSES}, tally.never_seen.range
    cells, measured = list(trained.values()), tally.evidence.value
    if measured is None:
        auroc = _auroc_range(cells, never_seen)
        p_value = _p_value_range(auroc, add(cells), never_seen)
    else:
        auroc = exact_estimate(measured.auroc[tally.score])
        p_value = EstimateRange(value=measured.p_value, low=measured.p_value, high=measured.p_value)
    has_enough = never_seen.low >= _ENOUGH_FOR_1
    return results.model_copy(
        update={
            "trained": trained,
            "auroc": auroc,
            "found_at_10": share_range(add(cells[2:]), add(cells[:2])),
            "found_at_1": share_range(cells[3], add(cells[:3])) if has_enough else EstimateRange(reason=_TOO_FEW_FOR_1),
            "p_value": p_value,
        }
    )


def _auroc_range(cells: Sequence[CountRange], never_seen: CountRange) -> EstimateRange:
    least, most = [], []
    for size in range(never_seen.low, never_seen.high + 1):
        # A class begins above one of those never seen, who is not below the class before it.
        above = [size // part for part in PARTS_ABOVE]
        least.append(extreme_means([0.0, *(1 - count / size for count in above)], cells)[0])
        most.append(extreme_means([*(1 - (count + 1) / size for count in above), 1.0], cells)[1])
    low, high = min(least), max(most)
    return ranged(low, high, widest_interval(low, high, add(cells).low, never_seen.low))


def _p_value_range(auroc: EstimateRange, trained: CountRange, never_seen: CountRange) -> EstimateRange:
    """Return the p-values of the least and the largest AUROC in groups of the least and the largest sizes."""
    corners = product((auroc.low, auroc.high), (trained.low, trained.high), (never_seen.low, never_seen.high))
    found = [one_sided_p_value(area, *sizes) for area, *sizes in corners if area is not None]
    return ranged(min(found), max(found))
