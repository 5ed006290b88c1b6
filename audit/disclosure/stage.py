"""The disclosure stage: the judge's outcomes to the disclosure metrics of each cohort and tier.

Owns which generation stands for which cohort member, and which matched sets a tier leaves out (docs/methods.md,
sections 1 and 5). Knows nothing of how a judge reads or how a metric is computed.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.cohorts.cohort import Cohort, keep_complete_sets
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.disclosure.error_correction import correct_disclosure
from clinaudit.audit.disclosure.mean_over_diagnoses import MeasuredDiagnosis, mean_over_diagnoses
from clinaudit.audit.disclosure.readings import CollectedReadings, Reading, TierReadings
from clinaudit.audit.disclosure.train_delta import adjust_holm, measure_disclosure
from clinaudit.audit.generation.record import Generation
from clinaudit.priors.prompts import Prior
from clinaudit.reports.exact.disclosure import DisclosurePair, DisclosureResults
from clinaudit.reports.exact.judge import Outcome

#: Why a matched set is left out where a planned generation is missing.
_NOT_GENERATED = "not generated"


def measure_all_disclosure(
    cohorts: Iterable[Cohort],
    collected: CollectedReadings,
    *,
    tiers: Sequence[str],
    confusion_matrix: NDArray[np.float64] | None,
    seed: int,
    progress: Progress,
) -> DisclosureResults:
    """Return the disclosure metrics of every cohort at every tier, Holm-adjusted, and their means.

    `confusion_matrix` counts labelled texts by truth and verdict, `(4, 4)`. With it, metrics corrected for the judge's
    misclassification stand beside the raw ones; it is None where the judge was not scored.
    """
    matched = [cohort for cohort in cohorts if cohort.members]
    by_diagnosis: dict[str, dict[str, DisclosurePair]] = {cohort.diagnosis: {} for cohort in matched}
    by_tier: dict[str, dict[str, MeasuredDiagnosis]] = {tier: {} for tier in tiers}
    with progress.stage("disclosure figures", total=len(matched) * len(tiers), unit="figures") as advance:
        for cohort in matched:
            prevalence = cohort.summary.prevalence.value
            for tier in tiers:
                readings, dropped = collected[cohort.diagnosis][tier]
                pair = measure_disclosure(readings, prevalence=prevalence, seed=seed, dropped_sets=dropped)
                if confusion_matrix is not None:
                    corrected = correct_disclosure(readings, confusion_matrix, seed=seed)
                    pair = pair.model_copy(update={"corrected": corrected})
                by_diagnosis[cohort.diagnosis][tier] = pair
                by_tier[tier][cohort.diagnosis] = MeasuredDiagnosis(readings, pair, prevalence)
                advance(1)
    return DisclosureResults(
        by_diagnosis=adjust_holm(by_diagnosis),
        mean={tier: mean_over_diagnoses(measured, seed=seed) for tier, measured in by_tier.items() if measured},
    )


def collect_readings(
    cohorts: Iterable[Cohort],
    priors: Sequence[Prior],
    generations: Iterable[Generation],
    outcomes: Mapping[tuple[str, str], Outcome],
    *,
    tiers: Sequence[str],
) -> CollectedReadings:
    """Return, by diagnosis and tier, the readings of complete matched sets, and the sets left out by reason.

    `outcomes` are the judge's, by generation and diagnosis.
    """
    by_patient = {
        (generation.patient_id, generation.tier, diagnosis): outcomes[generation.generation_id, diagnosis]
        for generation in generations
        for diagnosis in generation.diagnoses
    }
    excluded = {
        (prior.patient_id, prior.tier, diagnosis): prior.reason or "excluded"
        for prior in priors
        if prior.excluded
        for diagnosis in prior.diagnoses
    }
    return {
        cohort.diagnosis: {tier: _readings(cohort, tier, by_patient, excluded) for tier in tiers}
        for cohort in cohorts
        if cohort.members
    }


def _readings(
    cohort: Cohort,
    tier: str,
    outcomes: Mapping[tuple[str, str, str], Outcome],
    excluded: Mapping[tuple[str, str, str], str],
) -> TierReadings:
    """Return the readings of the cohort's complete matched sets at a tier, and the sets left out by reason.

    A patient without a reading takes its whole set out, so that the 0.5 base rate holds (docs/methods.md, section 1).
    """
    left_out = {
        member.patient_id: excluded.get((member.patient_id, tier, cohort.diagnosis), _NOT_GENERATED)
        for member in cohort.members
        if (member.patient_id, tier, cohort.diagnosis) not in outcomes
    }
    kept, dropped = keep_complete_sets(cohort.members, left_out=left_out)
    readings = [
        Reading(
            patient_id=member.patient_id,
            arm=member.arm,
            present=member.present,
            outcome=outcomes[member.patient_id, tier, cohort.diagnosis],
        )
        for member in kept
    ]
    return TierReadings(readings, dropped)
