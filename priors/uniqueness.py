"""Prior uniqueness: how many patients of the corpus the values in a prompt fit (k-anonymity of a prompt; Sweeney 2002).

A prompt that fits one person only asks about that person, whoever wrote it; one that fits many can show nothing of one
of them for certain. Owns when facts fit a patient. Knows nothing of prompts' wording or of results.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.fragments import held_facts
from clinaudit.priors.renderings import Rendering
from clinaudit.priors.tiers import Fact, Tier

#: Share of a tier's prompts that are to be nobody else's: else most answers are about nobody in particular.
FEWEST_OWN_PROMPTS: Final = 0.5
#: Numbers of patients, counted from one, at which a prior is called less unique.
FEWER_THAN: Final = (2, 5, 11)

_Key = tuple[object, ...]


def count_fitting(patients: Collection[PatientFacts], tier: Tier, rendering: Rendering) -> dict[str, int]:
    """Return by patient id how many patients the values in this one's prompt fit, the patient included.

    They fit a patient of whom every one of these facts is known and the same, letters' case, blanks and the order of
    medications aside. A patient without a prompt at this tier has no entry.
    """
    stated = {
        known.patient_id: tuple(fact for fact in Fact if fact in held)
        for known in patients
        if (held := held_facts(known, tier, rendering))
    }
    # Patients state different facts: those who state the same ones are counted together, among all who state these.
    tallies: dict[tuple[Fact, ...], Counter[_Key]] = {
        facts: Counter(_key(known, tier, facts) for known in patients if all(map(known.at(tier).known, facts)))
        for facts in set(stated.values())
    }
    by_id = {known.patient_id: known for known in patients}
    return {patient_id: tallies[facts][_key(by_id[patient_id], tier, facts)] for patient_id, facts in stated.items()}


def _key(known: PatientFacts, tier: Tier, facts: Collection[Fact]) -> _Key:
    known = known.at(tier)
    return tuple(
        frozenset(map(_plain, known.medications)) if fact is Fact.MEDICATIONS else _plain(known.values[fact])
        for fact in facts
    )


def _plain(value: str) -> str:
    return " ".join(value.split()).casefold()


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many patients an audit of a corpus could ask about, before cohort matching."""

    #: Patients for whom a prompt can be made, by tier: in the training data, and outside it.
    tiers: Mapping[str, tuple[int, int]]
    #: The smallest of the four groups that a diagnosis' cohort is matched from; None without a table of diagnoses.
    smallest_groups: Mapping[str, int] | None
