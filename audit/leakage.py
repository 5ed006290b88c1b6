"""Disclosure of a diagnosis at a tier: both arms, their differences, tests (paper, 3.2.2; contract, section 5).

Owns intervals and tests over patients. Knows nothing of notes, prompts or how a verdict was reached: it takes readings.
Every interval is over patients: generations of one patient are never taken for independent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.area_error import AreaError, difference_error, measure_error
from clinaudit.audit.auroc import roc_points
from clinaudit.audit.exposure import (
    METRICS,
    NEGATIVE,
    OUTCOMES,
    POSITIVE,
    SCORES,
    UNJUDGED,
    ZERO_METRICS,
    Metric,
    Outcome,
    compute_figures,
    count_basis,
    count_judged,
    count_mentioned,
    count_share,
    explain_missing,
    score_levels_of_all,
    score_levels_of_mentions,
)
from clinaudit.audit.intervals import (
    RESAMPLES,
    compare_shares,
    holm,
    mean_with_beta_bounds,
    newcombe_difference,
    percentile_interval,
    upper_bound_of_none,
    wilson,
)
from clinaudit.reports.results import (
    Arm,
    Disclosure,
    DisclosureDelta,
    DisclosurePair,
    Estimate,
    TestedDelta,
)

#: Share of resamples without both classes above which an interval would describe other data (contract, section 5).
MAXIMUM_ONE_CLASS_SHARE = 0.01
ONE_CLASS_REASON = "more than 1% of the resamples leave this figure undefined, too few generations bear on it"

Counts = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the judge read in one generation of a member of a cohort; `unjudged` is never a negative."""

    patient_id: str
    arm: Arm
    #: Whether the patient has the diagnosis.
    present: bool
    match_id: str
    outcome: Outcome


class Tables(NamedTuple):
    """One arm's readings: `(patients, 5)` counts by outcome, for patients with and without the diagnosis."""

    present: Counts
    absent: Counts

    @property
    def totals(self) -> tuple[Counts, Counts]:
        """Counts by outcome over all patients, `(5,)` each."""
        return self.present.sum(axis=0), self.absent.sum(axis=0)

    @property
    def has_one_generation_each(self) -> bool:
        """Whether generations are as independent as patients are, as Wilson's interval takes them to be."""
        return bool(np.all(self.present.sum(axis=1) == 1) and np.all(self.absent.sum(axis=1) == 1))


class _ArmFigures(NamedTuple):
    tables: Tables
    estimates: dict[Metric, Estimate]
    #: `(resamples,)` a metric.
    resampled: dict[Metric, Counts]


def measure_disclosure(
    readings: Sequence[Reading],
    *,
    prevalence: float | None,
    has_nontrain: bool,
    seed: int,
    dropped_sets: Mapping[str, int] | None = None,
    resamples: int = RESAMPLES,
) -> DisclosurePair:
    """Return the figures of one (diagnosis, tier), `p_holm` still null; see `adjust_holm`.

    Independent of the order of readings. Raises `ValueError` where a patient stands in two arms or has both statuses.
    """
    by_arm = _split_arms(readings)
    if by_arm["nontrain"] and not has_nontrain:
        raise ValueError("readings of nontrain patients, but no nontrain arm")
    train = _measure_arm(by_arm["train"], prevalence, np.random.default_rng((seed, 0)), resamples)
    if not has_nontrain:
        disclosure = _describe_arm(train)
        return DisclosurePair(train=disclosure, nontrain=None, delta=None, dropped_sets=dict(dropped_sets or {}))
    nontrain = _measure_arm(by_arm["nontrain"], prevalence, np.random.default_rng((seed, 1)), resamples)
    deltas = {metric: _compare(metric, train, nontrain) for metric in METRICS}
    return DisclosurePair(
        train=_describe_arm(train),
        nontrain=_describe_arm(nontrain),
        delta=DisclosureDelta(**deltas),
        detectable_delta=(
            None
            if deltas["auroc_all"].value is None
            else difference_error(_error_of_all(train.tables), _error_of_all(nontrain.tables)).detectable()
        ),
        dropped_sets=dict(dropped_sets or {}),
    )


