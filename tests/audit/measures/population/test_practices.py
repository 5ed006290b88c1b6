"""Practices from hand-made notes, with values worked out by hand (the paper's Table 5)."""

from types import SimpleNamespace
from typing import cast

from support.tallies import inside, number

from clinaudit.audit.measures.population.description import describe_population
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import PatientFacts


def test_practices_count_their_notes_and_each_patient_once() -> None:
    notes: dict[str, list[str | None]] = {"a": ["north", "north", "south"], "b": ["north"], "c": [None]}
    own = {patient: [SimpleNamespace(practice=practice) for practice in of] for patient, of in notes.items()}
    people = {patient: SimpleNamespace(race=None) for patient in notes}
    corpus = SimpleNamespace(notes_of=own.__getitem__, patients=people, patient=people.__getitem__)
    unknown = cast("PatientFacts", SimpleNamespace(age=None, sex=None))
    tally = describe_population(
        list(notes),
        corpus=cast("Corpus", corpus),
        facts=dict.fromkeys(notes, unknown),
        tokens=dict.fromkeys(notes, 100),
        is_split=True,
    )
    found = inside(tally.evidence)
    assert (number(inside(tally.practices).range), number(inside(tally.practice_patients).range)) == (2, 3)
    assert not tally.is_placed
    assert found.notes_per_practice is not None
    assert found.patients_per_practice is not None
    # North 3 notes of a and b, south 1 of a.
    assert (found.notes_per_practice.mean, found.notes_per_practice.min, found.notes_per_practice.max) == (2, 1, 3)
    assert (found.patients_per_practice.mean, found.patients_per_practice.max) == (1.5, 2)
