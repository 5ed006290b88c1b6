"""Identifiers in generations, from their tallies (docs/results.md, "identifiers")."""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from clinaudit.audit.statistics.counts import ranged, share_of
from clinaudit.audit.statistics.intervals import binned_mean_bounds
from clinaudit.reports.schema.identifiers import QUERIES, DetectorRecall, IdentifierResults, IdentifiersResults, RateBin
from clinaudit.reports.schema.numbers import CountRange, Estimate, EstimateRange, add, exact_estimate
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.tally.leaves import Rate
from clinaudit.reports.tally.tally import IdentifiersTally, IdentifierTally

_NOBODY: Final = "there was nothing to count"


class _Recall(NamedTuple):
    """The least and the largest recall of any identifier, with the ends of their intervals."""

    low: float
    high: float
    confidence_low: float
    confidence_high: float


def derive_identifiers(tally: IdentifiersTally, sizes: Mapping[tuple[str, Arm], CountRange]) -> IdentifiersResults:
    """Return the results of a run's identifiers; `sizes` are those of arms of which more than this tally is known."""
    rows = {row.identifier: row for row in tally.recall.value if row.found}
    categories = tally.categories.value or {}
    # Of what was not planted, no more is taken to be there than was found.
    recall = _find_recall(list(rows.values()), most=1.0 if set(categories) - set(rows) else None)

    def of_arms(
        arms: Mapping[Arm, IdentifierTally], recall: _Recall | None, tier: str = ""
    ) -> dict[Arm, IdentifierResults]:
        return {arm: derive_figures(of, recall, sizes.get((tier, arm))) for arm, of in arms.items()}

    return IdentifiersResults(
        tiers={tier: of_arms(arms, recall, tier) for tier, arms in tally.tiers.items()},
        categories={
            name: of_arms(arms, _find_recall([rows[name]] if name in rows else [])) for name, arms in categories.items()
        },
        recall=list(tally.recall.value),
        not_tested=dict(tally.not_tested),
        site_rules=tally.site_rules.value,
    )


def derive_figures(tally: IdentifierTally, recall: _Recall | None, patients: CountRange | None) -> IdentifierResults:
    """Return the figures of one tier, or of one of HIPAA's identifiers, and arm, of so many `patients`."""
    patients = patients or tally.patients.range
    evidence, verified = tally.evidence.value, tally.verified_rate

    def share(count: CountRange) -> EstimateRange:
        return share_of(add([count], of=patients), patients)

    def per_1000(rate: Rate | None, measured: Estimate | None) -> EstimateRange | None:
        if rate is None:
            return None
        return _range_of_rate(rate, patients) if measured is None else exact_estimate(measured)

    sampled, chance = (None if of.value is None else of.value.range for of in (tally.sampled, tally.chance))
    found = _range_of_rate(verified, patients) if evidence is None else exact_estimate(evidence.verified_per_1000)
    return IdentifierResults(
        patients=patients,
        own_patients=tally.own.range,
        own=share(tally.own.range),
        other_patients=tally.other.range,
        other=share(tally.other.range),
        sampled_patients=sampled,
        sampled=None if sampled is None else share(sampled),
        chance_patients=chance,
        chance=None if chance is None else share(chance),
        verified_patients=tally.verified.range,
        verified=share(tally.verified.range),
        sampled_per_1000=per_1000(tally.sampled_rate.value, None if evidence is None else evidence.sampled_per_1000),
        chance_per_1000=per_1000(tally.chance_rate.value, None if evidence is None else evidence.chance_per_1000),
        verified_per_1000=found,
        corrected_per_1000=(None if recall is None else _correct(found, recall))
        if evidence is None
        else exact_estimate(evidence.corrected_per_1000),
        by_patient=[
            RateBin(low=edge.low, high=None if math.isinf(edge.high) else edge.high, patients=count)
            for edge, count in zip(verified.edges, verified.bins, strict=True)
        ],
        evidence=evidence,
    )


def _range_of_rate(rate: Rate, patients: CountRange) -> EstimateRange:
    """Return values per 1,000 queries over all tables within the bins; there is no upper end without one.

    A mean is the sum, over the edges of the bins, of the share of patients who lie above times the step to the next
    edge. The ends of its interval take each of these shares at its own 95% end, which is wider than the mean's own: the
    shares do not all err the same way. The last step reaches up to one value a query, as somebody unseen may have.
    """
    if not patients.high:
        return EstimateRange(reason=_NOBODY)
    counts = [add([_count_from(place, rate)], of=patients) for place in range(len(rate.bins) + 1)]
    above = [share_of(count, patients) for count in counts]
    confidence_low, confidence_high = binned_mean_bounds(
        [(0.0, 0.0), *((edge.low, None if math.isinf(edge.high) else edge.high) for edge in rate.edges)],
        [True, *(count.high > 0 for count in rate.bins)],
        [
            (share.confidence_low or 0.0, 1.0 if share.confidence_high is None else share.confidence_high)
            for share in above
        ],
    )
    # As the mean: the sum over the edges of how many lie above one, times the step to the next.
    given = [place for place, count in enumerate(rate.bins) if count.high]
    lows, highs = ([0.0, *(getattr(rate.edges[place], end) for place in given)] for end in ("low", "high"))
    least = sum((low - below) * counts[k].low for below, low, k in zip(lows, lows[1:], given, strict=False))
    least /= patients.high
    if confidence_high is None:
        return _at_least(least * QUERIES, confidence_low * QUERIES)
    most = sum((high - below) * counts[k].high for below, high, k in zip(highs, highs[1:], given, strict=False))
    most /= max(1, patients.low, counts[0].low)
    return ranged(least * QUERIES, most * QUERIES, (confidence_low * QUERIES, confidence_high * QUERIES))


def _count_from(place: int, rate: Rate) -> CountRange:
    """Return how many lie in a bin or above it: what the bins leave, and how many there are in all."""
    below, own = add(rate.bins[:place]), add(rate.bins[place:])
    return CountRange(
        low=max(own.low, rate.any.low - below.high), high=min(own.high, max(0, rate.any.high - below.low))
    )


def _find_recall(rows: Sequence[DetectorRecall], *, most: float | None = None) -> _Recall | None:
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


def _correct(rate: EstimateRange, recall: _Recall) -> EstimateRange:
    """Return a rate as it was if all identifiers were found, whichever of them were missed."""
    if rate.low is None:
        return rate
    low, confidence_low = rate.low / recall.high, (rate.confidence_low or 0.0) / recall.confidence_high
    if rate.high is None or rate.confidence_high is None:
        return _at_least(low, confidence_low)
    return ranged(low, rate.high / recall.low, (confidence_low, rate.confidence_high / recall.confidence_low))


def _at_least(low: float, confidence_low: float) -> EstimateRange:
    floored = ranged(low, low + 1, (confidence_low, confidence_low + 1))
    return floored.model_copy(update={"high": None, "confidence_high": None})
