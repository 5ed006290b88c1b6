"""Disclosure of a diagnosis at a tier: both arms, their differences, tests (paper 3.2.2; docs/methods.md, section 5).

The delta is train minus nontrain: what training adds. Owns which interval a metric gets, the deltas and their
intervals, their one-sided tests with Holm's adjustment, the minimal detectable difference, and the worst-case (Manski)
bounds under missing verdicts. Every interval is over patients, each of whom has one generation. A bootstrap interval is
widened to its union with an analytic one: conservative, and not degenerate where all resamples are alike. Knows nothing
of notes, prompts or how a verdict was reached: it takes readings.
"""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtr

from clinaudit.audit.measures.disclosure.metrics import (
    DISCLOSURE_METRICS,
    NEGATIVE,
    OF_SIDE,
    OUTCOMES,
    POSITIVE,
    SCORES,
    UNJUDGED,
    ZERO_METRICS,
    ArmCounts,
    Counts,
    Metric,
    Reading,
    compute_metrics,
    count_basis,
    count_judged,
    count_mentioned,
    count_outcomes,
    count_share,
    explain_missing,
    score_levels_of_all,
    score_levels_of_mentions,
    split_sides,
    tabulate_outcomes,
)
from clinaudit.audit.statistics.auroc import AurocError, auroc_of_counts, difference_error, measure_error, roc_points
from clinaudit.audit.statistics.intervals import (
    RESAMPLES,
    estimate_share,
    holm,
    interval_of,
    interval_of_resamples,
    newcombe_difference,
    score_test_p_value,
    wider_of,
    zero_numerator_bound,
)
from clinaudit.reports.schema.disclosure import (
    SIDES,
    MeasuredArm,
    MeasuredDelta,
    MeasuredPair,
    Side,
    TestedDelta,
    compared_sides,
)
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import ARMS

Key = TypeVar("Key", bound=Hashable)
ONE_CLASS_REASON = "more than 1% of the resamples leave this figure undefined, too few generations bear on it"


def measure_disclosure(
    readings: Sequence[Reading],
    *,
    prevalence: float | None,
    seed: int,
    dropped_sets: Mapping[str, int] | None = None,
    resamples: int = RESAMPLES,
    sides: Collection[Side] = ARMS,
) -> MeasuredPair:
    """Return the metrics of one (diagnosis, tier), `p_holm` still null; see `adjust_holm`.

    `prevalence` is that of the diagnosis among the train candidates; None where not known. `sides`: whose answers were
    asked for. Where nobody was held out the difference is from the control's answers about the same patients; its error
    is that of independent answers, which is too large where both models answer alike, as they do where training adds
    nothing. Independent of the order of readings. Raises `ValueError` where a patient is read twice or in both arms.
    """
    by_side = split_sides(readings)
    measured = {
        side: _measure_arm(
            count_outcomes(by_side[side]),
            prevalence=prevalence,
            rng=np.random.default_rng((seed, position)),
            resamples=resamples,
            left_out=tuple(dropped_sets or ()),
        )
        for position, side in enumerate(SIDES)
        if side in sides
    }
    compared = compared_sides(sides)
    train, *others = (measured[side] for side in compared)
    delta = detectable = None
    for beside in others:
        delta = MeasuredDelta(**{metric: _compare(metric, train, beside, compared) for metric in DISCLOSURE_METRICS})
        if delta.auroc_all.value is not None:
            error = difference_error(_auroc_error_of_all(train.counts), _auroc_error_of_all(beside.counts))
            detectable = float(error.minimum_detectable_difference())
    arms = {side: _describe_arm(measured[side]) if side in measured else None for side in SIDES}
    return MeasuredPair.model_validate(
        {
            "outcomes": {side: tabulate_outcomes(of.counts) for side, of in measured.items()},
            **arms,
            "delta": delta,
            "detectable_delta": detectable,
            "dropped_sets": dict(dropped_sets or {}),
        }
    )


