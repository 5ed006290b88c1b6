"""Disclosure from its tally: as measured, or as ranges over all verdict tables within the published classes.

Owns the ranges of each arm, of train minus nontrain and of the minimal detectable difference, with the widest ends of
their 95% intervals (docs/methods.md, section 10). The formulas are those of `clinaudit.audit.measures.disclosure`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.measures.disclosure.metrics import (
    DISCLOSURE_METRICS,
    OF_SIDE,
    POSITIVE,
    Metric,
    compute_metrics,
    count_judged,
    count_mentioned,
    explain_missing,
    score_levels_of_all,
    score_levels_of_mentions,
)
from clinaudit.audit.measures.disclosure.train_delta import ppv_bounds
from clinaudit.audit.results.ranges.verdict_tables import ArmTables, arm_tables, most_varied, size_of_rows
from clinaudit.audit.statistics.auroc import AurocError, Counts, auroc_of_counts, difference_error, measure_error
from clinaudit.audit.statistics.counts import average, ranged, share_range
from clinaudit.audit.statistics.intervals import (
    FEW_TRIALS,
    Z,
    clopper_pearson_of_mean,
    newcombe_difference,
    resampled_share,
)
from clinaudit.reports.schema.disclosure import (
    SIDES,
    DiagnosisStatus,
    DisclosureResults,
    MeanResults,
    MeasuredArm,
    MeasuredDelta,
    PairResults,
    Side,
    VerdictCounts,
    compared_sides,
)
from clinaudit.reports.schema.numbers import CountRange, Estimate, EstimateRange, exact_estimate
from clinaudit.reports.tally.tally import DisclosureTally, PairTally

#: Tables of an arm and size that a difference is looked for at, at each end of each measure.
_KEPT: Final = 4
_NOT_MEASURED: Final = EstimateRange(reason="not measured")
_NOBODY_OUTSIDE: Final = "there are no patients outside the training data, and no control model"
_NONE_JUDGED: Final = "no generation was judged"
_LEVELS: Final = {"auroc_all": score_levels_of_all, "auroc": score_levels_of_mentions}
Values = NDArray[np.float64]


class ArmCorners(NamedTuple):
    """One arm at every corner of every size: tables joined, the size of each, and every metric."""

    sizes: NDArray[np.int64]
    present: Counts
    absent: Counts
    #: At the least and the largest prevalence.
    metrics: tuple[Mapping[Metric, Values], Mapping[Metric, Values]]


def derive_disclosure(tally: DisclosureTally, prevalence: Mapping[str, EstimateRange]) -> DisclosureResults:
    """Return disclosure at every tier and over all diagnoses; `prevalence` by diagnosis."""
    pairs = {
        diagnosis: {tier: derive_pair(pair, prevalence.get(diagnosis, _NOT_MEASURED)) for tier, pair in tiers.items()}
        for diagnosis, tiers in tally.by_diagnosis.items()
    }
    means = {}
    for tier in dict.fromkeys(tier for own in pairs.values() for tier in own):
        measured = tally.mean[tier].value if tier in tally.mean else None
        means[tier] = (
            derive_means([own[tier] for own in pairs.values() if tier in own])
            if measured is None
            else MeanResults(**{side: _exact(getattr(measured, side)) for side in (*SIDES, "delta")}, evidence=measured)
        )
    return DisclosureResults(by_diagnosis=pairs, mean=means)


def derive_pair(tally: PairTally, prevalence: EstimateRange) -> PairResults:
    """Return both arms and their difference, as measured, or as ranges where that is not published."""
    verdicts = find_verdicts(tally)
    dropped, measured = dict(tally.dropped_sets.cells), tally.evidence.value
    if measured is not None:
        sides = {side: getattr(measured, side) for side in (*SIDES, "delta")}
        return PairResults(
            patients=find_sizes(tally),
            verdicts=verdicts,
            **{side: None if own is None else _exact(own) for side, own in sides.items()},
            dropped_sets=dropped,
            detectable_delta=EstimateRange(reason=_NOBODY_OUTSIDE if measured.delta is None else _NONE_JUDGED)
            if measured.detectable_delta is None
            else exact_estimate(Estimate(value=measured.detectable_delta)),
            evidence=measured,
        )
    sizes = find_sizes(tally)
    corners = {side: measure_arm(arm_tables(rows, sizes), prevalence) for side, rows in verdicts.items()}
    left_out = [reason for reason, count in dropped.items() if count.high]
    published = {side: _derive_arm(measured, prevalence, left_out) for side, measured in corners.items()}
    compared = {side: corners[side] for side in compared_sides(corners)}
    return PairResults(
        patients=sizes,
        verdicts=verdicts,
        train=published["train"],
        nontrain=published.get("nontrain"),
        control=published.get("control"),
        delta=_derive_delta(compared, published) if len(compared) > 1 else None,
        dropped_sets=dropped,
        detectable_delta=_derive_detectable(compared, verdicts, sizes),
    )


def _exact(measured: Mapping[str, Estimate] | MeasuredArm | MeasuredDelta) -> dict[str, EstimateRange]:
    of = measured if isinstance(measured, Mapping) else {str(m): getattr(measured, m) for m in DISCLOSURE_METRICS}
    return {metric: exact_estimate(estimate) for metric, estimate in of.items()}


def find_verdicts(tally: PairTally) -> dict[Side, dict[DiagnosisStatus, VerdictCounts]]:
    """Return the verdict table of a pair."""
    return {
        side: {
            status: VerdictCounts(**{verdict: count.range for verdict, count in row.items()})
            for status, row in rows.items()
        }
        for side, rows in tally.verdicts.items()
    }


def find_sizes(tally: PairTally) -> CountRange:
    """Return the number of matched sets at a tier."""
    return size_of_rows(row for rows in find_verdicts(tally).values() for row in rows.values())


def derive_means(pairs: Sequence[PairResults]) -> MeanResults:
    """Return the means of the ranges over the diagnoses that have them."""
    return MeanResults(
        **{side: _average([own for pair in pairs if (own := getattr(pair, side))]) for side in (*SIDES, "delta")},
    )


def measure_arm(tables: Sequence[ArmTables], prevalence: EstimateRange) -> ArmCorners:
    """Return every metric of an arm at every corner."""
    if not tables:
        nothing = np.zeros((1, 5))
        tables = [ArmTables(0, nothing, nothing)]
    present = np.concatenate([table.present for table in tables])
    absent = np.concatenate([table.absent for table in tables])
    sizes = np.concatenate([np.full(len(table.present), table.size) for table in tables])
    low, high = (compute_metrics(present, absent, prevalence=share) for share in (prevalence.low, prevalence.high))
    return ArmCorners(sizes, present, absent, (low, high))


def kept_pairs(train: ArmCorners, nontrain: ArmCorners, measures: Sequence[tuple[Values, Values]]) -> NDArray[np.int64]:
    """Return pairs of tables of one size, `(pairs, 2)` rows: those at the ends of the measures, given for both arms."""
    found = []
    for size in np.intersect1d(train.sizes, nontrain.sizes):
        rows = []
        for arm, values in ((train, [own for own, _ in measures]), (nontrain, [own for _, own in measures])):
            own = np.flatnonzero(arm.sizes == size)
            kept: set[int] = set()
            for measure in values:
                order = own[np.argsort(measure[own], kind="stable")]
                kept.update(order[:_KEPT].tolist(), order[-_KEPT:].tolist())
            rows.append(np.array(sorted(kept)))
        first, second = np.meshgrid(*rows, indexing="ij")
        found.append(np.stack([first.ravel(), second.ravel()], axis=-1))
    return np.concatenate(found) if found else np.zeros((0, 2), dtype=np.int64)


def area_errors(arm: ArmCorners, metric: Metric) -> tuple[Values, AurocError]:
    """Return the AUROC of an arm at every corner, and its error."""
    levels = _LEVELS[metric]
    present, absent = levels(arm.present), levels(arm.absent)
    return auroc_of_counts(present, absent), measure_error(present, absent)


def take(error: AurocError, rows: NDArray[np.int64]) -> AurocError:
    """Return the error at some rows."""
    return AurocError(error.variance[rows], error.degrees_of_freedom[rows], error.smoothed[rows])


def _derive_arm(arm: ArmCorners, prevalence: EstimateRange, left_out: Sequence[str]) -> dict[str, EstimateRange]:
    published = {}
    for metric in DISCLOSURE_METRICS:
        low, high = (values[metric] for values in arm.metrics)
        defined = np.isfinite(low)
        if not defined.any():
            reason = explain_missing(
                metric, arm.present[0], arm.absent[0], prevalence=prevalence.high, left_out=left_out
            )
            published[str(metric)] = EstimateRange(reason=reason)
            continue
        ends = _interval_of_arm(metric, arm, defined, prevalence)
        published[str(metric)] = ranged(float(np.nanmin(low)), float(np.nanmax(high)), ends)
    return published


def _interval_of_arm(
    metric: Metric, arm: ArmCorners, defined: NDArray[np.bool_], prevalence: EstimateRange
) -> tuple[float, float]:
    """Return the widest ends of the metric's interval over the corners."""
    if metric in _LEVELS:
        areas, error = area_errors(arm, metric)
        low, high = error.interval(areas, floor=0.0)
        return float(low[defined].min()), float(high[defined].max())
    if metric == "ppv_at_prevalence":
        intervals = _ppv_intervals(arm, prevalence)
        return min(low for low, _ in intervals), max(high for _, high in intervals)
    successes, trials = _share(metric, arm)
    low, high = share_bounds(successes[defined], trials[defined])
    return float(low.min()), float(high.max())


