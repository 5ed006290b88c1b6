"""Published figures of identifiers in generations, from their classes (docs/results.md, "identifiers").

Takes classes alone.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from clinaudit.audit.ranges.counts import add, ranged, share_of, within
from clinaudit.audit.statistics.binned_mean import binned_mean_bounds
from clinaudit.reports.schema.identifiers import (
    PublishedIdentifierBin,
    PublishedIdentifierFigures,
    PublishedIdentifiers,
    PublishedRecall,
)
from clinaudit.reports.schema.numbers import CountRange, PublishedEstimate
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.suppression.coarse_table import CoarseIdentifierFigures, CoarseIdentifiers, CoarseRate

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
    patients = coarse.patients

    def share(count: CountRange) -> PublishedEstimate:
        return share_of(within(count, patients), patients)

    def per_1000(rate: CoarseRate) -> PublishedEstimate:
        return rate.exact or _range_of_rate(rate, patients)

    verified = coarse.verified_rate
    return PublishedIdentifierFigures(
        patients=patients,
        own_patients=coarse.own,
        own=share(coarse.own),
        other_patients=coarse.other,
        other=share(coarse.other),
        sampled_patients=coarse.sampled,
        sampled=None if coarse.sampled is None else share(coarse.sampled),
        chance_patients=coarse.chance,
        chance=None if coarse.chance is None else share(coarse.chance),
        verified_patients=coarse.verified,
        verified=share(coarse.verified),
        sampled_per_1000=None if coarse.sampled_rate is None else per_1000(coarse.sampled_rate),
        chance_per_1000=None if coarse.chance_rate is None else per_1000(coarse.chance_rate),
        verified_per_1000=per_1000(verified),
        corrected_per_1000=coarse.exact_corrected or (None if recall is None else _correct(per_1000(verified), recall)),
        by_patient=[
            PublishedIdentifierBin(low=edge.low, high=None if math.isinf(edge.high) else edge.high, patients=count)
            for edge, count in zip(verified.edges, verified.bins, strict=True)
        ],
    )


def _range_of_rate(coarse: CoarseRate, patients: CountRange) -> PublishedEstimate:
    """Return values per 1,000 queries over all tables within the bins; there is no upper end without one.

    A mean is the sum, over the edges of the bins, of the share of patients who lie above times the step to the next
    edge. The ends of its interval take each of these shares at its own 95% end, which is wider than the mean's own: the
    shares do not all err the same way. The last step reaches up to one value a query, as somebody unseen may have.
    """
    if not patients.high:
        return PublishedEstimate(reason=_NOBODY)
    counts = [within(_count_from(place, coarse), patients) for place in range(len(coarse.bins) + 1)]
    above = [share_of(count, patients) for count in counts]
    confidence_low, confidence_high = binned_mean_bounds(
        [(0.0, 0.0), *((edge.low, None if math.isinf(edge.high) else edge.high) for edge in coarse.edges)],
        [True, *(count.high > 0 for count in coarse.bins)],
        [
            (share.confidence_low or 0.0, 1.0 if share.confidence_high is None else share.confidence_high)
            for share in above
        ],
    )
    # As the mean: the sum over the edges of how many lie above one, times the step to the next.
    given = [place for place, count in enumerate(coarse.bins) if count.high]
    lows, highs = ([0.0, *(getattr(coarse.edges[place], end) for place in given)] for end in ("low", "high"))
    least = sum((low - below) * counts[k].low for below, low, k in zip(lows, lows[1:], given, strict=False))
    least /= patients.high
    if confidence_high is None:
        return _at_least(least * QUERIES, confidence_low * QUERIES)
    most = sum((high - below) * counts[k].high for below, high, k in zip(highs, highs[1:], given, strict=False))
    most /= max(1, patients.low, counts[0].low)
    return ranged(least * QUERIES, most * QUERIES, (confidence_low * QUERIES, confidence_high * QUERIES))


def _count_from(place: int, coarse: CoarseRate) -> CountRange:
    """Return how many lie in a bin or above it: what the bins leave, and how many there are in all."""
    below, own = add(coarse.bins[:place]), add(coarse.bins[place:])
    return CountRange(
        low=max(own.low, coarse.any.low - below.high), high=min(own.high, max(0, coarse.any.high - below.low))
    )


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