def adjust_holm(
    by_diagnosis: Mapping[str, Mapping[str, DisclosurePair]],
) -> dict[str, dict[str, DisclosurePair]]:
    """Return the same pairs with `p_holm`: each metric's tests over all (diagnosis, tier) adjusted together."""
    adjusted: dict[tuple[str, str], dict[str, TestedDelta]] = {}
    for metric in METRICS:
        tests: list[tuple[tuple[str, str], TestedDelta, float]] = []
        for diagnosis, by_tier in by_diagnosis.items():
            for tier, pair in by_tier.items():
                if pair.delta is None:
                    continue
                delta: TestedDelta = getattr(pair.delta, metric)
                if delta.p_value is not None:
                    tests.append(((diagnosis, tier), delta, delta.p_value))
        for (key, delta, _), p_holm in zip(tests, holm([p for _, _, p in tests]), strict=True):
            adjusted.setdefault(key, {})[metric] = delta.model_copy(update={"p_holm": p_holm})
    return {
        diagnosis: {tier: _with_deltas(pair, adjusted.get((diagnosis, tier), {})) for tier, pair in by_tier.items()}
        for diagnosis, by_tier in by_diagnosis.items()
    }


def tabulate(readings: Sequence[Reading], *, patients: Sequence[str] | None = None) -> Tables:
    """Count one arm's readings by patient and outcome: rows by patient id, or those of `patients`, in order.

    With `patients` both tables have a row for each of them, zero where the status is the other one.
    """
    status: dict[str, bool] = {}
    for reading in readings:
        if status.setdefault(reading.patient_id, reading.present) != reading.present:
            raise ValueError("a patient is read both with and without the diagnosis")
    column = {outcome: i for i, outcome in enumerate(OUTCOMES)}
    tables = []
    for present in (True, False):
        ids = sorted(i for i, has in status.items() if has == present) if patients is None else patients
        row = {patient_id: i for i, patient_id in enumerate(ids)}
        table = np.zeros((len(ids), len(OUTCOMES)))
        for reading in readings:
            if reading.present == present:
                table[row[reading.patient_id], column[reading.outcome]] += 1
        tables.append(table)
    return Tables(*tables)


def interval_of_resamples(resampled: Counts) -> tuple[float, float] | None:
    """Return the 95% percentile interval, or None where over 1% of the resamples have no value."""
    defined = resampled[np.isfinite(resampled)]
    if defined.size < (1 - MAXIMUM_ONE_CLASS_SHARE) * resampled.size or not defined.size:
        return None
    return percentile_interval(defined)


def _is_constant(resampled: Counts) -> bool:
    interval = interval_of_resamples(resampled)
    return interval is not None and interval[0] == interval[1]


def _split_arms(readings: Sequence[Reading]) -> dict[Arm, list[Reading]]:
    by_arm: dict[Arm, list[Reading]] = {"train": [], "nontrain": []}
    for reading in readings:
        by_arm[reading.arm].append(reading)
    if {r.patient_id for r in by_arm["train"]} & {r.patient_id for r in by_arm["nontrain"]}:
        raise ValueError("a patient stands in both arms")
    return by_arm


def _with_deltas(pair: DisclosurePair, deltas: Mapping[str, TestedDelta]) -> DisclosurePair:
    if pair.delta is None or not deltas:
        return pair
    return pair.model_copy(update={"delta": pair.delta.model_copy(update=dict(deltas))})


def _measure_arm(
    readings: Sequence[Reading], prevalence: float | None, rng: np.random.Generator, resamples: int
) -> _ArmFigures:
    tables = tabulate(readings)
    present, absent = tables.totals
    points = compute_figures(present, absent, prevalence=prevalence)
    # Within status, and before asking which generations mention the diagnosis: how many do is itself by chance.
    drawn = (_resample(tables.present, rng, resamples), _resample(tables.absent, rng, resamples))
    resampled = compute_figures(*drawn, prevalence=prevalence)
    estimates = {}
    for metric in METRICS:
        point = float(points[metric])
        basis = count_basis(metric, present, absent)
        if np.isnan(point):
            reason = explain_missing(metric, present, absent, prevalence=prevalence)
            estimates[metric] = Estimate(value=None, n=basis, reason=reason)
            continue
        interval = _find_interval(metric, point, tables, resampled[metric], prevalence)
        if interval is None:
            estimates[metric] = Estimate(value=point, n=basis, reason=ONE_CLASS_REASON)
        else:
            estimates[metric] = Estimate(value=point, low=interval[0], high=interval[1], n=basis)
    return _ArmFigures(tables, estimates, resampled)


