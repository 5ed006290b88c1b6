"""The rows of the ids of one person, joined: a person is one patient of the corpus (docs/corpus-format.md).

Owns what counts where the rows of the ids differ. Knows nothing of how the ids were found (`people`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from clinaudit.priors.corpus.patient import Note, Patient, moment_of
from clinaudit.priors.surrogate_tags import is_tag

_CELLS: Final = ("sex", "name", "dob", "birth_year", "race", "marital_status", "occupation", "children")
_Notes = Mapping[str, Sequence[Note]]


@dataclass(frozen=True, slots=True)
class People:
    """The persons of a corpus who have more than one id."""

    #: The person's id by each of their ids, that one included.
    person_of: Mapping[str, str] = field(default_factory=dict)
    #: Persons who have an id in the nontrain split and one in another: nobody whom the model never saw.
    in_both_splits: frozenset[str] = frozenset()

    def describe(self) -> Iterator[str]:
        """Yield what the owner of the corpus must know of them, with counts."""
        if self.person_of:
            yield (
                f"{len(set(self.person_of.values()))} patients stand under more than one id ({len(self.person_of)} "
                "ids, of equal name and birth date, or of equal notes). Each counts as one, by the first of the ids; "
                "a note that stands alike under two of them is one note."
            )
        if self.in_both_splits:
            yield (
                f"SHARED: {len(self.in_both_splits)} of these patients have an id in the nontrain split and one in "
                "another. They are taken out of nontrain; where they are more than 1% of the targets, no rule passes."
            )


def join_patients(
    patients: Iterable[Patient], notes: _Notes, person_of: Mapping[str, str]
) -> tuple[list[Patient], People]:
    """Return one patient a person, and who has several ids. Each cell is that of the id with the latest note.

    A blank, or a tag, is told by the id with the next latest. A person is in the train split where any of the ids is,
    else in the validation split where any is.
    """
    rows: defaultdict[str, list[Patient]] = defaultdict(list)
    for row in sorted(patients, key=lambda one: moment_of(notes[one.patient_id][-1]), reverse=True):
        rows[person_of.get(row.patient_id, row.patient_id)].append(row)
    in_both = {person for person, own in rows.items() if len({_is_never_seen(row) for row in own}) > 1}
    return [_join(person, own) for person, own in rows.items()], People(person_of, frozenset(in_both))


def _is_never_seen(row: Patient) -> bool:
    return row.split == "nontrain" and not row.is_validation


def _join(person: str, rows: list[Patient]) -> Patient:
    told: dict[str, Any] = {}
    for name in _CELLS:
        values = (getattr(row, name) for row in rows)
        told[name] = next((value for value in values if value and not (name == "name" and is_tag(value))), None)
    # The table's age is that of the id's latest visit.
    aged = next((row for row in rows if row.age is not None), rows[0])
    told |= {"age": aged.age, "age_is_pooled": aged.age_is_pooled}
    if told["dob"] is not None:
        told["birth_year"] = None
    told["other_ids"] = tuple(sorted(row.patient_id for row in rows if row.patient_id != person))
    names, births = ({getattr(row, name) for row in rows} - {told[name], None} for name in ("name", "dob"))
    told["other_names"], told["other_births"] = tuple(sorted(filter(None, names))), tuple(sorted(births))
    place = min(rows, key=lambda row: (row.split != "train", not row.is_validation))
    return rows[0] if len(rows) == 1 else replace(place, patient_id=person, **told)


def join_notes(notes: _Notes, person_of: Mapping[str, str]) -> dict[str, tuple[Note, ...]]:
    """Return the notes of each person in order of time.

    A note that another id has alike (text, visit, provider, practice) is one note, copied with the id; where the
    white space alone differs both stay, since a model may recite either.
    """
    joined = {patient_id: tuple(own) for patient_id, own in notes.items() if patient_id not in person_of}
    kept: defaultdict[str, list[Note]] = defaultdict(list)
    copies: defaultdict[str, Counter[object]] = defaultdict(Counter)
    for patient_id, person in person_of.items():
        own: Counter[object] = Counter()
        for note in notes[patient_id]:
            alike = (note.text, note.visit_date, note.visit_time, note.provider, note.practice)
            own[alike] += 1
            if own[alike] > copies[person][alike]:
                kept[person].append(replace(note, patient_id=person))
        copies[person] |= own
    return joined | {person: tuple(sorted(own, key=moment_of)) for person, own in kept.items()}
