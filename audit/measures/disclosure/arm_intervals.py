"""The disclosure metrics of one arm with their confidence intervals (docs/methods.md, section 5).

Owns which interval a metric gets. Knows nothing of the other arm. Every interval is over patients, each of whom has one
generation. A bootstrap interval is widened to its union with an analytic one: conservative, and not degenerate where
all resamples are alike.
"""

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from clinaudit.audit.measures.disclosure.metrics import (
    DISCLOSURE_METRICS,
    OUTCOMES,
    SCORES,
    UNJUDGED,
    ZERO_METRICS,
    ArmCounts,
    Counts,
    Metric,
    compute_metrics,
    count_basis,
    count_judged,
    count_mentioned,
    count_share,
    explain_missing,
    score_levels_of_all,
    score_levels_of_mentions,
)
from clinaudit.audit.statistics.auroc import AurocError, measure_error, roc_points
from clinaudit.audit.statistics.intervals import (
    estimate_share,
    interval_of,
    interval_of_resamples,
    wider_of,
    zero_numerator_bound,
)
from clinaudit.reports.schema.disclosure import MeasuredArm
from clinaudit.reports.schema.numbers import Estimate

ONE_CLASS_REASON = "more than 1% of the resamples leave this figure undefined, too few generations bear on it"


class ArmMetrics(NamedTuple):
    """One arm: its counts, its estimates, and each metric's `(resamples,)` values, NaN where undefined."""

    counts: ArmCounts
    estimates: dict[Metric, Estimate]
    resampled: dict[Metric, Counts]


def measure_arm(
    counts: ArmCounts,
    *,
    prevalence: float | None,
    rng: np.random.Generator,
    resamples: int,
    left_out: Collection[str] = (),
) -> ArmMetrics:
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
    return ArmMetrics(counts, estimates, resampled)


def describe_arm(arm: ArmMetrics) -> MeasuredArm:
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


def auroc_error_of_all(counts: ArmCounts) -> AurocError:
    """Return the sampling error of `auroc_all`."""
    return measure_error(score_levels_of_all(counts.present), score_levels_of_all(counts.absent))


def auroc_error_of_mentions(counts: ArmCounts) -> AurocError:
    """Return the sampling error of `auroc`."""
    return measure_error(score_levels_of_mentions(counts.present), score_levels_of_mentions(counts.absent))


def as_floats(interval: tuple[Counts, Counts]) -> tuple[float, float]:
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
        return as_floats(auroc_error_of_all(counts).interval(point, floor=0.0))
    interval = interval_of_resamples(resampled)
    if interval is None:
        return None
    # The bootstrap of few patients is too narrow, and degenerate where every resample is alike: hence the union.
    if metric == "auroc":
        return wider_of(interval, as_floats(auroc_error_of_mentions(counts).interval(point, floor=0.0)))
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
