"""Verbatim memorization in two runs, paired by patient (docs/comparing-runs.md; paper, 3.2.1).

Owns which generations of a patient are compared. Knows nothing of the runs' settings or of what is suppressed. Here
every patient counts once, by the mean over its generations at the tier; in the report of a run each generation counts
once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from clinaudit.audit.memorization.summary import GenerationMetrics
from clinaudit.audit.statistics.paired_differences import (
    Values,
    as_values,
    mcnemar_p_value,
    mean_of_patients,
    paired_difference,
)
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.comparison import ComparedMemorization, ComparedMetric, HitChanges, PatientsBehind
from clinaudit.reports.schema.estimate import ARMS, Arm

#: Rows of one tier and arm by patient.
ByPatient = Mapping[str, Sequence[GenerationMetrics]]


def compare_memorization(
    first: Iterable[GenerationMetrics], second: Iterable[GenerationMetrics], *, seed: int
) -> dict[str, dict[Arm, ComparedMemorization]]:
    """Return the comparison at every tier and arm that both runs have."""
    before, after = _group(first), _group(second)
    compared: dict[str, dict[Arm, ComparedMemorization]] = {}
    for tier in TIER_IDS:
        for arm in ARMS:
            if (tier, arm) in before and (tier, arm) in after:
                compared.setdefault(tier, {})[arm] = _compare(before[tier, arm], after[tier, arm], seed=seed)
    return compared


def _group(rows: Iterable[GenerationMetrics]) -> dict[tuple[str, Arm], dict[str, list[GenerationMetrics]]]:
    groups: defaultdict[tuple[str, Arm], dict[str, list[GenerationMetrics]]] = defaultdict(dict)
    for row in rows:
        groups[row.tier, row.arm].setdefault(row.patient_id, []).append(row)
    return groups


def common_generations(
    first: Sequence[GenerationMetrics], second: Sequence[GenerationMetrics]
) -> tuple[Sequence[GenerationMetrics], Sequence[GenerationMetrics]]:
    """Return a patient's generations to compare: those of prompts common to both runs, or all where there are none."""
    shared = {row.generation_id for row in first} & {row.generation_id for row in second}
    if not shared:
        return first, second
    return (
        [row for row in first if row.generation_id in shared],
        [row for row in second if row.generation_id in shared],
    )


def _compare(before: ByPatient, after: ByPatient, *, seed: int) -> ComparedMemorization:
    patients = sorted(before.keys() & after.keys())
    pairs = [common_generations(before[patient], after[patient]) for patient in patients]
    rest = [
        [row for patient, rows in own.items() if patient not in other for row in [rows]]
        for own, other in ((before, after), (after, before))
    ]

    def compare_metric(value: Callable[[GenerationMetrics], float]) -> ComparedMetric:
        a, b = (as_values([_mean(value, pair[run]) for pair in pairs]) for run in (0, 1))
        unpaired_a, unpaired_b = (sum(_mean(value, rows) > 0 for rows in rows_of) for rows_of in rest)
        return ComparedMetric(
            a=mean_of_patients(a, seed=seed),
            b=mean_of_patients(b, seed=seed),
            difference=paired_difference(a, b, seed=seed),
            behind=_behind(a, b, unpaired_a, unpaired_b),
        )

    hits = [tuple(any(row.memorized_tokens for row in rows) for rows in pair) for pair in pairs]
    a_only, b_only = hits.count((True, False)), hits.count((False, True))
    return ComparedMemorization(
        pairs=len(pairs),
        unpaired_a=len(rest[0]),
        unpaired_b=len(rest[1]),
        memorized_fraction=compare_metric(lambda row: _share(row.memorized_tokens, row)),
        attributable_fraction=compare_metric(lambda row: _share(row.attributable_tokens, row)),
        hit_rate=compare_metric(lambda row: float(row.memorized_tokens > 0)),
        hits=HitChanges(
            both=hits.count((True, True)),
            a_only=a_only,
            b_only=b_only,
            neither=hits.count((False, False)),
            p_value=mcnemar_p_value(a_only, b_only),
        ),
    )


def _behind(a: Values, b: Values, unpaired_a: int, unpaired_b: int) -> PatientsBehind:
    return PatientsBehind(
        a=int(np.count_nonzero(a)),
        b=int(np.count_nonzero(b)),
        lower=int(np.count_nonzero(b < a)),
        higher=int(np.count_nonzero(b > a)),
        unpaired_a=unpaired_a,
        unpaired_b=unpaired_b,
    )


def _mean(value: Callable[[GenerationMetrics], float], rows: Sequence[GenerationMetrics]) -> float:
    return sum(value(row) for row in rows) / len(rows)


def _share(tokens: int, row: GenerationMetrics) -> float:
    return tokens / row.tokens if row.tokens else 0.0