def _share(metric: Metric, arm: ArmCorners) -> tuple[Values, Values]:
    """Return successes and trials of a metric that is a share, at every corner."""
    stated, misstated = arm.present[:, POSITIVE], arm.absent[:, POSITIVE]
    present, absent = count_judged(arm.present), count_judged(arm.absent)
    shares = {
        "mention_rate": (count_mentioned(arm.present) + count_mentioned(arm.absent), present + absent),
        "ppv": (stated, stated + misstated),
        "sensitivity": (stated, present),
        "false_positive_rate": (misstated, absent),
    }
    return shares[metric]


def share_bounds(successes: Values, trials: Values) -> tuple[Values, Values]:
    """Return the ends of the interval of shares as an arm's: Wilson's, below `FEW_TRIALS` with Clopper-Pearson's.

    They are widened to where the ends of a bootstrap can lie.
    """
    # Many corners have one share, whose ends take long.
    (successes, trials), places = np.unique(np.stack([successes, trials]), axis=1, return_inverse=True)
    share = successes / trials
    shrink = 1 + Z**2 / trials
    middle = (share + Z**2 / (2 * trials)) / shrink
    half = Z * np.sqrt(share * (1 - share) / trials + Z**2 / (4 * trials**2)) / shrink
    low, high = np.maximum(0.0, middle - half), np.minimum(1.0, middle + half)
    low[share <= 0], high[share >= 1] = 0.0, 1.0
    # Means over diagnoses and PPV at prevalence have a bootstrap's ends.
    drawn = resampled_share(successes, trials)
    low, high = np.minimum(low, drawn[0]), np.maximum(high, drawn[1])
    for row in np.flatnonzero(trials < FEW_TRIALS):
        exact = clopper_pearson_of_mean(float(successes[row]), int(trials[row]))
        low[row], high[row] = min(low[row], exact.low or 0.0), max(high[row], 1.0 if exact.high is None else exact.high)
    return low[places], high[places]


