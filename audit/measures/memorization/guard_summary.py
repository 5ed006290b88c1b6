"""What the repetition guard cut, over the generations of one tier and arm (docs/methods.md, section 1).

Owns the account of its cuts, and the figures by the second rule, under which what the patient's own note repeats is not
cut. They stand in a block of their own: no other metric, rule or limit is made from them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clinaudit.audit.measures.generation.own_repeats import Recitations
from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.summary import (
    GenerationMetrics,
    attributable_part,
    has_match,
    memorized_part,
    ratio_over_patients,
    values_by_patient,
)
from clinaudit.audit.statistics.intervals import clopper_pearson, clopper_pearson_of_mean
from clinaudit.audit.statistics.patient_distribution import bin_fractions
from clinaudit.reports.schema.memorization import GuardEvidence, PatientBin, PatientFraction
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.tally.leaves import Inside, OfText, Partition
from clinaudit.reports.tally.tally import GuardTally


@dataclass(frozen=True, slots=True)
class GuardedText:
    """What the guard did to each generation, and would do to perfect recitations."""

    #: Ids of the generations that it ended, and of those that the second rule keeps more of.
    ended: frozenset[str]
    spared: frozenset[str]
    #: Counts of a generation by the second rule, where they may differ; by id.
    unguarded: Mapping[str, GenerationMetrics]
    recitations: Recitations

    @classmethod
    def of(
        cls,
        generations: Sequence[Generation],
        unguarded: Mapping[str, GenerationMetrics],
        recitations: Recitations,
    ) -> "GuardedText":
        """Return the account of a run's generations."""
        ended = frozenset(item.generation_id for item in generations if item.finish_reason == "repetition")
        return cls(ended, frozenset(unguarded), unguarded, recitations)


def summarize_guard(rows: Sequence[GenerationMetrics], guarded: GuardedText, *, seed: int) -> GuardTally:
    """Return the account of one tier and arm; raises `ValueError` without a generation.

    `rows` are the generations as the guard left them; `seed` is that of the bootstrap over patients.
    """
    if not rows:
        raise ValueError("no generation to summarize")
    recitations = guarded.recitations
    second = [guarded.unguarded.get(row.generation_id, row) for row in rows]
    ended = [row for row in rows if row.generation_id in guarded.ended]
    spared = [row for row in rows if row.generation_id in guarded.spared]
    cuts = {
        row.patient_id: recitations.cuts[row.patient_id, row.tier]
        for row in rows
        if (row.patient_id, row.tier) in recitations.cuts
    }
    hits = len({row.patient_id for row in second if row.memorized_tokens})
    patients = len({row.patient_id for row in rows})
    ended_patients, spared_patients = (len({row.patient_id for row in of}) for of in (ended, spared))
    cut = ratio_over_patients(((patient, tokens, 1) for patient, tokens in cuts.items()), seed=seed)
    cut_patients = sum(tokens > 0 for tokens in cuts.values())
    return GuardTally(
        repeating=Partition.halves(
            "any", len({row.patient_id for row in rows} & recitations.repeating), patients, rest="none"
        ),
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
                unguarded_memorized_fraction=_mean(second, memorized_part, seed=seed),
                unguarded_attributable_fraction=_mean(second, attributable_part, seed=seed),
                unguarded_hit_rate=_mean(second, has_match, seed=seed),
                unguarded_hit_patients=hits,
                unguarded_hit_patients_share=clopper_pearson(hits, len({row.patient_id for row in second})),
                by_patient={
                    "unguarded_memorized_fraction": _by_patient(second, memorized_part),
                    "unguarded_attributable_fraction": _by_patient(second, attributable_part),
                },
            )
        ),
    )


def _mean(rows: Sequence[GenerationMetrics], value: Callable[[GenerationMetrics], float], *, seed: int) -> Estimate:
    return ratio_over_patients(((row.patient_id, value(row), 1) for row in rows), seed=seed)


def _by_patient(rows: Sequence[GenerationMetrics], value: Callable[[GenerationMetrics], float]) -> PatientFraction:
    means = np.array([float(np.mean(own)) for own in values_by_patient(rows, value).values()])
    return PatientFraction(
        mean=clopper_pearson_of_mean(sum(means.tolist()), len(means)),
        bins=[PatientBin(low=edge.low, high=edge.high, patients=count) for edge, count in bin_fractions(means)],
    )
