"""Means of answers that certificates compare: by patient, and harmonic means of a group with their change.

Owns which parts they have: those of AMNESIA (equations 2 and 3) without exact memorization, which nobody sees who is
given answers alone. Knows nothing of verdicts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from clinaudit.audit.statistics.intervals import interval_of_resamples
from clinaudit.audit.unlearning.certificate.bench_result import ScoredAnswer
from clinaudit.audit.unlearning.metrics.answer_means import Values, mean_of_answers, places_of, resampled_means
from clinaudit.audit.unlearning.metrics.means import AFE_PARTS, MU_PARTS, harmonic_mean
from clinaudit.reports.schema.numbers import Estimate

AFE: Final = tuple(part for part in AFE_PARTS if part != "em")
MU: Final = tuple(part for part in MU_PARTS if part != "em")
NO_ANSWERS: Final = "no answer has it"


def column(answers: Sequence[ScoredAnswer], metric: str) -> Values:
    """Return one value an answer, not a number where it has none."""
    values = (answer.value(metric) for answer in answers)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def mean_of(answers: Sequence[ScoredAnswer], metric: str, *, seed: int) -> Estimate:
    """Return the mean of a metric over answers, with its interval over patients."""
    if not answers:
        return Estimate(value=None, n=0, reason=NO_ANSWERS)
    patients = places_of([answer.patient_id for answer in answers])
    return mean_of_answers(column(answers, metric), patients, seed=seed, reason=NO_ANSWERS)


def kept_share(answers: Sequence[ScoredAnswer]) -> float | None:
    """Return 1 − AFE: how alike answers and references are, 0 where nothing is; None where a part has no answer."""
    means = part_means(answers, AFE)
    return None if means is None else float(1 - harmonic_mean(1 - means))


def kept_by_group(answers: Sequence[ScoredAnswer], *, seed: int) -> Estimate:
    """Return 1 − AFE of a group, with the bootstrap's interval over patients."""
    value = kept_share(answers)
    if value is None:
        return Estimate(value=None, n=0, reason=NO_ANSWERS)
    resampled = _resampled([answers], AFE, seed=seed)[0]
    return _estimate(value, 1 - harmonic_mean(1 - resampled), len(answers))


def utility_change(
    before: Sequence[ScoredAnswer], after: Sequence[ScoredAnswer], *, seed: int
) -> tuple[Estimate, Estimate, Estimate]:
    """Return MU before, after, and their difference over the same resamples of patients.

    Both hold the same questions in the same order.
    """
    means = [part_means(answers, MU) for answers in (before, after)]
    if means[0] is None or means[1] is None:
        none = Estimate(value=None, n=0, reason=NO_ANSWERS)
        return none, none, none
    values = [float(harmonic_mean(own)) for own in (means[0], means[1])]
    resampled = [harmonic_mean(own) for own in _resampled([before, after], MU, seed=seed)]
    return (
        _estimate(values[0], resampled[0], len(before)),
        _estimate(values[1], resampled[1], len(after)),
        _estimate(values[1] - values[0], resampled[1] - resampled[0], len(after)),
    )


def part_means(answers: Sequence[ScoredAnswer], parts: Sequence[str]) -> Values | None:
    """Return the mean of each part over the answers that have it; None where none has one of them."""
    columns = [column(answers, part) for part in parts]
    if not answers or not all(np.isfinite(values).any() for values in columns):
        return None
    return np.array([np.nanmean(values) for values in columns])


def by_patient(answers: Iterable[ScoredAnswer]) -> Mapping[str, list[ScoredAnswer]]:
    """Return the answers of each patient."""
    found: dict[str, list[ScoredAnswer]] = {}
    for answer in answers:
        found.setdefault(answer.patient_id, []).append(answer)
    return found


def _resampled(groups: Sequence[Sequence[ScoredAnswer]], parts: Sequence[str], *, seed: int) -> list[Values]:
    """Return the part means of each group in each resample, `(resamples, parts)`: the same draws for all groups."""
    patients = places_of([answer.patient_id for answer in groups[0]])
    columns = [column(answers, part) for answers in groups for part in parts]
    means = resampled_means(columns, patients, seed=seed)
    return [means[:, at : at + len(parts)] for at in range(0, len(columns), len(parts))]


def _estimate(value: float, resampled: Values, count: int) -> Estimate:
    interval = interval_of_resamples(resampled)
    low, high = (None, None) if interval is None else interval
    return Estimate(value=value, low=low, high=high, n=count)