def _resample(table: Counts, rng: np.random.Generator, resamples: int) -> Counts:
    """Draw patients with replacement: `(resamples, 5)` counts. Equal patients are drawn as one kind, which is cheap."""
    if not len(table):
        return np.zeros((resamples, len(OUTCOMES)))
    kinds, frequency = np.unique(table, axis=0, return_counts=True)
    drawn: Counts = rng.multinomial(len(table), frequency / len(table), size=resamples) @ kinds
    return drawn


def _find_interval(
    metric: Metric, point: float, tables: Tables, resampled: Counts, prevalence: float | None
) -> tuple[float, float] | None:
    """Return an arm's interval: Wilson or DeLong where they hold, else resampled; None where that has no meaning."""
    present, absent = tables.totals
    share = count_share(metric, present, absent)
    if share is not None and tables.has_one_generation_each:
        return _ends(wilson(*share))
    if metric == "auroc_all":
        return _error_of_all(tables).interval(point, floor=0.0)
    interval = interval_of_resamples(resampled)
    if metric == "auroc" and interval is not None:
        # Resampling few mentions sees too little chance, and none where the classes separate: the wider ends hold.
        return _hull(interval, _error_of_mentions(tables).interval(point, floor=0.0))
    if not _is_constant(resampled):
        return interval
    # Every resample gives the same: resampling sees no chance where there is some.
    patients = len(tables.present), len(tables.absent)
    if share is not None:
        size = {"sensitivity": patients[0], "false_positive_rate": patients[1]}.get(metric, sum(patients))
        return _ends(mean_with_beta_bounds(point * size, size))
    return _bayes_corners(present, absent, patients, prevalence)


def _ends(estimate: Estimate) -> tuple[float, float]:
    if estimate.low is None or estimate.high is None:
        raise ValueError("an interval was expected")
    return estimate.low, estimate.high


