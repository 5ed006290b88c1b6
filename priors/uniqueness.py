"""Prior uniqueness: how many patients of the corpus a tier's facts fit (k-anonymity of a prompt; Sweeney 2002).

A prompt that fits one person only asks about that person, whoever wrote it; one that fits many can show nothing of one
of them for certain. Owns when facts fit a patient. Knows nothing of prompts' wording or of results.
"""

from collections import Counter
from collections.abc import Collection
from typing import Final

from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.tiers import Fact, Tier

#: Numbers of patients, counted from one, at which a prior is called less unique.
FEWER_THAN: Final = (2, 5, 11)

_Key = tuple[object, ...]


def count_fitting(patients: Collection[PatientFacts], tier: Tier) -> dict[str, int]:
    """Return by patient id how many patients the tier's facts of this one fit, the patient included.

    Facts fit a patient of whom every one of them is known and the same, letters' case, blanks and the order of
    medications aside. A patient without a distinguishing fact has no prior at this tier, and no entry.
    """
    stated = {
        known.patient_id: tuple(fact for fact in tier.facts if known.known(fact))
        for known in patients
        if any(known.known(fact) for fact in tier.distinguishing)
    }
    # Patients state different facts: those who state the same ones are counted together, among all who state these.
    tallies: dict[tuple[Fact, ...], Counter[_Key]] = {
        facts: Counter(_key(known, facts) for known in patients if all(map(known.known, facts)))
        for facts in set(stated.values())
    }
    by_id = {known.patient_id: known for known in patients}
    return {patient_id: tallies[facts][_key(by_id[patient_id], facts)] for patient_id, facts in stated.items()}


def _key(known: PatientFacts, facts: Collection[Fact]) -> _Key:
    return tuple(
        frozenset(map(_plain, known.medications)) if fact is Fact.MEDICATIONS else _plain(known.values[fact])
        for fact in facts
    )


def _plain(value: str) -> str:
    return " ".join(value.split()).casefold()
