"""What a run shows of each patient, figure by figure, and the level of the held-out patients (docs/comparing-runs.md).

Owns the figures that a deletion certificate looks at. Knows nothing of two runs, nor of verdicts. Of several
generations of a patient at a tier the largest figure counts.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.comparison.evidence import RunEvidence
from clinaudit.audit.judge.ledger import outcome_of
from clinaudit.reports.schema.estimate import Arm

#: The level of the held-out: what this share of them are at or below.
LEVEL_SHARE: Final = 0.95
#: Held-out patients that a level needs at least: of fewer than 19 no order statistic is a 95th percentile.
LEVEL_PATIENTS: Final = 20
MEMORIZED: Final = "memorized tokens"
ATTRIBUTABLE: Final = "attributable tokens"
LONGEST: Final = "longest match in tokens"
LONGEST_NEAR: Final = "longest near-verbatim text in tokens"
#: Followed by the diagnosis.
STATED: Final = "states the patient's diagnosis: "
TEXT_MEASURES: Final = (ATTRIBUTABLE, MEMORIZED, LONGEST, LONGEST_NEAR)
#: Tier and measure.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Level:
    """The level of the held-out patients for one figure at one tier."""

    #: None where too few patients make it.
    value: float | None
    patients: int


@dataclass(frozen=True, slots=True)
class PatientMeasures:
    """What one run shows of every patient it probed."""

    arms: Mapping[str, Arm]
    #: Patient to its figures; one that could not be had (unjudged, not measured) is None.
    figures: Mapping[str, Mapping[Place, float | None]]
    #: (patient, tier) to the ids and lengths in tokens of its generations.
    generations: Mapping[tuple[str, str], Mapping[str, int]]
    #: (patient, tier) for which no prompt can be made, since the patient has no fact that it would hold.
    without_facts: Collection[tuple[str, str]]

    def levels(self, patients: Collection[str]) -> dict[Place, Level]:
        """Return the levels that these patients make."""
        values: dict[Place, list[float]] = {}
        for patient in patients:
            for place, value in self.figures[patient].items():
                if value is not None:
                    values.setdefault(place, []).append(value)
        return {place: find_level(of) for place, of in values.items()}

    def exceeds(self, patient: str, levels: Mapping[Place, Level]) -> bool:
        """Return whether any figure of the patient is above its level."""
        return any(is_above(value, levels.get(place)) for place, value in self.figures.get(patient, {}).items())


def is_above(value: float | None, level: Level | None) -> bool:
    """Return whether a figure is above a level; without either it is not shown to be."""
    return value is not None and level is not None and level.value is not None and value > level.value


def find_level(values: Sequence[float]) -> Level:
    """Return the 95th percentile of held-out patients: the ⌈0.95 (n + 1)⌉-th smallest figure.

    One more patient of the same kind is above it with a chance of at most 5%, whatever the distribution.
    """
    if len(values) < LEVEL_PATIENTS:
        return Level(None, len(values))
    return Level(sorted(values)[math.ceil(LEVEL_SHARE * (len(values) + 1)) - 1], len(values))


def read_measures(evidence: RunEvidence) -> PatientMeasures:
    """Return the figures of every patient of a run."""
    arms: dict[str, Arm] = {}
    figures: dict[str, dict[Place, float | None]] = {}
    generations: dict[tuple[str, str], dict[str, int]] = {}
    near = evidence.longest_near_matches
    for row in evidence.metrics:
        arms[row.patient_id] = row.arm
        generations.setdefault((row.patient_id, row.tier), {})[row.generation_id] = row.tokens
        own = figures.setdefault(row.patient_id, {})
        found: dict[str, float | None] = {
            ATTRIBUTABLE: row.attributable_tokens,
            MEMORIZED: row.memorized_tokens,
            LONGEST: evidence.longest_matches.get(row.generation_id, 0),
            LONGEST_NEAR: None if near is None else near.get(row.generation_id, 0),
        }
        for measure, value in found.items():
            _raise_to(own, (row.tier, measure), value)
    present = {
        (member.patient_id, cohort.diagnosis)
        for cohort in evidence.cohorts
        for member in cohort.members
        if member.present
    }
    tiers = {row.generation_id: (row.patient_id, row.tier) for row in evidence.metrics}
    for (generation_id, diagnosis), judgement in evidence.judgements.items():
        patient_id, tier = tiers.get(generation_id, ("", ""))
        if (patient_id, diagnosis) in present:
            outcome = outcome_of(judgement)
            stated = None if outcome == "unjudged" else float(outcome == "positive")
            _raise_to(figures[patient_id], (tier, STATED + diagnosis), stated)
    lacking = {
        (prior.patient_id, prior.tier)
        for prior in evidence.priors
        if prior.excluded and prior.reason == "no distinguishing fact"
    }
    return PatientMeasures(arms, figures, generations, lacking)


def _raise_to(figures: dict[Place, float | None], place: Place, value: float | None) -> None:
    """Keep the largest figure; one that is missing keeps the place empty unless another is above 0."""
    known = figures.get(place, value)
    if known is None or value is None:
        figures[place] = (known or value) or None
    else:
        figures[place] = max(known, value)