def _ppv_intervals(arm: ArmCorners, prevalence: EstimateRange) -> list[tuple[float, float]]:
    """Return the interval of PPV at prevalence at every corner, at both ends of the prevalence."""
    defined = np.isfinite(arm.metrics[0]["ppv_at_prevalence"])
    columns = [
        values[defined] for table in (arm.present, arm.absent) for values in (table[:, POSITIVE], count_judged(table))
    ]
    stated, judged, misstated, others = np.unique(np.stack(columns, axis=-1).astype(int), axis=0).T
    rates = zip(_estimates(stated, judged), _estimates(misstated, others), strict=True)
    shares = sorted({share for share in (prevalence.low, prevalence.high) if share is not None})
    return [ppv_bounds(*of, prevalence=share) for of in rates for share in shares]


def _derive_delta(
    compared: Mapping[Side, ArmCorners], published: Mapping[Side, Mapping[str, EstimateRange]]
) -> dict[str, EstimateRange]:
    deltas = {}
    train, nontrain = compared.values()
    for metric in DISCLOSURE_METRICS:
        first, second = (published[side][metric] for side in compared)
        missing = [
            f"{OF_SIDE[side]}: {one.reason}" for side in compared if (one := published[side][metric]).low is None
        ]
        if missing:
            deltas[str(metric)] = EstimateRange(reason=missing[0])
        elif metric in _LEVELS:
            deltas[str(metric)] = _area_delta(train, nontrain, metric)
        else:
            deltas[str(metric)] = _share_delta(train, nontrain, metric, (first, second))
    return deltas


def _area_delta(train: ArmCorners, nontrain: ArmCorners, metric: Metric) -> EstimateRange:
    (first, first_error), (second, second_error) = (area_errors(arm, metric) for arm in (train, nontrain))
    rows = pairs_of_areas(train, nontrain, (first, first_error), (second, second_error))
    rows = rows[np.isfinite(first[rows[:, 0]]) & np.isfinite(second[rows[:, 1]])]
    values = first[rows[:, 0]] - second[rows[:, 1]]
    error = difference_error(take(first_error, rows[:, 0]), take(second_error, rows[:, 1]))
    low, high = error.interval(values, floor=-1.0)
    return ranged(float(values.min()), float(values.max()), (float(low.min()), float(high.max())))


