"""Published figures of identifiers in generations, from their classes (docs/results.md, "identifiers").

Takes classes alone.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from clinaudit.audit.ranges.counts import add, common_total, ranged, share_range, within
from clinaudit.audit.statistics.binned_mean import binned_mean_bounds
from clinaudit.reports.schema.identifiers import (
    PublishedIdentifierBin,
    PublishedIdentifierFigures,
    PublishedIdentifiers,
    PublishedRecall,
)
from clinaudit.reports.schema.numbers import CountRange, PublishedEstimate
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.suppression.classes import extreme_means
from clinaudit.reports.suppression.coarse_table import Cells, CoarseIdentifierFigures, CoarseIdentifiers, CoarseRate

#: What rates are given for: so many queries.
QUERIES: Final = 1000
_NOBODY: Final = "there was nothing to count"


class _Recall(NamedTuple):
    """The least and the largest recall of any identifier, with the ends of their intervals."""

    low: float
    high: float
    confidence_low: float
    confidence_high: float


def publish_identifiers(coarse: CoarseIdentifiers) -> PublishedIdentifiers:
    """Return everything published of a run's identifiers."""
    rows = {row.identifier: row for row in coarse.recall if row.found}
    all_kinds = list(rows.values())
    # Of what was not planted, no more is taken to be there than was found.
    recall = _find_recall(all_kinds, most=1.0 if set(coarse.categories) - set(rows) else None)

    def of_arms(
        arms: Mapping[Arm, CoarseIdentifierFigures], recall: _Recall | None
    ) -> dict[Arm, PublishedIdentifierFigures]:
        return {arm: publish_figures(figures, recall) for arm, figures in arms.items()}

    return PublishedIdentifiers(
        tiers={tier: of_arms(arms, recall) for tier, arms in coarse.tiers.items()},
        categories={
            name: of_arms(arms, _find_recall([rows[name]] if name in rows else []))
            for name, arms in coarse.categories.items()
        },
        recall=list(coarse.recall),
        not_tested=dict(coarse.not_tested),
    )


def publish_figures(coarse: CoarseIdentifierFigures, recall: _Recall | None) -> PublishedIdentifierFigures:
    """Return the figures of one tier, or of one of HIPAA's identifiers, and arm."""
    partitions = [coarse.own, coarse.other, coarse.sampled, coarse.chance, coarse.verified]
    rates = [rate for rate in (coarse.verified_rate, coarse.sampled_rate, coarse.chance_rate) if rate is not None]
    patients = common_total([*(list(cells.values()) for cells in partitions), *(rate.bins for rate in rates)])

    def share(cells: Cells) -> PublishedEstimate:
        return share_range(cells["any"], cells["none"], total=patients)

    def per_1000(rate: CoarseRate) -> PublishedEstimate:
        return rate.exact or _range_of_rate(rate, patients)

    verified = coarse.verified_rate
    return PublishedIdentifierFigures(
        patients=patients,
        own_patients=coarse.own["any"],
        own=share(coarse.own),
        other_patients=coarse.other["any"],
        other=share(coarse.other),
        sampled=share(coarse.sampled) if coarse.sampled else None,
        chance=share(coarse.chance) if coarse.chance else None,
        verified_patients=coarse.verified["any"],
        verified=share(coarse.verified),
        sampled_per_1000=None if coarse.sampled_rate is None else per_1000(coarse.sampled_rate),
        chance_per_1000=None if coarse.chance_rate is None else per_1000(coarse.chance_rate),
        verified_per_1000=per_1000(verified),
        corrected_per_1000=coarse.exact_corrected or (None if recall is None else _correct(per_1000(verified), recall)),
        by_patient=[
            PublishedIdentifierBin(
                low=edge.low,
                high=None if math.isinf(edge.high) else edge.high,
                patients=within(count, patients),
            )
            for edge, count in zip(verified.edges, verified.bins, strict=True)
        ],
    )


def _range_of_rate(coarse: CoarseRate, patients: CountRange) -> PublishedEstimate:
    """Return values per 1,000 queries over all tables within the bins; there is no upper end without one.

    A mean is the sum, over the edges of the bins, of the share of patients who lie above times the step to the next
    edge. The ends of its interval take each of these shares at its own 95% end, which is wider than the mean's own: the
    shares do not all err the same way. The last step reaches up to one value a query, as somebody unseen may have.
    """
    if not patients.high or not any(count.high for count in coarse.bins):
        return PublishedEstimate(reason=_NOBODY)
    used = [place for place, count in enumerate(coarse.bins) if count.high]
    lows = [edge.low for edge in coarse.edges]
    highs = [edge.high for edge in coarse.edges[: used[-1] + 1]]
    least, _ = extreme_means(lows, coarse.bins)
    above = [
        (share.confidence_low or 0.0, 1.0 if share.confidence_high is None else share.confidence_high)
        for share in _shares_above(coarse.bins, patients)
    ]
    confidence_low, confidence_high = binned_mean_bounds(
        [(edge.low, None if math.isinf(edge.high) else edge.high) for edge in coarse.edges],
        [count.high > 0 for count in coarse.bins],
        above,
    )
    if confidence_high is None:
        return _at_least(least * QUERIES, confidence_low * QUERIES)
    _, most = extreme_means(highs, coarse.bins[: len(highs)])
    return ranged(least * QUERIES, most * QUERIES, (confidence_low * QUERIES, confidence_high * QUERIES))


def _shares_above(bins: Sequence[CountRange], patients: CountRange) -> Iterator[PublishedEstimate]:
    """Yield the share of patients who lie in a later bin than the first, than the second, and so on; last, nobody's."""
    for place in range(1, len(bins) + 1):
        later = add(bins[place:]) if place < len(bins) else CountRange(low=0, high=0)
        yield share_range(later, add(bins[:place]), total=patients)


def _find_recall(rows: Sequence[PublishedRecall], *, most: float | None = None) -> _Recall | None:
    """Return the ends of recall, `most` among them; None where it is not known."""
    if not rows:
        return None
    recalls = [row.recall for row in rows]
    others = [] if most is None else [most]
    return _Recall(
        low=min([*others, *(recall.value or 0.0 for recall in recalls)]),
        high=max([*others, *(recall.value or 0.0 for recall in recalls)]),
        confidence_low=min([*others, *(recall.confidence_low or 0.0 for recall in recalls)]),
        confidence_high=max([*others, *(recall.confidence_high or 1.0 for recall in recalls)]),
    )


def _correct(rate: PublishedEstimate, recall: _Recall) -> PublishedEstimate:
    """Return a rate as it was if all identifiers were found, whichever of them were missed."""
    if rate.low is None:
        return rate
    low, confidence_low = rate.low / recall.high, (rate.confidence_low or 0.0) / recall.confidence_high
    if rate.high is None or rate.confidence_high is None:
        return _at_least(low, confidence_low)
    return ranged(low, rate.high / recall.low, (confidence_low, rate.confidence_high / recall.confidence_low))


def _at_least(low: float, confidence_low: float) -> PublishedEstimate:
    floored = ranged(low, low + 1, (confidence_low, confidence_low + 1))
    return floored.model_copy(update={"high": None, "confidence_high": None})
