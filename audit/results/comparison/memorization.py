"""Verbatim memorization in two runs, paired by patient (docs/comparing-runs.md; paper, 3.2.1).

Owns which generations of a patient are compared. Knows nothing of the runs' settings or of what is published. Here
every patient counts once, by the mean over its generations at the tier, or by whether any holds a match; in the report
of a run each generation counts once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import TypeVar

from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics
from clinaudit.audit.statistics.paired_differences import (
    as_values,
    mcnemar_p_value,
    mean_of_patients,
    paired_difference,
)
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.comparison import ComparedEstimate, ComparedMemorization, PairedPatients, exact_change
from clinaudit.reports.schema.numbers import exactly
from clinaudit.reports.schema.record import ARMS, Arm

#: Rows of one tier and arm by patient.
ByPatient = Mapping[str, Sequence[GenerationMetrics]]
Compared = TypeVar("Compared")


def compare_memorization(
    first: Iterable[GenerationMetrics], second: Iterable[GenerationMetrics]
) -> dict[str, dict[Arm, ComparedMemorization]]:
    """Return the comparison at every tier and arm that both runs have."""
    return _at_every_tier(first, second, _compare)


def count_hits(
    first: Iterable[GenerationMetrics], second: Iterable[GenerationMetrics]
) -> dict[str, dict[Arm, PairedPatients]]:
    """Return how many patients had a match in which run, at every tier and arm that both runs have."""
    return _at_every_tier(first, second, _count_hits)


def _at_every_tier(
    first: Iterable[GenerationMetrics],
    second: Iterable[GenerationMetrics],
    compare: Callable[[ByPatient, ByPatient], Compared],
) -> dict[str, dict[Arm, Compared]]:
    before, after = _group(first), _group(second)
    compared: dict[str, dict[Arm, Compared]] = {}
    for tier in TIER_IDS:
        for arm in ARMS:
            if (tier, arm) in before and (tier, arm) in after:
                compared.setdefault(tier, {})[arm] = compare(before[tier, arm], after[tier, arm])
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


def _pair(before: ByPatient, after: ByPatient) -> list[tuple[Sequence[GenerationMetrics], Sequence[GenerationMetrics]]]:
    """Return the generations to compare of each patient who has some in both runs."""
    return [common_generations(before[patient], after[patient]) for patient in sorted(before.keys() & after.keys())]


def _compare(before: ByPatient, after: ByPatient) -> ComparedMemorization:
    pairs = _pair(before, after)

    def compare_metric(
        value: Callable[[GenerationMetrics], float], of_patient: Callable[[list[float]], float] = fmean
    ) -> ComparedEstimate:
        a, b = (as_values([of_patient([value(row) for row in pair[run]]) for pair in pairs]) for run in (0, 1))
        return exact_change(mean_of_patients(a), mean_of_patients(b), paired_difference(a, b))

    return ComparedMemorization(
        memorized_fraction=compare_metric(lambda row: _share(row.memorized_tokens, row)),
        attributable_fraction=compare_metric(lambda row: _share(row.attributable_tokens, row)),
        hit_patients_share=compare_metric(lambda row: float(row.memorized_tokens > 0), of_patient=max),
        patients=_count_hits(before, after),
        other_patient_fraction=compare_metric(lambda row: _share(row.other_patient_tokens, row)),
        near_verbatim_attributable_fraction=compare_metric(
            lambda row: _share(row.near_verbatim_attributable_tokens, row)
        ),
    )


def _count_hits(before: ByPatient, after: ByPatient) -> PairedPatients:
    pairs = _pair(before, after)
    hits = [tuple(any(row.memorized_tokens for row in rows) for rows in pair) for pair in pairs]
    a_only, b_only = hits.count((True, False)), hits.count((False, True))
    return PairedPatients(
        both=exactly(hits.count((True, True))),
        a_only=exactly(a_only),
        b_only=exactly(b_only),
        neither=exactly(hits.count((False, False))),
        unpaired_a=exactly(len(before) - len(pairs)),
        unpaired_b=exactly(len(after) - len(pairs)),
        p_value=mcnemar_p_value(a_only, b_only),
    )


def _share(tokens: int, row: GenerationMetrics) -> float:
    return tokens / row.tokens if row.tokens else 0.0
