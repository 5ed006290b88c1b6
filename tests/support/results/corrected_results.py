"""Results whose disclosure is corrected for the errors of a judge."""

import numpy as np

from clinaudit.audit.disclosure.error_correction import correct_disclosure
from clinaudit.audit.disclosure.readings import Reading
from clinaudit.reports.schema.estimate import Arm
from clinaudit.reports.schema.judge import JudgeQuality, Outcome
from clinaudit.reports.schema.results import Results

MATRIX = np.array([[65.0, 0, 1, 12], [7, 70, 1, 0], [18, 0, 58, 2], [0, 0, 1, 77]])


def with_corrections(results: Results, quality: JudgeQuality) -> Results:
    """Return the results with a corrected block in every pair."""
    outcomes: tuple[Outcome, ...] = ("positive", "negative", "ambiguous", "not_mentioned")
    arms: tuple[Arm, ...] = ("train", "nontrain")
    readings = [
        Reading(f"{arm}{present}{i}", arm, present, outcomes[i % 4])
        for arm in arms
        for present in (True, False)
        for i in range(40)
    ]
    corrected = correct_disclosure(readings, MATRIX, seed=0)
    pairs = {
        diagnosis: {tier: pair.model_copy(update={"corrected": corrected}) for tier, pair in tiers.items()}
        for diagnosis, tiers in results.disclosure.by_diagnosis.items()
    }
    disclosure = results.disclosure.model_copy(update={"by_diagnosis": pairs})
    return results.model_copy(update={"disclosure": disclosure, "judge_quality": quality})
