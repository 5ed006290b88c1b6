"""The summary of other patients' text over the generations of one tier and arm (docs/methods.md, section 2).

Owns means, shares and counts of what the room other_patients/ finds. They stand beside the verbatim summary, in a block
of their own.
"""

from collections.abc import Callable, Sequence

from clinaudit.audit.measures.memorization.other_patients.stage import OtherPatientsText
from clinaudit.audit.measures.memorization.summary import (
    GenerationMetrics,
    fraction_by_patient,
    ratio_over_patients,
    values_by_patient,
)
from clinaudit.reports.schema.memorization import OtherPatientsEvidence, RefusalsEvidence
from clinaudit.reports.schema.numbers import NO_POOLS, Estimate
from clinaudit.reports.tally.classes import ARM_STEP
from clinaudit.reports.tally.leaves import Count, Fraction, Inside, Partition
from clinaudit.reports.tally.tally import OtherPatientsTally, RefusalsTally


def summarize_refusals(rows: Sequence[GenerationMetrics]) -> RefusalsTally | None:
    """Return the refusals among all generations that were asked for; None where they were not looked for."""
    if all(row.refused is None for row in rows):
        return None
    patients = {row.patient_id for row in rows}
    refused = [row for row in rows if row.refused]
    return RefusalsTally(
        asked=Count.of(len(patients)),
        refused=Count.of(len({row.patient_id for row in refused})),
        evidence=Inside(RefusalsEvidence(generations=len(rows), refused=len(refused))),
    )


def summarize_other_patients(
    counts: Sequence[tuple[GenerationMetrics, OtherPatientsText]], *, seed: int
) -> OtherPatientsTally:
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
            return Estimate(value=None, reason=NO_POOLS)
        return ratio_over_patients(((row.patient_id, value(row), 1) for row in rows), seed=seed)

    patients = len({row.patient_id for row in rows})

    def in_pools(value: Callable[[GenerationMetrics], float]) -> Inside[Fraction]:
        pooled = fraction_by_patient(values_by_patient(rows, value)) if has_pools else None
        return Inside(pooled, is_public=patients > ARM_STEP)

    return OtherPatientsTally(
        fraction=fraction_by_patient(values_by_patient(rows, _fraction)),
        sampled_fraction=in_pools(_sampled_fraction),
        chance=in_pools(_chance),
        patients=Partition.halves(
            "any", len({row.patient_id for row in rows if row.other_patient_tokens}), patients, rest="none"
        ),
        others=Count.of(len(frozenset().union(*(text.owners for _, text in counts)))),
        evidence=Inside(
            OtherPatientsEvidence(
                fraction=mean(_fraction),
                sampled_fraction=mean(_sampled_fraction, is_known=has_pools),
                chance=mean(_chance, is_known=has_pools),
                rate=mean(lambda row: float(bool(row.other_patient_tokens))),
            )
        ),
    )


def _fraction(row: GenerationMetrics) -> float:
    return _share(row.other_patient_tokens, row)


def _sampled_fraction(row: GenerationMetrics) -> float:
    return _share(row.other_patient_sampled_tokens, row)


def _chance(row: GenerationMetrics) -> float:
    return _share(row.other_patient_chance_tokens, row)


def _share(tokens: int | None, row: GenerationMetrics) -> float:
    return (tokens or 0) / row.tokens if row.tokens else 0.0
