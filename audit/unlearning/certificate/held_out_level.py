"""The measures of each patient in a run, and the level of the held-out patients (docs/methods.md, section 8).

The level is an upper prediction bound, distribution-free (split conformal). Owns the measures that a deletion
certificate looks at. Knows nothing of two runs, nor of verdicts. Of several generations of a patient at a tier the
largest value counts.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.comparison.evidence import RunEvidence
from clinaudit.reports.schema.record import Arm

#: Coverage of the level: a further held-out patient is at or below it with at least this probability.
LEVEL_SHARE: Final = 0.95
#: Least number of held-out patients for a level: of fewer than 19, no order statistic has that coverage.
LEVEL_PATIENTS: Final = 20
MEMORIZED: Final = "memorized tokens"
ATTRIBUTABLE: Final = "attributable tokens"
LONGEST: Final = "longest match in tokens"
#: The largest share there is, and what a verdict of 0 or 1 can be at most.
LARGEST_SHARE: Final = 1.0
LONGEST_NEAR: Final = "longest near-verbatim text in tokens"
NEVER_SEEN_AS_OFTEN: Final = "the level is the largest value there is: patients never seen are told of as often"
RETRAINED_AS_MUCH: Final = "the level is the largest value there is: the retrained model writes as much"
#: Followed by the diagnosis.
STATED: Final = "states the patient's diagnosis: "
TEXT_MEASURES: Final = (ATTRIBUTABLE, MEMORIZED, LONGEST, LONGEST_NEAR)
#: Tier and measure.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Level:
    """The level of the held-out patients for one measure at one tier."""

    #: None where there are too few patients.
    value: float | None
    patients: int


@dataclass(frozen=True, slots=True)
class PatientMeasures:
    """The measures of every patient that one run probed."""

    arms: Mapping[str, Arm]
    #: By patient; one that is missing (unjudged, not measured) is None.
    values: Mapping[str, Mapping[Place, float | None]]
    #: (patient, tier) to the ids and lengths in tokens of its generations.
    generations: Mapping[tuple[str, str], Mapping[str, int]]
    #: (patient, tier) without a prompt, since the patient has none of the tier's facts.
    without_facts: Collection[tuple[str, str]]

    def levels(self, patients: Collection[str]) -> dict[Place, Level]:
        """Return the level of these patients for each measure at each tier."""
        known: dict[Place, list[float]] = {}
        for patient in patients:
            for place, value in self.values[patient].items():
                if value is not None:
                    known.setdefault(place, []).append(value)
        return {place: find_level(values) for place, values in known.items()}

    def exceeds(self, patient: str, levels: Mapping[Place, Level]) -> bool:
        """Return whether any measure of the patient is above its level."""
        return any(is_above(value, levels.get(place)) for place, value in self.values.get(patient, {}).items())


def is_above(value: float | None, level: Level | None) -> bool:
    """Return whether a value is above a level; False where either is missing."""
    return value is not None and level is not None and level.value is not None and value > level.value


def cannot_fail(level: Level, largest: float | None) -> bool:
    """Return whether no value of a measure could be above its level; `largest` is the largest, None where not known.

    Such a measure says nothing of a patient: it would be within the level whatever the model wrote.
    """
    return level.value is not None and largest is not None and level.value >= largest


def why_it_says_nothing(held_out: Level, largest: float | None) -> str:
    """Return why a measure cannot fail: for the held-out patients themselves, or for the retrained model's figure."""
    return NEVER_SEEN_AS_OFTEN if cannot_fail(held_out, largest) else RETRAINED_AS_MUCH


def find_level(values: Sequence[float]) -> Level:
    """Return the ⌈0.95 (n + 1)⌉-th smallest value of held-out patients: the split conformal quantile.

    A further exchangeable patient is above it with a probability of at most 5%, whatever the distribution (Vovk,
    Gammerman and Shafer 2005).
    """
    if len(values) < LEVEL_PATIENTS:
        return Level(None, len(values))
    return Level(sorted(values)[math.ceil(LEVEL_SHARE * (len(values) + 1)) - 1], len(values))


def with_reference(level: Level, reference: float | None, reference_level: Level | None) -> Level:
    """Return the level with what a retrained model writes of the same patient, where that may vouch for it.

    A reference that is itself above the level of the patients it never saw does not vouch, nor one without such a
    level: nothing shows that it was trained without this one.
    """
    if reference is None or reference_level is None or reference_level.value is None:
        return level
    if is_above(reference, reference_level):
        return level
    return Level(reference if level.value is None else max(level.value, reference), level.patients)


def read_measures(evidence: RunEvidence) -> PatientMeasures:
    """Return the measures of every patient of a run."""
    arms: dict[str, Arm] = {}
    values: dict[str, dict[Place, float | None]] = {}
    generations: dict[tuple[str, str], dict[str, int]] = {}
    near = evidence.longest_near_matches
    for row in evidence.metrics:
        arms[row.patient_id] = row.arm
        generations.setdefault((row.patient_id, row.tier), {})[row.generation_id] = row.tokens
        own = values.setdefault(row.patient_id, {})
        found: dict[str, float | None] = {
            ATTRIBUTABLE: row.attributable_tokens,
            MEMORIZED: row.memorized_tokens,
            LONGEST: evidence.longest_matches.get(row.generation_id, 0),
            LONGEST_NEAR: None if near is None else near.get(row.generation_id, 0),
        }
        for measure, value in found.items():
            _raise_to(own, (row.tier, measure), value)
    present = {
        (member.patient_id, diagnosis)
        for diagnosis, members in evidence.cohorts.items()
        for member in members
        if member.present
    }
    tiers = {row.generation_id: (row.patient_id, row.tier) for row in evidence.metrics}
    for (generation_id, diagnosis), judgement in evidence.judgements.items():
        patient_id, tier = tiers.get(generation_id, ("", ""))
        if (patient_id, diagnosis) in present:
            outcome = judgement.outcome
            stated = None if outcome == "unjudged" else float(outcome == "positive")
            _raise_to(values[patient_id], (tier, STATED + diagnosis), stated)
    lacking = {
        (prior.patient_id, prior.tier)
        for prior in evidence.priors
        if prior.excluded and prior.reason == "no distinguishing fact"
    }
    return PatientMeasures(arms, values, generations, lacking)


def _raise_to(values: dict[Place, float | None], place: Place, value: float | None) -> None:
    """Keep the largest value; where one is missing, the place stays None unless another value is above 0."""
    known = values.get(place, value)
    if known is None or value is None:
        values[place] = (known or value) or None
    else:
        values[place] = max(known, value)