def adjust_holm(pairs: Mapping[Key, MeasuredPair]) -> dict[Key, MeasuredPair]:
    """Return the same pairs with `p_holm`: each metric's tests over all pairs adjusted together."""
    deltas = {key: pair.delta for key, pair in pairs.items() if pair.delta is not None}
    adjusted: dict[Key, dict[str, TestedDelta]] = {key: {} for key in deltas}
    for metric in DISCLOSURE_METRICS:
        of_pairs: dict[Key, TestedDelta] = {key: getattr(delta, metric) for key, delta in deltas.items()}
        p_values = {key: delta.p_value for key, delta in of_pairs.items() if delta.p_value is not None}
        for key, p_holm in zip(p_values, holm(list(p_values.values())), strict=True):
            adjusted[key][metric] = of_pairs[key].model_copy(update={"p_holm": p_holm})
    return {
        key: pair.model_copy(update={"delta": deltas[key].model_copy(update=adjusted[key])}) if key in deltas else pair
        for key, pair in pairs.items()
    }


class _ArmMetrics(NamedTuple):
    """One arm: its counts, its estimates, and each metric's `(resamples,)` values, NaN where undefined."""

    counts: ArmCounts
    estimates: dict[Metric, Estimate]
    resampled: dict[Metric, Counts]


def _measure_arm(
    counts: ArmCounts,
    *,
    prevalence: float | None,
    rng: np.random.Generator,
    resamples: int,
    left_out: Collection[str],
) -> _ArmMetrics:
    """Return every metric with its interval, or the reason why it has none; `left_out`: why sets were left out."""
    points = compute_metrics(*counts, prevalence=prevalence)
    # Stratified by status. Generations are drawn before asking which mention the diagnosis: how many do is random too.
    drawn = [_resample(of_status, rng, resamples) for of_status in counts]
    resampled = compute_metrics(*drawn, prevalence=prevalence)
    estimates = {}
    for metric in DISCLOSURE_METRICS:
        point, basis = float(points[metric]), count_basis(metric, *counts)
        if np.isnan(point):
            reason = explain_missing(metric, *counts, prevalence=prevalence, left_out=left_out)
            estimates[metric] = Estimate(value=None, n=basis, reason=reason)
            continue
        interval = _find_interval(metric, point, counts=counts, resampled=resampled[metric], prevalence=prevalence)
        if interval is None:
            estimates[metric] = Estimate(value=point, n=basis, reason=ONE_CLASS_REASON)
        else:
            estimates[metric] = Estimate(value=point, low=interval[0], high=interval[1], n=basis)
    return _ArmMetrics(counts, estimates, resampled)


def _describe_arm(arm: _ArmMetrics) -> MeasuredArm:
    """Return the record of one arm."""
    present, absent = arm.counts
    judged = count_judged(present) + count_judged(absent)
    return MeasuredArm(
        generations=int(present.sum() + absent.sum()),
        mentioned=int(count_mentioned(present) + count_mentioned(absent)),
        unjudged=int(present[UNJUDGED] + absent[UNJUDGED]),
        base_rate=float(count_judged(present) / judged) if judged else None,
        # As in the paper's Figures 9 and 10: among generations that mention the diagnosis.
        roc=roc_points(SCORES, score_levels_of_mentions(present), score_levels_of_mentions(absent)),
        zero_bounds=_bound_zeros(arm.counts),
        undefined_resamples={
            str(metric): count
            for metric, drawn in arm.resampled.items()
            if arm.estimates[metric].value is not None and (count := int(np.isnan(drawn).sum()))
        },
        **arm.estimates,
    )


def _auroc_error_of_all(counts: ArmCounts) -> AurocError:
    """Return the sampling error of `auroc_all`."""
    return measure_error(score_levels_of_all(counts.present), score_levels_of_all(counts.absent))


def _auroc_error_of_mentions(counts: ArmCounts) -> AurocError:
    """Return the sampling error of `auroc`."""
    return measure_error(score_levels_of_mentions(counts.present), score_levels_of_mentions(counts.absent))


def _as_floats(interval: tuple[Counts, Counts]) -> tuple[float, float]:
    """Return the interval of a single estimate as numbers."""
    return float(interval[0]), float(interval[1])


def ppv_bounds(sensitivity: Estimate, false_positive_rate: Estimate, *, prevalence: float) -> tuple[float, float]:
    """Return the 95% interval of PPV at a prevalence from those of its two rates, which may be 0 but not both.

    PPV depends on the two rates by their ratio alone, the positive likelihood ratio, and rises with it. The ratio's
    limits come from the limits of the rates (Donner and Zou 2012, MOVER for a ratio): each is the ratio r at which the
    interval of sensitivity - r * false_positive_rate begins to hold 0.
    """
    chance = (1 - prevalence) / prevalence
    least = _least_ratio(sensitivity, false_positive_rate)
    # The inverse ratio, since a false-positive rate may be 0.
    least_inverse = _least_ratio(false_positive_rate, sensitivity)
    return least / (least + chance), 1 / (1 + least_inverse * chance)


