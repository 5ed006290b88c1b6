"""The summary of other patients' text over the generations of one tier and arm (docs/methods.md, section 2).

Owns means, shares and counts of what the room other_patients/ finds. They stand beside the verbatim summary, in a block
of their own.
"""

from collections.abc import Callable, Sequence

from clinaudit.audit.memorization.other_patients.stage import OtherPatientsText
from clinaudit.audit.memorization.summary import (
    GenerationMetrics,
    fraction_by_patient,
    ratio_over_patients,
    values_by_patient,
)
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.exact.memorization import OtherPatients, PatientFraction, Refusals


def summarize_refusals(rows: Sequence[GenerationMetrics]) -> Refusals | None:
    """Return the refusals among all generations that were asked for; None where they were not looked for."""
    if all(row.refused is None for row in rows):
        return None
    patients = {row.patient_id for row in rows}
    refused = [row for row in rows if row.refused]
    refused_patients = {row.patient_id for row in refused}
    return Refusals(
        generations=len(rows),
        refused=len(refused),
        patients=len(patients),
        refused_patients=len(refused_patients),
        share=clopper_pearson(len(refused_patients), len(patients)),
    )


_NO_POOLS = "the splits leave no two groups of other patients to compare"


def summarize_other_patients(
    counts: Sequence[tuple[GenerationMetrics, OtherPatientsText]], *, seed: int
) -> OtherPatients:
    """Return the summary of one tier and arm; raises `ValueError` without a generation.

    `seed` is that of the bootstrap over patients.
    """
    if not counts:
        raise ValueError("no generation to summarize")
    rows = [metrics for metrics, _ in counts]
    # Pools are the same for all targets of an arm.
    has_pools = all(row.other_patient_chance_tokens is not None for row in rows)

    def mean(value: Callable[[GenerationMetrics], float], *, is_known: bool = True) -> Estimate:
        if not is_known:
            return Estimate(value=None, reason=_NO_POOLS)
        return ratio_over_patients(((row.patient_id, value(row), 1) for row in rows), seed=seed)

    def by_patient(value: Callable[[GenerationMetrics], float], *, is_known: bool = True) -> PatientFraction:
        if not is_known:
            return PatientFraction(mean=Estimate(value=None, reason=_NO_POOLS), bins=[])
        return fraction_by_patient(values_by_patient(rows, value))

    own = by_patient(_fraction)
    patients = len({row.patient_id for row in rows if row.other_patient_tokens})
    return OtherPatients(
        fraction=mean(_fraction),
        fraction_bounds=own.mean,
        sampled_fraction=mean(_sampled_fraction, is_known=has_pools),
        chance=mean(_chance, is_known=has_pools),
        rate=mean(lambda row: float(bool(row.other_patient_tokens))),
        patients=patients,
        patients_share=clopper_pearson(patients, len({row.patient_id for row in rows})),
        others=len(frozenset().union(*(text.owners for _, text in counts))),
        by_patient={
            "fraction": own,
            "sampled_fraction": by_patient(_sampled_fraction, is_known=has_pools),
            "chance": by_patient(_chance, is_known=has_pools),
        },
    )


def _fraction(row: GenerationMetrics) -> float:
    return _share(row.other_patient_tokens, row)


def _sampled_fraction(row: GenerationMetrics) -> float:
    return _share(row.other_patient_sampled_tokens, row)


def _chance(row: GenerationMetrics) -> float:
    return _share(row.other_patient_chance_tokens, row)


def _share(tokens: int | None, row: GenerationMetrics) -> float:
    return (tokens or 0) / row.tokens if row.tokens else 0.0
