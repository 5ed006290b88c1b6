"""What stands beside the verbatim figures of one tier and arm, in blocks of their own (docs/methods.md, 1 to 2a).

Owns the tallies of near-verbatim text, of other patients' text, and of refusals.
"""

from collections.abc import Sequence

from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics, MeasuredGeneration
from clinaudit.audit.measures.memorization.near_verbatim import edit_budget
from clinaudit.audit.measures.memorization.summary import (
    Value,
    count_patients,
    fraction_by_patient,
    mean_over_patients,
    ratio_over_patients,
    summarize_lengths,
    values_by_patient,
)
from clinaudit.reports.schema.memorization import NearVerbatimEvidence, OtherPatientsEvidence, RefusalsEvidence
from clinaudit.reports.schema.numbers import NO_POOLS, Estimate
from clinaudit.reports.tally.classes import ARM_STEP
from clinaudit.reports.tally.leaves import Count, Fraction, Inside, OfText, Partition, Setting
from clinaudit.reports.tally.tally import NearVerbatimTally, OtherPatientsTally, RefusalsTally


def summarize_near_verbatim(
    counts: Sequence[MeasuredGeneration], *, memorized: Fraction, match_tokens: int, seed: int
) -> NearVerbatimTally:
    """Return the near-verbatim text of at least one generation.

    `memorized` is the memorized fraction of the same generations: with what is near-verbatim alone it adds up to all
    that is. `match_tokens` is n, the length of a match in tokens; `seed` is that of the bootstrap over patients.
    """
    rows = [item.metrics for item in counts]
    near_tokens = {row.generation_id: item.near_tokens for row, item in zip(rows, counts, strict=True)}

    def near(row: GenerationMetrics) -> float:
        return row.share(near_tokens[row.generation_id])

    def extra(row: GenerationMetrics) -> float:
        return row.share(near_tokens[row.generation_id] - row.memorized_tokens)

    near_patients, patients = count_patients(rows, near), count_patients(rows)
    lengths = [item.longest_near_region for item in counts]
    longest = ratio_over_patients(
        ((row.patient_id, length, int(length > 0)) for row, length in zip(rows, lengths, strict=True)), seed=seed
    )
    extra_fraction = fraction_by_patient(values_by_patient(rows, extra))
    return NearVerbatimTally(
        window=Setting(match_tokens),
        edit_budget=Setting(edit_budget(match_tokens)),
        fraction=fraction_by_patient(values_by_patient(rows, near), sum_of=(memorized, extra_fraction)),
        extra_fraction=extra_fraction,
        patients=Partition.halves("any", near_patients, patients, rest="none"),
        extra_patients=Partition.halves("any", count_patients(rows, extra), patients, rest="none"),
        longest_region=OfText(longest.value, (near_patients,)),
        evidence=Inside(
            NearVerbatimEvidence(
                fraction=mean_over_patients(rows, near, seed=seed),
                extra_fraction=mean_over_patients(rows, extra, seed=seed),
                longest_region=longest,
                longest_region_length=summarize_lengths(lengths),
            )
        ),
    )


def summarize_other_patients(counts: Sequence[MeasuredGeneration], *, seed: int) -> OtherPatientsTally:
    """Return what at least one generation holds of other patients' text; `seed` is that of the bootstrap."""
    rows = [item.metrics for item in counts]
    # Pools are the same for all targets of an arm.
    has_pools = all(row.other_patient_chance_tokens is not None for row in rows)
    patients = count_patients(rows)

    def found(row: GenerationMetrics) -> float:
        return row.share(row.other_patient_tokens)

    def in_pools(value: Value) -> tuple[Inside[Fraction], Estimate]:
        pooled = fraction_by_patient(values_by_patient(rows, value)) if has_pools else None
        mean = mean_over_patients(rows, value, seed=seed) if has_pools else Estimate(value=None, reason=NO_POOLS)
        return Inside(pooled, is_public=patients > ARM_STEP), mean

    sampled, mean_of_sampled = in_pools(lambda row: row.share(row.other_patient_sampled_tokens))
    chance, mean_of_chance = in_pools(lambda row: row.share(row.other_patient_chance_tokens))
    return OtherPatientsTally(
        fraction=fraction_by_patient(values_by_patient(rows, found)),
        sampled_fraction=sampled,
        chance=chance,
        patients=Partition.halves("any", count_patients(rows, found), patients, rest="none"),
        others=Count.of(len(frozenset().union(*(item.owners for item in counts)))),
        evidence=Inside(
            OtherPatientsEvidence(
                fraction=mean_over_patients(rows, found, seed=seed),
                sampled_fraction=mean_of_sampled,
                chance=mean_of_chance,
                rate=mean_over_patients(rows, lambda row: float(found(row) > 0), seed=seed),
            )
        ),
    )


def summarize_refusals(rows: Sequence[GenerationMetrics]) -> RefusalsTally | None:
    """Return the refusals among all generations that were asked for; None where they were not looked for."""
    if all(row.refused is None for row in rows):
        return None
    return RefusalsTally(
        asked=Count.of(count_patients(rows)),
        refused=Count.of(count_patients(rows, lambda row: bool(row.refused))),
        evidence=Inside(RefusalsEvidence(generations=len(rows), refused=sum(bool(row.refused) for row in rows))),
    )
