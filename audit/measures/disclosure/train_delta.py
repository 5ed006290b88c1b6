"""Disclosure of a diagnosis at a tier: both arms, their differences, tests (paper 3.2.2; docs/methods.md, section 5).

The delta is train minus nontrain: what training adds. Owns the deltas, their intervals, their one-sided tests with
Holm's adjustment, the minimal detectable difference, and the worst-case (Manski) bounds under missing verdicts. Knows
nothing of notes, prompts or how a verdict was reached: it takes readings.
"""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from scipy.special import ndtr

from clinaudit.audit.measures.disclosure.arm_intervals import (
    ONE_CLASS_REASON,
    ArmMetrics,
    as_floats,
    auroc_error_of_all,
    auroc_error_of_mentions,
    describe_arm,
    measure_arm,
)
from clinaudit.audit.measures.disclosure.metrics import (
    DISCLOSURE_METRICS,
    NEGATIVE,
    OF_SIDE,
    POSITIVE,
    UNJUDGED,
    ArmCounts,
    Counts,
    Metric,
    Reading,
    count_outcomes,
    count_share,
    score_levels_of_all,
    split_sides,
    tabulate_outcomes,
)
from clinaudit.audit.statistics.auroc import auroc_of_counts, difference_error
from clinaudit.audit.statistics.intervals import (
    RESAMPLES,
    holm,
    interval_of_resamples,
    newcombe_difference,
    score_test_p_value,
    wider_of,
)
from clinaudit.reports.schema.disclosure import SIDES, MeasuredDelta, MeasuredPair, Side, TestedDelta, compared_sides
from clinaudit.reports.schema.record import ARMS

Key = TypeVar("Key", bound=Hashable)


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
        side: measure_arm(
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
            error = difference_error(auroc_error_of_all(train.counts), auroc_error_of_all(beside.counts))
            detectable = float(error.minimum_detectable_difference())
    arms = {side: describe_arm(measured[side]) if side in measured else None for side in SIDES}
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


def _compare(metric: Metric, train: ArmMetrics, nontrain: ArmMetrics, sides: Sequence[Side]) -> TestedDelta:
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
        error = difference_error(auroc_error_of_mentions(train.counts), auroc_error_of_mentions(nontrain.counts))
        nearer_to_null = min(value, float(error.smoothed))
        other_interval, other_p = as_floats(error.interval(value, floor=-1.0)), float(error.p_value(nearer_to_null))
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
    error = difference_error(auroc_error_of_all(train), auroc_error_of_all(nontrain))
    low, high = as_floats(error.interval(value, floor=-1.0))
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
    error = difference_error(auroc_error_of_all(imputed[0]), auroc_error_of_all(imputed[1]))
    return as_floats(error.interval(areas[0] - areas[1], floor=-1.0))


def _impute(counts: Counts, outcome: int) -> Counts:
    filled = counts.copy()
    filled[outcome] += filled[UNJUDGED]
    filled[UNJUDGED] = 0
    return filled
