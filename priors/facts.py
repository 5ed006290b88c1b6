"""The facts known of a patient, read from the latest note and from the tables (paper, Appendix A, Figure 5).

Nothing is guessed: a fact is unknown where neither a table nor the template's place for it holds it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from itertools import chain

from clinaudit.priors.corpus.cells import age_on
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Note, Patient, Split
from clinaudit.priors.corpus.people import StatedIdentity
from clinaudit.priors.introduction import age_in_prose, find_introduction, read_age, read_sex
from clinaudit.priors.table_agreement import Standing, agrees, compare_with_notes
from clinaudit.priors.tiers import BELOW_BANNER, FRAGMENT_TIERS, TIERS, Fact, Tier
from clinaudit.templates.dates import read_birth_date, read_date
from clinaudit.templates.note import LaidOutNote, NoteReader, original_offsets
from clinaudit.templates.note_fields import FoundField, Heading
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.shown_text import Span, is_tag, show

#: Entries of a medication list without medications.
_NO_MEDICATION = frozenset(
    {"none", "n/a", "na", "nil", "no medications", "no current medications", "none reported", "not on any medications"}
)
#: One medication: up to a line break, a semicolon, or a comma that does not introduce a direction for use (the one in
#: "500 mg, twice daily" does).
_DIRECTION = (
    r"(?:\d|once|twice|three|one|two|half|daily|nightly|weekly|monthly|every|each|at|by|as|with|without|before|after|in|on"
    r"|for|per|prn|po|bid|tid|qid|qd|qhs|hs|oral|orally|take|tablets?|capsules?|extended|er|xr|sr|dr|if|when|and)\b"
)
_ENTRY = re.compile(rf"(?:[^\n;,]|,(?=\s*{_DIRECTION}))+", re.IGNORECASE)
_FRAGMENTS = tuple(tier for tier in TIERS if tier.id in FRAGMENT_TIERS)
#: Notes before the latest that are looked at: a template that fits none would have all of them read.
_MOST_EARLIER = 20
#: Headers of what is told of relatives.
_FAMILY = re.compile(r"\bfamily\b|\bfhx?\b")
#: `FoundField.source` of an age or sex that no place of the template has, but the words that introduce the patient.
INTRODUCTION = "introduction"
_BULLET = re.compile(r"^[\s•*·-]+|^\d+[.)]\s+")


@dataclass(frozen=True, slots=True)
class PatientFacts:
    """All facts known of one patient."""

    patient_id: str
    arm: Split
    latest: Note
    #: Facts in the latest note's banner or under their headers, in characters of the note as it stands.
    in_note: Mapping[Fact, FoundField]
    #: Facts that only a pattern found, or the words that introduce the patient, in the prose below the banner.
    in_prose: Mapping[Fact, FoundField]
    #: Facts by value, from a table where it has them, else from the note.
    values: Mapping[Fact, str]
    #: One entry for each medication of the latest note.
    medications: tuple[str, ...]
    #: Headers of the latest note, likewise.
    headers: tuple[Heading, ...]
    age: int | None
    sex: str | None
    note_count: int
    #: The layout of the profile under which the latest note was read; `NO_LAYOUT` where it fits none.
    layout: str
    #: Facts that this layout says where to find in a note's structure: its openings should hold them.
    placed: frozenset[Fact]
    #: Where the banner of the latest note ends: at the first header that holds none of who, when and where.
    banner_end: int
    #: Whether the name, date of birth and sex that the patients table gives stand in the patient's notes.
    table: Mapping[Fact, Standing]
    #: Facts whose value is a table's, the age that follows from its dates included.
    from_table: frozenset[Fact] = frozenset()
    #: Facts in whose place the latest note holds nothing but a tag of de-identification: nobody knows them from it.
    tagged: frozenset[Fact] = frozenset()
    #: Facts that the template finds in a wrong place for most notes of this layout (`audit.preview.fit`).
    doubtful: frozenset[Fact] = frozenset()
    #: Sections that it finds in fewer than half of them.
    rarely_found: frozenset[Fact] = frozenset()
    #: By id of a fragment tier: the same as an earlier note has it, where that is the latest with the tier's facts.
    earlier: Mapping[str, "PatientFacts"] = field(default_factory=dict)

    def at(self, tier: Tier) -> "PatientFacts":
        """Return the facts as the note has them that a fragment of this tier is taken from."""
        return self.earlier.get(tier.id, self)

    @property
    def sources(self) -> "tuple[PatientFacts, ...]":
        """The facts as each note has them that some fragment is taken from, a note once."""
        return tuple({source.latest.note_id: source for source in map(self.at, _FRAGMENTS)}.values())

    def stands_in_opening(self, fact: Fact) -> bool:
        """Whether the note holds a fact where a note begins: a provider who signs at its end is not in the opening."""
        field = self.in_note.get(fact)
        return field is not None and (fact in BELOW_BANNER or field.span_chars.start < self.banner_end)

    def has_any_of(self, tier: Tier) -> bool:
        """Whether the opening has a value of the patient's own of what the tier is about."""
        return any(self.stands_in_opening(fact) for fact in set(tier.distinguishing) - self.tagged)

    def has_all_of(self, tier: Tier) -> bool:
        """Whether the note also has every fact of the tier that its layout places in it."""
        placed = self.placed.intersection(tier.facts)
        return self.has_any_of(tier) and placed <= self.in_note.keys() | self.in_prose.keys()

    @property
    def is_own_row(self) -> bool:
        """Whether the row of the patients table is of this patient, as far as the notes tell."""
        return agrees(self.table)

    def are_own(self, background: Iterable[Fact]) -> bool:
        """Whether these facts are this patient's own: from a row that is, or from where the note has them."""
        return self.is_own_row and self.doubtful.isdisjoint(set(background) - self.from_table)

    @property
    def note(self) -> str:
        """The latest note as it stands; read from the corpus each time, since a corpus may not fit in memory."""
        return self.latest.text

    def of(self, notes: Sequence[Note]) -> "PatientFacts":
        """Return the same of the patient's own `notes`, where they were read from what was sent of these."""
        own = next(note for note in notes if note.position == self.latest.position)
        return replace(self, latest=own, earlier={tier: known.of(notes) for tier, known in self.earlier.items()})

    def known(self, fact: Fact) -> bool:
        """Whether the fact is known from any source."""
        return bool(self.medications) if fact is Fact.MEDICATIONS else fact in self.values