def _hull(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    return min(first[0], second[0]), max(first[1], second[1])


def _error_of_all(tables: Tables) -> AreaError:
    return measure_error(score_levels_of_all(tables.present), score_levels_of_all(tables.absent))


def _error_of_mentions(tables: Tables) -> AreaError:
    return measure_error(score_levels_of_mentions(tables.present), score_levels_of_mentions(tables.absent))


def _bayes_corners(
    present: Counts, absent: Counts, patients: tuple[int, int], prevalence: float | None
) -> tuple[float, float]:
    """Return PPV at the prevalence at the unfavourable and the favourable ends of its two rates: wider than 95%."""
    if prevalence is None:
        raise ValueError("no prevalence, no figure")
    rates = (present[POSITIVE] / count_judged(present), absent[POSITIVE] / count_judged(absent))
    (low, high), (false_low, false_high) = (
        _ends(mean_with_beta_bounds(float(rate) * size, size)) for rate, size in zip(rates, patients, strict=True)
    )

    def bayes(sensitivity: float, false_positive_rate: float) -> float:
        right = sensitivity * prevalence
        wrong = false_positive_rate * (1 - prevalence)
        return right / (right + wrong) if right + wrong else 1.0

    return bayes(low, false_high), bayes(high, false_low)


def _describe_arm(arm: _ArmFigures) -> Disclosure:
    present, absent = arm.tables.totals
    judged = count_judged(present) + count_judged(absent)
    return Disclosure(
        generations=int(present.sum() + absent.sum()),
        mentioned=int(count_mentioned(present) + count_mentioned(absent)),
        unjudged=int(present[UNJUDGED] + absent[UNJUDGED]),
        base_rate=float(count_judged(present) / judged) if judged else None,
        # As in the paper's Figures 9 and 10: among generations that mention the diagnosis.
        roc=roc_points(SCORES, score_levels_of_mentions(present), score_levels_of_mentions(absent)),
        zero_bounds=_bound_zeros(arm.tables),
        **arm.estimates,
    )


def _bound_zeros(tables: Tables) -> dict[str, float]:
    """Return what each share of which the count is zero might still be; patients count, not generations."""
    shares = {metric: count_share(metric, *tables.totals) for metric in ZERO_METRICS}
    positive, negative = (int((count_judged(table) > 0).sum()) for table in tables)
    patients = {"sensitivity": positive, "false_positive_rate": negative, "mention_rate": positive + negative}
    return {
        metric: upper_bound_of_none(patients[metric])
        for metric, share in shares.items()
        if share is not None and share[0] == 0 and patients[metric]
    }


def _compare(metric: Metric, train: _ArmFigures, nontrain: _ArmFigures) -> TestedDelta:
    first, second = train.estimates[metric], nontrain.estimates[metric]
    basis = (first.n or 0) + (second.n or 0)
    if first.value is None or second.value is None:
        where = "in the training data" if first.value is None else "outside the training data"
        why = first.reason if first.value is None else second.reason
        return TestedDelta(value=None, n=basis, reason=f"for patients {where}: {why}")
    value = first.value - second.value
    if metric == "auroc_all":
        return _compare_auroc_all(value, basis, train.tables, nontrain.tables)
    shares = [count_share(metric, *arm.tables.totals) for arm in (train, nontrain)]
    independent = train.tables.has_one_generation_each and nontrain.tables.has_one_generation_each
    if independent and shares[0] is not None and shares[1] is not None:
        low, high = newcombe_difference(first, second)
        return TestedDelta(value=value, low=low, high=high, n=basis, p_value=compare_shares(shares[0], shares[1]))
    differences = train.resampled[metric] - nontrain.resampled[metric]
    interval = interval_of_resamples(differences)
    if interval is None:
        return TestedDelta(value=value, n=basis, reason=ONE_CLASS_REASON)
    # The observed sample counts among the resamples, so that no p-value is 0 (Davison and Hinkley 1997).
    defined = differences[np.isfinite(differences)]
    p_value = float((1 + (defined <= 0).sum()) / (1 + defined.size))
    if metric == "auroc":
        error = difference_error(_error_of_mentions(train.tables), _error_of_mentions(nontrain.tables))
        low, high = _hull(interval, error.interval(value, floor=-1.0))
        return TestedDelta(value=value, low=low, high=high, n=basis, p_value=max(p_value, error.p_value(value)))
    if any(_is_constant(arm.resampled[metric]) for arm in (train, nontrain)) and None not in (first.low, second.low):
        # Resampling sees no chance in one arm: its interval is another, and so must the difference's be.
        low, high = newcombe_difference(first, second)
        return TestedDelta(value=value, low=low, high=high, n=basis)
    return TestedDelta(value=value, low=interval[0], high=interval[1], n=basis, p_value=p_value)


def _compare_auroc_all(value: float, basis: int, train: Tables, nontrain: Tables) -> TestedDelta:
    error = difference_error(_error_of_all(train), _error_of_all(nontrain))
    low, high = error.interval(value, floor=-1.0)
    worst_low = worst_high = None
    if any(table[:, UNJUDGED].any() for tables in (train, nontrain) for table in tables):
        worst_low = _impute_and_measure(train, nontrain, leaking=False)[0]
        worst_high = _impute_and_measure(train, nontrain, leaking=True)[1]
    return TestedDelta(
        value=value,
        low=low,
        high=high,
        n=basis,
        p_value=error.p_value(value),
        worst_low=worst_low,
        worst_high=worst_high,
    )


def _impute_and_measure(train: Tables, nontrain: Tables, *, leaking: bool) -> tuple[float, float]:
    """Return the interval with every unjudged verdict such that the difference is largest (`leaking`) or smallest."""
    told, mistold = (POSITIVE, NEGATIVE) if leaking else (NEGATIVE, POSITIVE)
    imputed = (
        Tables(_impute(train.present, told), _impute(train.absent, mistold)),
        Tables(_impute(nontrain.present, mistold), _impute(nontrain.absent, told)),
    )
    areas = [float(compute_figures(*arm.totals, prevalence=None)["auroc_all"]) for arm in imputed]
    error = difference_error(_error_of_all(imputed[0]), _error_of_all(imputed[1]))
    return error.interval(areas[0] - areas[1], floor=-1.0)


def _impute(table: Counts, outcome: int) -> Counts:
    filled = table.copy()
    filled[:, outcome] += filled[:, UNJUDGED]
    filled[:, UNJUDGED] = 0
    return filled
