"""Which ids of a corpus are one person: a hospital's exports hold many people under two (docs/corpus-format.md).

Two ids are the same person by name and date of birth, or by their notes; then their rows and notes are joined.
"""

import hashlib
import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import groupby, permutations
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from clinaudit.priors.corpus.patient import Note, Patient, moment_of
from clinaudit.templates.markup import is_tag

_Notes = Mapping[str, tuple[Note, ...]]
#: What a note states of its patient: name and date of birth, None where it does not.
StatedIdentity = Callable[[Note], tuple[str | None, date | None]]
#: Least share of equal notes, of the notes of the id that has fewer: all that an old id holds may stand under the new
#: one, which has more. Of the id with more it would be a small share, and K would count one person twice all the same.
SHARE: Final = (4, 5)
#: A note that stands under more ids is a form letter, and a name and birth date of more a placeholder.
MOST_IDS: Final = 10
#: Nor does a shorter note ("no show"). It has hardly the 30 tokens of a match, so that K never counts it.
LEAST_WORDS: Final = 20
_WORD: Final = re.compile(r"[^\W_]+")
_TITLES: Final = frozenset({"mr", "mrs", "ms", "miss", "mx", "dr", "prof"})
_NO_GAP: Final = re.compile(r"['’`.]")


@dataclass(frozen=True, slots=True, eq=False)
class TellingNotes:
    """The notes that tell whose they are: neither short, nor form letters. One entry a note, by digests alone."""

    ids: Sequence[str]
    #: Place in `ids` of whose note it is.
    owners: npt.NDArray[np.int64]
    #: A number for each text; notes that are equal but for white space have the same.
    texts: npt.NDArray[np.int64]


def read_telling_notes(notes: _Notes) -> TellingNotes:
    """Read all notes of all ids once. A blank more or less, or another line end, makes no other text."""
    digests, owners = array("Q"), array("q")
    for place, own in enumerate(notes.values()):
        for note in own:
            words = note.text.split()
            if len(words) >= LEAST_WORDS:
                digest = hashlib.blake2b("".join(words).encode("utf-8"), digest_size=8).digest()
                digests.append(int.from_bytes(digest, "little"))
                owners.append(place)
    whose, (_, texts) = np.array(owners), np.unique(np.array(digests, dtype=np.uint64), return_inverse=True)
    held = np.unique(np.stack([texts, whose]), axis=1)  # (text, id), each pair once
    is_letter = np.bincount(held[0]) > MOST_IDS
    kept = ~is_letter[texts]
    return TellingNotes(list(notes), whose[kept], texts[kept])


def find_people(
    patients: Iterable[Patient], notes: _Notes, telling: TellingNotes, stated: StatedIdentity
) -> dict[str, str]:
    """Return the person's id, the first of theirs, for every id of a person who has more than one, that one included.

    `notes` are those of each patient, in order of time; `stated` is asked of the last where a table does not tell.
    """
    above: dict[str, str] = {}

    def first_of(patient_id: str) -> str:
        while (up := above.get(patient_id)) is not None:
            above[patient_id] = above.get(up, up)
            patient_id = up
        return patient_id

    for pair in (*_pairs_by_identity(patients, notes, stated), *_pairs_by_notes(telling)):
        first, other = sorted(map(first_of, pair))
        if first != other:
            above[other] = first
    ids = above.keys() | above.values()
    return {patient_id: first_of(patient_id) for patient_id in sorted(ids)}


def _pairs_by_identity(patients: Iterable[Patient], notes: _Notes, stated: StatedIdentity) -> Iterator[tuple[str, str]]:
    """Yield each id with the first that has the same name and date of birth, both known.

    A single word is no full name, and one that more ids have than a person does stands for nobody ("Test Patient").
    """
    holders: dict[object, list[str]] = {}
    for patient in patients:
        name, birth = patient.name if patient.name and not is_tag(patient.name) else None, patient.dob
        if name is None or birth is None:
            name_of_note, birth_of_note = stated(notes[patient.patient_id][-1])
            name = name or name_of_note
            if patient.birth_year is None or (birth_of_note and birth_of_note.year == patient.birth_year):
                birth = birth or birth_of_note
        words = _name_words(name or "")
        if len(words) > 1 and birth is not None:
            holders.setdefault((words, birth), []).append(patient.patient_id)
    for first, *others in holders.values():
        if len(others) < MOST_IDS:
            yield from ((first, other) for other in others)