class FactReader:
    """Reads facts of patients under one note template."""

    def __init__(self, profile: NoteProfile) -> None:
        self._reader = NoteReader(profile)

    def read(self, corpus: Corpus, patient_id: str) -> PatientFacts:
        """Return the facts of one patient of a corpus."""
        return self.read_notes(corpus.patient(patient_id), corpus.notes_of(patient_id))

    def read_notes(self, patient: Patient, notes: Sequence[Note]) -> PatientFacts:
        """Return the facts of one patient, from the tables and the latest note that has them; oldest notes first."""
        known = self._read(patient, notes, len(notes) - 1)
        older = cache(lambda place: self._read(patient, notes, place, table=known.table))
        places = range(len(notes) - 2, max(-1, len(notes) - 2 - _MOST_EARLIER), -1)
        earlier: dict[str, PatientFacts] = {}
        for tier in _FRAGMENTS:
            # The latest with all, else the latest with what the tier is about, else the latest.
            each = (
                facts
                for suits in (PatientFacts.has_all_of, PatientFacts.has_any_of)
                for facts in chain([known], map(older, places))
                if suits(facts, tier)
            )
            if (found := next(each, known)) is not known:
                earlier[tier.id] = found
        return replace(known, earlier=earlier)

    def _read(
        self, patient: Patient, notes: Sequence[Note], place: int, *, table: Mapping[Fact, Standing] | None = None
    ) -> PatientFacts:
        """Return the facts from one of the notes; `table`, where it is known how the table agrees with all of them."""
        latest = notes[place]
        given = latest.text
        # Carriage returns are rare, and without them every place is the same.
        offsets = original_offsets(given) if "\r\n" in given else None
        note = self._reader.read(given)
        formats = note.layout.date_formats
        placed_fields, prose_fields = fields_of(note)
        fields = prose_fields | placed_fields
        in_note, in_prose, headings = placed_fields, prose_fields, note.headings
        banner_end = note.found.banner_end
        if offsets is not None:
            in_note, in_prose = ({fact: at.at(offsets) for fact, at in one.items()} for one in (in_note, in_prose))
            headings, banner_end = [item.at(offsets) for item in headings], offsets[banner_end]
        tagged = frozenset(fact for fact, field in fields.items() if is_tag(field.value))
        stated = {fact: field.value for fact, field in fields.items() if fact not in tagged}
        stated_sex = read_sex(stated.get(Fact.SEX))
        if stated_sex is not None and fields[Fact.SEX].source == INTRODUCTION:
            stated[Fact.SEX] = stated_sex
        in_table = _table_values(patient, latest, formats[0])
        values = stated | in_table
        own_birth = read_date(stated.get(Fact.DOB, ""), formats)
        if patient.birth_year is not None and (own_birth is None or own_birth.year != patient.birth_year):
            values[Fact.DOB] = str(patient.birth_year)
        placed = frozenset(map(Fact, note.layout.placed))
        if table is None:
            table = compare_with_notes(
                patient,
                stated_birth=_seen_and_born(stated, latest, formats)[1],
                stated_sex=stated_sex,
                placed=placed,
                texts=(own.text for own in reversed(notes)),
                formats=formats,
            )
        seen, born = _seen_and_born(values, latest, formats)
        age, is_pooled = patient.age, patient.age_is_pooled
        if age is None and born is not None and seen is not None and seen >= born:
            age = age_on(born, seen)
        elif age is None and (stated_age := read_age(values.get(Fact.AGE, ""))) is not None:
            age, is_pooled = stated_age.years, stated_age.is_pooled
        if age is not None:
            values[Fact.AGE] = "90 or over" if is_pooled else str(age)
        elif patient.birth_year is not None and seen is not None and seen.year >= patient.birth_year:
            # Known to within a year: good enough for matching and description, not for a prompt.
            age = seen.year - patient.birth_year
        return PatientFacts(
            patient_id=patient.patient_id,
            arm=patient.split,
            latest=latest,
            in_note=in_note,
            in_prose=in_prose,
            values=values,
            medications=_medications(note, fields.get(Fact.MEDICATIONS)),
            headers=tuple(headings),
            age=age,
            sex=patient.sex or read_sex(values.get(Fact.SEX)),
            note_count=len(notes),
            layout=note.layout_name,
            tagged=tagged,
            placed=placed,
            banner_end=banner_end,
            table=table,
            from_table=frozenset(in_table) | ({Fact.AGE} if patient.age is not None else set()),
        )


