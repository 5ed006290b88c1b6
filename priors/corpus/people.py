"""Which ids of a corpus are one person: a hospital's exports hold many people under two (docs/corpus-format.md).

Two ids are the same person by name and date of birth, or by their notes; then their rows and notes are joined.
"""

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Final

import polars as pl

from clinaudit.priors.corpus.patient import Note, Patient, moment_of
from clinaudit.templates.shown_text import is_tag

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


def read_telling_notes(notes: _Notes) -> pl.DataFrame:
    """Return the notes that tell whose they are: neither short, nor form letters. One row a note, by digests alone.

    `text` is equal for notes that are equal but for white space: a blank more or less, or another line end, makes no
    other text.
    """
    told = (
        (patient_id, int.from_bytes(hashlib.blake2b("".join(words).encode("utf-8"), digest_size=8).digest(), "little"))
        for patient_id, own in notes.items()
        for note in own
        if len(words := note.text.split()) >= LEAST_WORDS
    )
    telling = pl.DataFrame(told, schema={"patient_id": pl.String, "text": pl.UInt64}, orient="row")
    return telling.filter(pl.col("patient_id").n_unique().over("text") <= MOST_IDS)


def find_people(
    patients: Iterable[Patient], notes: _Notes, telling: pl.DataFrame, stated: StatedIdentity
) -> dict[str, str]:
    """Return the person's id, the first of theirs, for every id of a person who has more than one, that one included.

    `notes` are those of each patient, in order of time; `stated` is asked of the last where a table does not tell.
    """
    ids_of: dict[str, set[str]] = {}
    for pair in (*_pairs_by_identity(patients, notes, stated), *_pairs_by_notes(telling)):
        together = set[str]().union(*(ids_of.get(patient_id, {patient_id}) for patient_id in pair))
        ids_of |= dict.fromkeys(together, together)
    return {patient_id: min(ids_of[patient_id]) for patient_id in sorted(ids_of)}


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
        # Words in one order, without case, accents and punctuation: "Lund, Ada" is "Ada Lund". Titles and initials are
        # left out: one registration has them and another has not.
        plain = unicodedata.normalize("NFKD", _NO_GAP.sub("", name or "")).casefold()
        words = _WORD.findall("".join(char for char in plain if not unicodedata.combining(char)))
        parts = sorted(word for word in words if word not in _TITLES and not (len(word) == 1 and word.isalpha()))
        if len(parts) > 1 and birth is not None:
            holders.setdefault((*parts, birth), []).append(patient.patient_id)
    for first, *others in holders.values():
        if len(others) < MOST_IDS:
            yield from ((first, other) for other in others)


def _pairs_by_notes(telling: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield each two ids of which the one with fewer telling notes has four in five under the other as well."""
    held = telling.group_by("patient_id", "text").len("held").with_columns(of=pl.col("held").sum().over("patient_id"))
    shared = (
        held.join(held, on="text", suffix="_other")
        .filter(pl.col("patient_id") != pl.col("patient_id_other"), pl.col("of") <= pl.col("of_other"))
        .group_by("patient_id", "patient_id_other", "of")
        .agg(pl.col("held").sum())
    )
    yield from shared.filter(_is_most("held", "of")).select("patient_id", "patient_id_other").iter_rows()


def _is_most(part: str, whole: str) -> pl.Expr:
    """Whether the count in one column is four in five of that in another, or more."""
    return pl.col(part) * SHARE[1] >= pl.col(whole) * SHARE[0]


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
    patients: Iterable[Patient], notes: _Notes, telling: pl.DataFrame, person_of: Mapping[str, str]
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
    # And those of whose telling notes four in five stand under any ids of the other split.
    person = pl.col("patient_id").replace(person_of)
    of_person = {row.patient_id: _is_never_seen(row) for row in joined}
    doubled = (
        telling.select("text", person=person, never_seen=person.replace_strict(of_person, return_dtype=pl.Boolean))
        .with_columns(is_doubled=pl.col("never_seen").n_unique().over("text") == 2)
        .group_by("person")
        .agg(doubled=pl.col("is_doubled").sum(), of=pl.len())
    )
    in_both |= set(doubled.filter(_is_most("doubled", "of"))["person"])
    return joined, People(person_of, frozenset(in_both))


def _is_never_seen(row: Patient) -> bool:
    return row.split == "nontrain" and not row.is_validation


def _join(person: str, rows: list[Patient]) -> Patient:
    if len(rows) == 1:
        return rows[0]

    def told(name: str) -> list[Any]:
        values = (getattr(row, name) for row in rows)
        return [value for value in values if value and not (name == "name" and is_tag(value))]

    cells: dict[str, Any] = {name: next(iter(told(name)), None) for name in _CELLS}
    if cells["dob"] is not None:
        cells["birth_year"] = None
    # The table's age is that of the id's latest visit.
    aged = next((row for row in rows if row.age is not None), rows[0])
    names, births = ({getattr(row, name) for row in rows} - {cells[name], None} for name in ("name", "dob"))
    return replace(
        min(rows, key=lambda row: (row.split != "train", not row.is_validation)),
        patient_id=person,
        age=aged.age,
        age_is_pooled=aged.age_is_pooled,
        other_ids=tuple(sorted(row.patient_id for row in rows if row.patient_id != person)),
        other_names=tuple(sorted(filter(None, names))),
        other_births=tuple(sorted(births)),
        **cells,
    )


def join_notes(notes: _Notes, person_of: Mapping[str, str]) -> dict[str, tuple[Note, ...]]:
    """Return the notes of each person in order of time.

    A note that another id has alike (text, visit, provider, practice) is one note, copied with the id; where the
    white space alone differs both stay, since a model may recite either.
    """
    joined = {patient_id: own for patient_id, own in notes.items() if patient_id not in person_of}
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