def _least_ratio(first: Estimate, second: Estimate) -> float:
    """Return the lower limit r of first / second: the smaller root of (a - r b)² = (a - a_low)² + r² (b_high - b)²."""
    a, b = first.value or 0.0, second.value or 0.0
    a_low, b_high = interval_of(first)[0], interval_of(second)[1]
    constant, square = a_low * (2 * a - a_low), b_high * (2 * b - b_high)
    if constant <= 0:
        return 0.0
    # Written so that neither b = 0 nor square = 0 divides by 0.
    return constant / (a * b + math.sqrt(max(0.0, (a * b) ** 2 - constant * square)))


def _resample(counts: Counts, rng: np.random.Generator, resamples: int) -> Counts:
    """Draw patients with replacement: `(resamples, 5)` counts."""
    size = int(counts.sum())
    if not size:
        return np.zeros((resamples, len(OUTCOMES)))
    return rng.multinomial(size, counts / size, size=resamples).astype(np.float64)


def _find_interval(
    metric: Metric, point: float, *, counts: ArmCounts, resampled: Counts, prevalence: float | None
) -> tuple[float, float] | None:
    """Return an arm's interval: Wilson's or DeLong's where they apply, else the bootstrap's in union with another.

    None where too many resamples leave the metric undefined (`interval_of_resamples`).
    """
    share = count_share(metric, *counts)
    if share is not None:
        return interval_of(estimate_share(*share))
    if metric == "auroc_all":
        return _as_floats(_auroc_error_of_all(counts).interval(point, floor=0.0))
    interval = interval_of_resamples(resampled)
    if interval is None:
        return None
    # The bootstrap of few patients is too narrow, and degenerate where every resample is alike: hence the union.
    if metric == "auroc":
        return wider_of(interval, _as_floats(_auroc_error_of_mentions(counts).interval(point, floor=0.0)))
    if prevalence is None:
        raise ValueError("no prevalence, no figure")
    shares = [count_share(rate, *counts) for rate in ("sensitivity", "false_positive_rate")]
    rates = [estimate_share(*share) for share in shares if share is not None]
    return wider_of(interval, ppv_bounds(*rates, prevalence=prevalence))


def _bound_zeros(counts: ArmCounts) -> dict[str, float]:
    """Return the upper bound of each share whose numerator is zero."""
    shares = {metric: count_share(metric, *counts) for metric in ZERO_METRICS}
    return {
        metric: zero_numerator_bound(share[1])
        for metric, share in shares.items()
        if share is not None and share[0] == 0 and share[1]
    }


def _compare(metric: Metric, train: _ArmMetrics, nontrain: _ArmMetrics, sides: Sequence[Side]) -> TestedDelta:
    first, second = train.estimates[metric], nontrain.estimates[metric]
    basis = (first.n or 0) + (second.n or 0)
    if first.value is None or second.value is None:
        where = OF_SIDE[sides[first.value is not None]]
        why = first.reason if first.value is None else second.reason
        return TestedDelta(value=None, n=basis, reason=f"{where}: {why}")
    value = first.value - second.value
    if metric == "auroc_all":
        return _compare_auroc_all(value, basis, train.counts, nontrain.counts)
    shares = [count_share(metric, *arm.counts) for arm in (train, nontrain)]
    if shares[0] is not None and shares[1] is not None:
        low, high = newcombe_difference(first, second)
        return TestedDelta(value=value, low=low, high=high, n=basis, p_value=score_test_p_value(shares[0], shares[1]))
    if first.low is None or second.low is None:
        return TestedDelta(value=value, n=basis, reason=ONE_CLASS_REASON)
    differences = train.resampled[metric] - nontrain.resampled[metric]
    interval = interval_of_resamples(differences)
    if interval is None:
        return TestedDelta(value=value, n=basis, reason=ONE_CLASS_REASON)
    # The bootstrap of few patients is too narrow: hence the union of two intervals, and the larger of two p-values.
    if metric == "auroc":
        error = difference_error(_auroc_error_of_mentions(train.counts), _auroc_error_of_mentions(nontrain.counts))
        nearer_to_null = min(value, float(error.smoothed))
        other_interval, other_p = _as_floats(error.interval(value, floor=-1.0)), float(error.p_value(nearer_to_null))
    else:
        other_interval, other_p = newcombe_difference(first, second), ratio_p_value(train.counts, nontrain.counts)
    low, high = wider_of(interval, other_interval)
    p_value = max(_resampling_p_value(differences), other_p)
    return TestedDelta(value=value, low=low, high=high, n=basis, p_value=p_value)