def fields_of(note: LaidOutNote, *, introduced: bool = True) -> tuple[dict[Fact, FoundField], dict[Fact, FoundField]]:
    """Return the facts that a note states in its structure, and those in its prose; spans are of its `text`.

    By its template, and with `introduced` also age and sex as it introduces its patient.
    """
    text, offsets = note.shown
    shown = note.shown_found
    placed, in_prose = ({Fact(fact): field for fact, field in of.items()} for of in (shown.placed, shown.in_prose))
    for part in (placed, in_prose):
        age = part.get(Fact.AGE)
        if age is not None and age.source.startswith("pattern"):
            span = age_in_prose(text, age.value_chars)
            if span is None:
                del part[Fact.AGE]
            elif span != age.value_chars:
                part[Fact.AGE] = age._replace(value=text[slice(*span)], value_chars=span)
    if introduced and not {Fact.AGE, Fact.SEX} <= placed.keys() | in_prose.keys():
        starts = [heading.span_chars.start for heading in note.shown_headings]
        of_family = [
            Span(heading.span_chars.start, end)
            for heading, end in zip(note.shown_headings, [*starts[1:], len(text)], strict=False)
            if _FAMILY.search(heading.header)
        ]
        for fact, span in zip((Fact.AGE, Fact.SEX), find_introduction(text, of_family), strict=True):
            if span is not None and fact not in placed and fact not in in_prose:
                part = placed if span.start < shown.banner_end else in_prose
                part[fact] = FoundField(text[slice(*span)], span, span, INTRODUCTION)
    if offsets is not None:
        placed, in_prose = ({fact: field.at(offsets) for fact, field in part.items()} for part in (placed, in_prose))
    return placed, in_prose