def _name_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in one order: without case, accents and punctuation, "Lund, Ada" is "Ada Lund".

    Titles and initials are left out: one registration has them and another has not.
    """
    plain = unicodedata.normalize("NFKD", _NO_GAP.sub("", name)).casefold()
    words = _WORD.findall("".join(char for char in plain if not unicodedata.combining(char)))
    return tuple(sorted(word for word in words if word not in _TITLES and not (len(word) == 1 and word.isalpha())))


def _pairs_by_notes(telling: TellingNotes) -> Iterator[tuple[str, str]]:
    """Yield each two ids of which the one with fewer telling notes has four in five under the other as well."""
    ids = telling.ids
    notes_of = np.bincount(telling.owners, minlength=len(ids)).tolist()
    shared: Counter[tuple[int, int]] = Counter()
    in_order = np.argsort(telling.texts, kind="stable")
    repeated = in_order[(np.bincount(telling.texts) > 1)[telling.texts[in_order]]]
    for _, equal in groupby(repeated.tolist(), key=telling.texts.tolist().__getitem__):
        held = Counter(telling.owners[list(equal)].tolist())
        for one, other in permutations(held, 2):
            shared[one, other] += held[one]
    for (one, other), notes_of_one in shared.items():
        if notes_of[one] <= notes_of[other] and notes_of_one * SHARE[1] >= notes_of[one] * SHARE[0]:
            yield ids[one], ids[other]


_CELLS: Final = ("sex", "name", "dob", "birth_year", "race", "marital_status", "occupation", "children")


@dataclass(frozen=True, slots=True)
class People:
    """The persons of a corpus who have more than one id."""

    #: The person's id by each of their ids, that one included.
    person_of: Mapping[str, str] = field(default_factory=dict)
    #: Who is in the nontrain split and in another: by an id in each, or by four in five of their notes, which may stand
    #: under several ids there. Nobody of these is one whom the model never saw, or one who has no double among those.
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
                f"SHARED: {len(self.in_both_splits)} patients stand in the nontrain split and in another, by their ids "
                "or by four in five of their notes. Who has an id in each is taken out of nontrain; where they are "
                "more than 1% of the targets, no rule passes."
            )


def join_patients(
    patients: Iterable[Patient], notes: _Notes, telling: TellingNotes, person_of: Mapping[str, str]
) -> tuple[list[Patient], People]:
    """Return one patient a person, and who has several ids or is in both splits. A cell is the latest note's id's.

    A blank, or a tag, is told by the id with the next latest. A person is in the train split where any of the ids is,
    else in the validation split where any is.
    """
    rows: defaultdict[str, list[Patient]] = defaultdict(list)
    for row in sorted(patients, key=lambda one: moment_of(notes[one.patient_id][-1]), reverse=True):
        rows[person_of.get(row.patient_id, row.patient_id)].append(row)
    never_seen = {person: [_is_never_seen(row) for row in own] for person, own in rows.items()}
    in_both = {person for person, own in never_seen.items() if any(own) and not all(own)}
    joined = [_join(person, own) for person, own in rows.items()]
    in_both |= _held_by_the_other_split(telling, {row.patient_id: _is_never_seen(row) for row in joined}, person_of)
    return joined, People(person_of, frozenset(in_both))


def _is_never_seen(row: Patient) -> bool:
    return row.split == "nontrain" and not row.is_validation


def _held_by_the_other_split(
    telling: TellingNotes, never_seen: Mapping[str, bool], person_of: Mapping[str, str]
) -> set[str]:
    """Return the persons of whose telling notes four in five stand under any ids of the other split."""
    persons = [person_of.get(one, one) for one in telling.ids]
    place_of = {person: place for place, person in enumerate(dict.fromkeys(persons))}
    owners = np.array([place_of[person] for person in persons], dtype=np.int64)[telling.owners]
    is_held_out = np.array([never_seen[person] for person in place_of], dtype=np.bool_)[owners]
    is_doubled = np.zeros(len(owners), dtype=np.bool_)
    for side in (is_held_out, ~is_held_out):
        is_doubled[side] = np.isin(telling.texts[side], telling.texts[~side])
    of = np.bincount(owners, minlength=len(place_of))
    doubled = np.bincount(owners, weights=is_doubled, minlength=len(place_of))
    found = (of > 0) & (doubled * SHARE[1] >= of * SHARE[0])
    return {person for person, place in place_of.items() if found[place]}


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
