"""Who a note is about, and which visit: the values by which an adversary's prompt would name them (paper, Appendix A).

Those of its own patient (name, date of birth, sex) come from the tables and from any of the patient's notes, those of
its own visit (age then, date, provider, practice) from the note and its row. Nothing clinical is a value here.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from clinaudit.priors.corpus.cells import age_on
from clinaudit.priors.corpus.patient import Note, Patient
from clinaudit.priors.facts import fields_of
from clinaudit.priors.introduction import read_age
from clinaudit.priors.tiers import Fact
from clinaudit.templates.dates import WrittenDates
from clinaudit.templates.note import LaidOutNote, NoteReader
from clinaudit.templates.note_fields import FoundField
from clinaudit.templates.profile import NoteProfile

#: A longer value is no name of a person or place but a stretch of the note that the profile's place was taken for.
_MOST_WORDS = 12
_DAYS_A_YEAR = 365.2425


@dataclass(frozen=True, slots=True)
class Identity:
    """The values of one note's own patient and visit; several of a kind where sources or ways of writing differ."""

    names: frozenset[str]
    #: In completed years, at this visit; of an earlier visit two where nothing tells the birthday.
    ages: frozenset[int]
    #: As written: `female`, `F`.
    sexes: frozenset[str]
    birth_dates: frozenset[date]
    visit_dates: frozenset[date]
    providers: frozenset[str]
    practices: frozenset[str]
    #: Where the number begins in the note's age field, in characters of its text with line feeds only.
    age_place: int | None = None


class IdentityReader:
    """Reads the identity of each note of a patient, under one note template."""

    def __init__(self, profile: NoteProfile) -> None:
        self._reader = NoteReader(profile)
        self._dates = WrittenDates(profile.date_formats)

    def read(
        self, patient: Patient, notes: Sequence[Note], laid_out: Sequence[LaidOutNote] | None = None
    ) -> list[Identity]:
        """Return the identity of each of a patient's notes, which come oldest first and are all there are.

        `laid_out` are the notes as their template reads them, where that is done already.
        """
        # What the table tells needs no second look at the whole text of every note.
        is_told = patient.sex is not None and (patient.dob is not None or patient.age is not None)
        read = laid_out or [self._reader.read(note.text) for note in notes]
        stated = [fields_of(note, introduced=not is_told) for note in read]
        fields = [in_prose | placed for placed, in_prose in stated]
        names = _texts([patient.name, *patient.other_names, *_written(fields, Fact.NAME)])
        sexes = _texts([patient.sex, *_written(fields, Fact.SEX)])
        births = self._days(patient.dob, _written(fields, Fact.DOB)).union(patient.other_births)
        visits = [
            self._days(note.visit_date, _written([own], Fact.VISIT_DATE))
            for note, own in zip(notes, fields, strict=True)
        ]
        # Where the age field of each note has the number.
        places: list[int | None] = []
        for field in (own.get(Fact.AGE) for own in fields):
            age = None if field is None else read_age(field.value)
            at = -1 if field is None or age is None else field.value.find(str(age.years))
            places.append(None if field is None or at < 0 else field.value_chars.start + at)
        return [
            Identity(
                names=names,
                # A birth date settles it; what a table or a field says besides is another number.
                ages=frozenset(
                    {age_on(born, seen) for born in births for seen in visit if seen >= born}
                    or _ages_from_table(patient, visit, visits[-1])
                    | {age.years for text in _written([own], Fact.AGE) if (age := read_age(text))}
                ),
                sexes=sexes,
                birth_dates=births,
                visit_dates=visit,
                providers=_texts([note.provider, *_written([own], Fact.PROVIDER)]),
                practices=_texts([note.practice, *_written([own], Fact.PRACTICE)]),
                age_place=place,
            )
            for note, own, visit, place in zip(notes, fields, visits, places, strict=True)
        ]

    def _days(self, of_table: date | None, of_notes: Iterable[str]) -> frozenset[date]:
        found = {day for text in of_notes for day in self._dates.find(text)}
        if of_table is not None:
            found.add(date(of_table.year, of_table.month, of_table.day))
        return frozenset(found)


def _written(fields: Sequence[Mapping[Fact, FoundField]], fact: Fact) -> list[str]:
    return [own[fact].value for own in fields if fact in own]


def _texts(values: Iterable[str | None]) -> frozenset[str]:
    return frozenset(value.strip() for value in values if value and 0 < len(value.split()) <= _MOST_WORDS)


def _ages_from_table(patient: Patient, visits: frozenset[date], latest: frozenset[date]) -> set[int]:
    """Return the table's age (that of the latest visit) at another visit; two where the birthday is not known."""
    if patient.age is None:
        return set()
    if not visits or not latest:
        return {patient.age}
    years = (max(latest) - max(visits)).days / _DAYS_A_YEAR
    return {age for age in (patient.age - math.ceil(years), patient.age - math.floor(years)) if age >= 0}