def _medications(note: LaidOutNote, field: FoundField | None) -> tuple[str, ...]:
    if field is None:
        return ()
    begin, end = field.value_chars
    listed, offsets = show(note.text[begin:end])
    templated = note.templated_in(field.value_chars)
    found: list[str] = []
    for match in _ENTRY.finditer(listed):
        entry = _BULLET.sub("", match[0]).strip()
        place = Span(*match.span()) if offsets is None else Span(*match.span()).at(offsets)
        boilerplate = any(templated[slice(*place)])
        if entry and not boilerplate and not is_tag(entry) and entry.lower().rstrip(".") not in _NO_MEDICATION:
            found.append(entry)
    return tuple(found)


def _table_values(patient: Patient, latest: Note, date_format: str) -> dict[Fact, str]:
    known: dict[Fact, str | None] = {
        Fact.SEX: patient.sex,
        Fact.NAME: patient.name,
        Fact.DOB: patient.dob.strftime(date_format) if patient.dob else None,
        Fact.MARITAL_STATUS: patient.marital_status,
        Fact.OCCUPATION: patient.occupation,
        Fact.CHILDREN: patient.children,
        Fact.VISIT_DATE: latest.visit_date.strftime(date_format) if latest.visit_date else None,
        Fact.PROVIDER: latest.provider,
        Fact.PRACTICE: latest.practice,
    }
    return {fact: value for fact, value in known.items() if value and not is_tag(value)}


def _seen_and_born(values: Mapping[Fact, str], note: Note, formats: Sequence[str]) -> tuple[date | None, date | None]:
    """Return the days of the visit and of the patient's birth, as the table or these values say."""
    seen = note.visit_date or read_date(values.get(Fact.VISIT_DATE, ""), formats)
    return seen, read_birth_date(values.get(Fact.DOB, ""), formats, before=seen)


def identity_reader(profile: NoteProfile) -> StatedIdentity:
    """Return what reads the patient's name and date of birth off a note; what is nothing but a tag is unknown."""
    reader = NoteReader(profile)

    def read(note: Note) -> tuple[str | None, date | None]:
        placed, in_prose = fields_of(reader.read(note.text), introduced=False)
        stated = {fact: field.value for fact, field in (in_prose | placed).items() if not is_tag(field.value)}
        return stated.get(Fact.NAME), _seen_and_born(stated, note, profile.date_formats)[1]

    return read


def read_facts(corpus: Corpus, profile: NoteProfile, patient_ids: Iterable[str]) -> dict[str, PatientFacts]:
    """Return the facts of some patients of the corpus, sorted by id."""
    reader = FactReader(profile)
    return {patient_id: reader.read(corpus, patient_id) for patient_id in sorted(patient_ids)}


def read_shard(profile: NoteProfile, shard: Iterable[tuple[Patient, Sequence[Note]]]) -> list[PatientFacts]:
    """Return the facts of some patients, wherever that is done."""
    reader = FactReader(profile)
    return [reader.read_notes(patient, notes) for patient, notes in shard]