def pairs_of_areas(
    train: ArmCorners, nontrain: ArmCorners, first: tuple[Values, AurocError], second: tuple[Values, AurocError]
) -> NDArray[np.int64]:
    """Return the pairs of tables at which a difference of areas and its interval have their extremes."""
    measures = [
        (first[0] + sign * first[1].standard, second[0] + sign * second[1].standard) for sign in (0.0, -2.0, 2.0)
    ]
    return kept_pairs(train, nontrain, measures)


def _share_delta(
    train: ArmCorners, nontrain: ArmCorners, metric: Metric, arms: tuple[EstimateRange, EstimateRange]
) -> EstimateRange:
    """Return the range of a difference of shares; its interval is Newcombe's at the ends of both arms' ranges."""
    first, second = (_at_ends(arm, metric, estimate) for arm, estimate in zip((train, nontrain), arms, strict=True))
    intervals = [newcombe_difference(one, other) for one in first for other in second]
    low, high = arms[0], arms[1]
    return ranged(
        (low.low or 0.0) - (high.high or 0.0),
        (low.high or 0.0) - (high.low or 0.0),
        (min(ends[0] for ends in intervals), max(ends[1] for ends in intervals)),
    )


def _at_ends(arm: ArmCorners, metric: Metric, published: EstimateRange) -> list[Estimate]:
    """Return an arm's share with its interval where it, or an end of the interval, is least or largest."""
    if metric == "ppv_at_prevalence":
        return [
            Estimate(value=value, low=published.confidence_low, high=published.confidence_high)
            for value in (published.low, published.high)
        ]
    successes, trials = _share(metric, arm)
    counted = trials > 0
    shares, trials = successes[counted] / trials[counted], trials[counted]
    low, high = share_bounds(successes[counted], trials)
    places = {shares.argmin(), shares.argmax(), low.argmin(), high.argmax(), trials.argmin()}
    return [Estimate(value=float(shares[at]), low=float(low[at]), high=float(high[at])) for at in sorted(places)]


def _estimates(successes: Values, trials: Values) -> list[Estimate]:
    ends = zip(successes / trials, *share_bounds(successes, trials), strict=True)
    return [Estimate(value=float(value), low=float(low), high=float(high)) for value, low, high in ends]


def _derive_detectable(
    arms: Mapping[Side, ArmCorners],
    verdicts: Mapping[Side, Mapping[DiagnosisStatus, VerdictCounts]],
    sizes: CountRange,
) -> EstimateRange:
    if len(arms) == 1:
        return EstimateRange(reason=_NOBODY_OUTSIDE)
    areas = [area_errors(arm, "auroc_all") for arm in arms.values()]
    if not all(np.isfinite(area).any() for area, _ in areas):
        return EstimateRange(reason=_NONE_JUDGED)
    # Variances are least at a corner, and largest within.
    least = [_least_by_size(arm, error) for arm, (_, error) in zip(arms.values(), areas, strict=True)]
    largest = []
    for arm in arms:
        tables = most_varied(arm_tables(verdicts[arm], sizes), verdicts[arm])
        largest.append(measure_error(*map(score_levels_of_all, tables)))
    ends = [difference_error(*errors).minimum_detectable_difference() for errors in (least, largest)]
    return ranged(float(ends[0].min()), float(ends[1].max()))


def _least_by_size(arm: ArmCorners, error: AurocError) -> AurocError:
    """Return the least error of each size."""
    rows = [
        own[np.argmin(error.variance[own])]
        for own in (np.flatnonzero(arm.sizes == size) for size in np.unique(arm.sizes))
    ]
    return take(error, np.array(rows))


def _average(estimates: Sequence[Mapping[str, EstimateRange]]) -> dict[str, EstimateRange]:
    """Return the mean of the ranges; the interval is the mean of the intervals' ends, which is conservative."""
    missing = EstimateRange(reason="no diagnosis has this figure")
    if not estimates:
        return {}
    return {
        str(metric): average([row[metric] for row in estimates if metric in row]) or missing
        for metric in DISCLOSURE_METRICS
    }


def derive_prevalence(present: CountRange, absent: CountRange) -> EstimateRange:
    """Return the share of the candidates who have the diagnosis."""
    return share_range(present, absent, by_wilson=True)