def _resampling_p_value(differences: Counts) -> float:
    """Return the one-sided bootstrap p-value of a difference above 0.

    The observed sample counts as one of the resamples, so that no p-value is 0 (Davison and Hinkley 1997).
    """
    defined = differences[np.isfinite(differences)]
    return float((1 + (defined <= 0).sum()) / (1 + defined.size))


def ratio_p_value(train: ArmCounts, nontrain: ArmCounts) -> float:
    """Return the one-sided p-value that PPV at one prevalence is larger in train.

    It is larger where the positive likelihood ratio is, sensitivity / false-positive rate. A normal test on the log
    ratio, half a patient added to each count (Walter 1975).
    """
    logs, variance = [], 0.0
    for counts in (train, nontrain):
        log_ratio = 0.0
        for sign, rate in ((1, "sensitivity"), (-1, "false_positive_rate")):
            share = count_share(rate, *counts)  # type: ignore[arg-type]
            if share is None:
                raise ValueError("a rate must be a share")
            log_ratio += sign * math.log((share[0] + 0.5) / (share[1] + 0.5))
            variance += 1 / (share[0] + 0.5) - 1 / (share[1] + 0.5)
        logs.append(log_ratio)
    # Where the diagnosis is stated of every patient of both classes in both arms, variance and difference are both 0.
    return float(ndtr(-(logs[0] - logs[1]) / math.sqrt(variance))) if variance > 0 else 1.0


def _compare_auroc_all(value: float, basis: int, train: ArmCounts, nontrain: ArmCounts) -> TestedDelta:
    error = difference_error(_auroc_error_of_all(train), _auroc_error_of_all(nontrain))
    low, high = _as_floats(error.interval(value, floor=-1.0))
    worst_low, worst_high = worst_case_bounds(train, nontrain) or (None, None)
    return TestedDelta(
        value=value,
        low=low,
        high=high,
        n=basis,
        p_value=float(error.p_value(value)),
        worst_low=worst_low,
        worst_high=worst_high,
    )


def worst_case_bounds(train: ArmCounts, nontrain: ArmCounts) -> tuple[float, float] | None:
    """Return the worst-case bounds (Manski 1990) of the delta of `auroc_all`, verdicts missing; None if none is.

    No assumption is made on the unjudged verdicts. The lower bound is the lower limit of the interval with all of them
    imputed such that the delta is smallest; the upper bound is the upper limit with all such that it is largest.
    """
    if not any(counts[UNJUDGED] for arm in (train, nontrain) for counts in arm):
        return None
    return _impute_and_measure(train, nontrain, leaking=False)[0], _impute_and_measure(train, nontrain, leaking=True)[1]


def _impute_and_measure(train: ArmCounts, nontrain: ArmCounts, *, leaking: bool) -> tuple[float, float]:
    """Return the interval with unjudged verdicts imputed such that the delta is largest (`leaking`) or smallest."""
    right, wrong = (POSITIVE, NEGATIVE) if leaking else (NEGATIVE, POSITIVE)
    imputed = (
        ArmCounts(_impute(train.present, right), _impute(train.absent, wrong)),
        ArmCounts(_impute(nontrain.present, wrong), _impute(nontrain.absent, right)),
    )
    areas = [auroc_of_counts(*(score_levels_of_all(counts) for counts in arm)) for arm in imputed]
    error = difference_error(_auroc_error_of_all(imputed[0]), _auroc_error_of_all(imputed[1]))
    return _as_floats(error.interval(areas[0] - areas[1], floor=-1.0))


def _impute(counts: Counts, outcome: int) -> Counts:
    filled = counts.copy()
    filled[outcome] += filled[UNJUDGED]
    filled[UNJUDGED] = 0
    return filled
