"""The rows of the ids of one person, joined: a person is one patient of the corpus (docs/corpus-format.md).

Owns what counts where the rows of the ids differ. Knows nothing of how the ids were found (`people`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from clinaudit.priors.corpus.patient import Note, Patient, moment_of
from clinaudit.priors.surrogate_tags import is_tag

_CELLS: Final = ("sex", "name", "dob", "birth_year", "race", "marital_status", "occupation", "children")
Labels = Mapping[tuple[str, str], bool]


@dataclass(frozen=True, slots=True)
class People:
    """The persons of a corpus who have more than one id."""

    #: The person's id by each of their ids, that one included.
    person_of: Mapping[str, str] = field(default_factory=dict)
    #: Persons who have an id in the nontrain split and one in another: nobody whom the model never saw.
    in_both_splits: frozenset[str] = frozenset()

    @property
    def several_ids(self) -> frozenset[str]:
        """Persons with more than one id."""
        return frozenset(self.person_of.values())

    def describe(self) -> list[str]:
        """Return what the owner of the corpus must know of them, with counts."""
        found = []
        if self.person_of:
            found.append(
                f"{len(self.several_ids)} patients stand under more than one id ({len(self.person_of)} ids, of equal "
                "name and birth date, or of equal notes). Each counts as one, by the first of the ids; a note that "
                "stands alike under two of them is one note."
            )
        if self.in_both_splits:
            found.append(
                f"SHARED: {len(self.in_both_splits)} of these patients have an id in the nontrain split and one in "
                "another. They are taken out of nontrain; where they are more than 1% of the targets, no rule passes."
            )
        return found


def join_people(patients: Iterable[Patient], person_of: Mapping[str, str]) -> People:
    """Return the persons with more than one id; `patients` are the rows of the ids."""
    never_seen, seen = (
        {
            person_of[row.patient_id]
            for row in patients
            if row.patient_id in person_of and (row.split == "nontrain" and not row.is_validation) is is_never_seen
        }
        for is_never_seen in (True, False)
    )
    return People(person_of, frozenset(never_seen & seen))


def join_patients(
    patients: Iterable[Patient], notes: Mapping[str, tuple[Note, ...]], person_of: Mapping[str, str]
) -> list[Patient]:
    """Return one patient a person. Each cell is that of the id with the latest note that gives it.

    A person is in the train split where any of the ids is, else in the validation split where any is.
    """
    rows: defaultdict[str, list[Patient]] = defaultdict(list)
    for row in sorted(patients, key=lambda one: moment_of(notes[one.patient_id][-1]), reverse=True):
        rows[person_of.get(row.patient_id, row.patient_id)].append(row)
    return [own[0] if len(own) == 1 else _join(person, own) for person, own in rows.items()]


def _join(person: str, rows: list[Patient]) -> Patient:
    cells: dict[str, Any] = {
        name: next((value for row in rows if _is_told(value := getattr(row, name))), None) for name in _CELLS
    }
    if cells["dob"] is not None:
        cells["birth_year"] = None
    # The table's age is that of the id's latest visit.
    aged = next((row for row in rows if row.age is not None), rows[0])
    place = min(rows, key=lambda row: (row.split != "train", not row.is_validation))
    return Patient(
        patient_id=person,
        split=place.split,
        is_validation=place.is_validation,
        age=aged.age,
        age_is_pooled=aged.age_is_pooled,
        **cells,
    )


def _is_told(value: object) -> bool:
    return value is not None and not (isinstance(value, str) and is_tag(value))


def join_notes(notes: Mapping[str, tuple[Note, ...]], person_of: Mapping[str, str]) -> dict[str, tuple[Note, ...]]:
    """Return the notes of each person in order of time.

    A note that another id has alike (text, visit, provider, practice) is one note, copied with the id; where the
    white space alone differs both stay, since a model may recite either.
    """
    joined = {patient_id: own for patient_id, own in notes.items() if patient_id not in person_of}
    kept: defaultdict[str, list[Note]] = defaultdict(list)
    copies: defaultdict[str, Counter[object]] = defaultdict(Counter)
    for patient_id, person in sorted(person_of.items()):
        own: Counter[object] = Counter()
        for note in notes[patient_id]:
            alike = (note.text, note.visit_date, note.visit_time, note.provider, note.practice)
            own[alike] += 1
            if own[alike] > copies[person][alike]:
                kept[person].append(replace(note, patient_id=person))
        copies[person] |= own
    return joined | {person: tuple(sorted(own, key=moment_of)) for person, own in kept.items()}


def join_labels(labels: Labels, person_of: Mapping[str, str]) -> dict[tuple[str, str], bool]:
    """Return the labels of each person: a diagnosis that one id has is the person's, whatever another says."""
    joined: dict[tuple[str, str], bool] = {}
    for (patient_id, diagnosis), present in labels.items():
        key = person_of.get(patient_id, patient_id), diagnosis
        joined[key] = joined.get(key, False) or present
    return joined
