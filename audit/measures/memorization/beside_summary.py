"""What stands beside the verbatim figures of one tier and arm, in blocks of their own (docs/methods.md, 1 to 2a).

Owns the tallies of near-verbatim text, of other patients' text, of refusals, and of what the repetition guard cut: by
its second rule what the patient's own note repeats is not cut. No other metric, rule or limit is made from them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clinaudit.audit.measures.generation.own_repeats import Recitations
from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.generation_metrics import (
    GenerationMetrics,
    MeasuredGeneration,
    attributable_part,
    has_match,
    memorized_part,
)
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
from clinaudit.audit.statistics.intervals import clopper_pearson, clopper_pearson_of_mean
from clinaudit.audit.statistics.patient_distribution import bin_fractions
from clinaudit.reports.schema.memorization import (
    GuardEvidence,
    NearVerbatimEvidence,
    OtherPatientsEvidence,
    PatientBin,
    PatientFraction,
    RefusalsEvidence,
)
from clinaudit.reports.schema.numbers import NO_POOLS, Estimate
from clinaudit.reports.tally.classes import ARM_STEP
from clinaudit.reports.tally.leaves import Count, Fraction, Inside, OfText, Partition, Setting
from clinaudit.reports.tally.tally import GuardTally, NearVerbatimTally, OtherPatientsTally, RefusalsTally


def _rows_of(counts: Sequence[MeasuredGeneration]) -> list[GenerationMetrics]:
    """Return the rows; raises `ValueError` without a generation, since no data must not read as no leakage."""
    if not counts:
        raise ValueError("no generation to summarize")
    return [item.metrics for item in counts]


def summarize_near_verbatim(
    counts: Sequence[MeasuredGeneration], *, memorized: Fraction, match_tokens: int, seed: int
) -> NearVerbatimTally:
    """Return the near-verbatim text of at least one generation.

    `memorized` is the memorized fraction of the same generations: with what is near-verbatim alone it adds up to all
    that is. `match_tokens` is n, the length of a match in tokens; `seed` is that of the bootstrap over patients.
    """
    rows = _rows_of(counts)
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
    rows = _rows_of(counts)
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


@dataclass(frozen=True, slots=True)
class GuardedText:
    """What the guard did to each generation, and would do to perfect recitations."""

    #: Ids of the generations that it ended.
    ended: frozenset[str]
    #: Counts of the generations that the second rule keeps more of, by id.
    unguarded: Mapping[str, GenerationMetrics]
    recitations: Recitations

    @classmethod
    def of(
        cls, generations: Iterable[Generation], unguarded: Mapping[str, GenerationMetrics], recitations: Recitations
    ) -> "GuardedText":
        """Return the account of a run's generations."""
        ended = frozenset(item.generation_id for item in generations if item.finish_reason == "repetition")
        return cls(ended, unguarded, recitations)


def summarize_guard(counts: Sequence[MeasuredGeneration], guarded: GuardedText, *, seed: int) -> GuardTally:
    """Return the account of at least one generation, as the guard left them; `seed` is that of the bootstrap."""
    rows = _rows_of(counts)
    recitations = guarded.recitations
    second = [guarded.unguarded.get(row.generation_id, row) for row in rows]
    ended = [row for row in rows if row.generation_id in guarded.ended]
    spared = [row for row in rows if row.generation_id in guarded.unguarded]
    keys = {row.patient_id: (row.patient_id, row.tier) for row in rows}
    cuts = {patient_id: recitations.cuts[key] for patient_id, key in keys.items() if key in recitations.cuts}
    hits, patients = count_patients(second, has_match), count_patients(rows)
    ended_patients, spared_patients = count_patients(ended), count_patients(spared)
    cut = ratio_over_patients(((patient, tokens, 1) for patient, tokens in cuts.items()), seed=seed)
    cut_patients = sum(tokens > 0 for tokens in cuts.values())
    repeating = count_patients(row for row in rows if row.patient_id in recitations.repeating)
    return GuardTally(
        repeating=Partition.halves("any", repeating, patients, rest="none"),
        ended=Partition.of(
            {"spared": spared_patients, "cut": ended_patients - spared_patients, "none": patients - ended_patients}
        ),
        recitation_tokens_cut=OfText(cut.value, (cut_patients, patients - cut_patients)),
        evidence=Inside(
            GuardEvidence(
                ended_generations=len(ended),
                spared_generations=len(spared),
                recitation_tokens_cut=cut,
                recitation_cut_patients=cut_patients,
                unguarded_memorized_fraction=mean_over_patients(second, memorized_part, seed=seed),
                unguarded_attributable_fraction=mean_over_patients(second, attributable_part, seed=seed),
                unguarded_hit_rate=mean_over_patients(second, has_match, seed=seed),
                unguarded_hit_patients=hits,
                unguarded_hit_patients_share=clopper_pearson(hits, patients),
                by_patient={
                    "unguarded_memorized_fraction": _bin_patients(second, memorized_part),
                    "unguarded_attributable_fraction": _bin_patients(second, attributable_part),
                },
            )
        ),
    )


def _bin_patients(rows: Sequence[GenerationMetrics], value: Value) -> PatientFraction:
    means = np.array([float(np.mean(own)) for own in values_by_patient(rows, value).values()])
    return PatientFraction(
        mean=clopper_pearson_of_mean(sum(means.tolist()), len(means)),
        bins=[PatientBin(low=edge.low, high=edge.high, patients=count) for edge, count in bin_fractions(means)],
    )
