"""What the judge read in the generations of a cohort, and counts of it by arm and status (docs/methods.md, section 5).

Owns readings and how they are counted. Knows nothing of metrics or intervals, nor of how a verdict was reached.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.measures.disclosure.metrics import OUTCOMES
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, DiagnosisStatus, Outcome
from clinaudit.reports.schema.record import Arm

#: Counts by `OUTCOMES` on the last axis.
Counts = NDArray[np.float64]
#: Where each outcome stands in counts.
COLUMNS: Final[dict[Outcome, int]] = {outcome: i for i, outcome in enumerate(OUTCOMES)}


@dataclass(frozen=True, slots=True)
class Reading:
    """What the judge read in one generation of a member of a cohort; `unjudged` is never a negative."""

    patient_id: str
    arm: Arm
    #: Whether the patient has the diagnosis.
    present: bool
    outcome: Outcome


class TierReadings(NamedTuple):
    """One cohort at one tier: the readings of its complete matched sets, and the number of sets left out, by reason."""

    readings: list[Reading]
    dropped_sets: dict[str, int]


#: By diagnosis and tier.
CollectedReadings = Mapping[str, Mapping[str, TierReadings]]


class ArmCounts(NamedTuple):
    """One arm's readings: `(5,)` counts by outcome, for patients with and without the diagnosis."""

    present: Counts
    absent: Counts


def count_outcomes(readings: Iterable[Reading]) -> ArmCounts:
    """Count one arm's readings. Raises `ValueError` where a patient is read twice.

    An audit has one generation a patient, diagnosis and tier: every interval assumes independent readings.
    """
    counts = np.zeros((2, len(OUTCOMES)))
    seen = set()
    for reading in readings:
        if reading.patient_id in seen:
            raise ValueError("a patient is read twice for one diagnosis and tier")
        seen.add(reading.patient_id)
        counts[int(not reading.present), COLUMNS[reading.outcome]] += 1
    return ArmCounts(*counts)


def tabulate_outcomes(counts: ArmCounts) -> dict[DiagnosisStatus, dict[Outcome, int]]:
    """Return one arm's counts as the outcome table that the evidence holds."""
    return {
        status: {outcome: int(of_status[column]) for outcome, column in COLUMNS.items()}
        for status, of_status in zip(DIAGNOSIS_STATUSES, counts, strict=True)
    }


def split_arms(readings: Iterable[Reading]) -> dict[Arm, list[Reading]]:
    """Return the readings of each arm. Raises `ValueError` where a patient stands in both."""
    by_arm: dict[Arm, list[Reading]] = {"train": [], "nontrain": []}
    for reading in readings:
        by_arm[reading.arm].append(reading)
    if {r.patient_id for r in by_arm["train"]} & {r.patient_id for r in by_arm["nontrain"]}:
        raise ValueError("a patient stands in both arms")
    return by_arm
