"""The facts known of a patient, read from the latest note and from the tables (paper, Appendix A, Figure 5).

Owns where each fact stands in a note, and which source takes precedence. Knows nothing of prompts or diagnoses. Nothing
is guessed: a fact is unknown where neither a table nor the template's place for it holds it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Note, Patient, Split
from clinaudit.priors.tiers import Fact
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.sections import Heading, SectionResolver, normalize_newlines, original_offsets
from clinaudit.templates.spans import Span
from clinaudit.templates.templated import TemplatedText

#: Entries of a medication list without medications.
_NO_MEDICATION = frozenset(
    {"none", "n/a", "na", "nil", "no medications", "no current medications", "none reported", "not on any medications"}
)
#: Facts that may fill several lines; of any other, only its header's first line with text counts.
_MANY_LINES = frozenset({Fact.CHIEF_COMPLAINT, Fact.HPI, Fact.MEDICATIONS})
_FIRST_LINE = re.compile(r"\s*\S[^\n]*\n?")
#: One medication: up to a line break, a semicolon, or a comma that does not introduce a direction for use (the one in
#: "500 mg, twice daily" does).
_DIRECTION = (
    r"(?:\d|once|twice|three|one|two|half|daily|nightly|weekly|monthly|every|each|at|by|as|with|without|before|after|in|on"
    r"|for|per|prn|po|bid|tid|qid|qd|qhs|hs|oral|orally|take|tablets?|capsules?|extended|er|xr|sr|dr|if|when|and)\b"
)
_ENTRY = re.compile(rf"(?:[^\n;,]|,(?=\s*{_DIRECTION}))+", re.IGNORECASE)
_BULLET = re.compile(r"^[\s•*·-]+|^\d+[.)]\s+")


@dataclass(frozen=True, slots=True)
class NoteField:
    """A fact in a note: its value, and the span of the note that holds it, label included."""

    value: str
    #: Characters of the note as it stands (carriage returns included), up to the next header or field.
    span_chars: Span


@dataclass(frozen=True, slots=True)
class FollowingHeader:
    """A header of the note and where its text begins."""

    span_chars: Span


@dataclass(frozen=True, slots=True)
class PatientFacts:
    """All facts known of one patient."""

    patient_id: str
    arm: Split
    latest: Note
    in_note: Mapping[Fact, NoteField]
    #: Facts by value, from a table where it has them, else from the note.
    values: Mapping[Fact, str]
    #: One entry for each medication of the latest note.
    medications: tuple[str, ...]
    #: Headers of the latest note, in characters of the note as it stands.
    headers: tuple[FollowingHeader, ...]
    age: int | None
    sex: str | None
    note_count: int

    @property
    def note(self) -> str:
        """The latest note as it stands; read from the corpus each time, since a corpus may not fit in memory."""
        return self.latest.text

    def known(self, fact: Fact) -> bool:
        """Whether the fact is known from any source."""
        return bool(self.medications) if fact is Fact.MEDICATIONS else fact in self.values


class FactReader:
    """Reads facts of patients under one note template."""

    def __init__(self, profile: NoteProfile) -> None:
        self._profile = profile
        self._resolver = SectionResolver(profile)
        self._templated = TemplatedText(profile, self._resolver)
        self._lines = {
            fact: re.compile(
                rf"^[ \t]*(?:{'|'.join(map(re.escape, field.line))})[ \t]*:[ \t]*(?P<value>\S[^\n]*)\n?",
                re.IGNORECASE | re.MULTILINE,
            )
            for fact in Fact
            if (field := profile.fields[fact]).line
        }
        metadata = (Fact.VISIT_DATE, Fact.PROVIDER, Fact.PRACTICE)
        self._metadata_headers = {header for fact in metadata for header in profile.fields[fact].headers}

    def read(self, corpus: Corpus, patient_id: str) -> PatientFacts:
        """Return the facts of one patient, from the tables and the latest note."""
        notes = corpus.notes_of(patient_id)
        patient, latest = corpus.patients[patient_id], notes[-1]
        text = normalize_newlines(latest.text)
        offsets = original_offsets(latest.text)
        headings = self._resolver.headings(text)
        fields = self._fields(text, headings)
        in_note = {fact: field.value for fact, field in fields.items()}
        values = in_note | self._table_values(patient, latest, in_note.get(Fact.DOB))
        age = patient.age if patient.age is not None else self._age_from_notes(values, latest)
        if age is not None:
            values[Fact.AGE] = "90 or over" if patient.age_is_pooled else str(age)
        else:
            # Known to within a year: good enough for matching and description, not for a prompt.
            age = self._age_from_year(patient, values, latest)
        return PatientFacts(
            patient_id=patient_id,
            arm=patient.split,
            latest=latest,
            in_note={
                fact: NoteField(field.value, Span(offsets[field.span_chars.start], offsets[field.span_chars.end]))
                for fact, field in fields.items()
            },
            values=values,
            medications=self._medications(text, fields.get(Fact.MEDICATIONS)),
            headers=tuple(FollowingHeader(Span(*(offsets[at] for at in item.span_chars))) for item in headings),
            age=age,
            sex=patient.sex or _sex(values.get(Fact.SEX)),
            note_count=len(notes),
        )

    def _fields(self, text: str, headings: list[Heading]) -> dict[Fact, NoteField]:
        # Lines such as "patient: …" are searched in the note's opening only: further down they may be about others.
        opening = next(
            (item.span_chars.start for item in headings if item.header not in self._metadata_headers), len(text)
        )
        lines = {
            fact: match for fact, regex in self._lines.items() if (match := regex.search(text, 0, opening)) is not None
        }
        fields = {fact: NoteField(match["value"].strip(), Span(*match.span())) for fact, match in lines.items()}
        starts = sorted({item.span_chars.start for item in headings} | {match.start() for match in lines.values()})
        for fact in Fact:
            for wanted in self._profile.fields[fact].headers:
                found = self._under_header(text, headings, wanted, starts, many_lines=fact in _MANY_LINES)
                if found is not None:
                    fields.setdefault(fact, found)
                    break
        return fields

    @staticmethod
    def _under_header(
        text: str, headings: list[Heading], wanted: str, starts: list[int], *, many_lines: bool
    ) -> NoteField | None:
        for heading in headings:
            if heading.header != wanted:
                continue
            begin, body = heading.span_chars
            end = next((start for start in starts if start > begin), len(text))
            if not many_lines and (line := _FIRST_LINE.match(text, body, end)) is not None:
                end = line.end()
            value = text[body:end].strip()
            if value:
                return NoteField(value, Span(begin, end))
        return None

    def _table_values(self, patient: Patient, latest: Note, born_in_note: str | None) -> dict[Fact, str]:
        dates = self._profile.date_formats[0]
        known: dict[Fact, str | None] = {
            Fact.SEX: patient.sex,
            Fact.NAME: patient.name,
            Fact.DOB: patient.dob.strftime(dates) if patient.dob else self._birth_of_year(patient, born_in_note),
            Fact.MARITAL_STATUS: patient.marital_status,
            Fact.OCCUPATION: patient.occupation,
            Fact.CHILDREN: patient.children,
            Fact.VISIT_DATE: latest.visit_date.strftime(dates) if latest.visit_date else None,
            Fact.PROVIDER: latest.provider,
            Fact.PRACTICE: latest.practice,
        }
        return {fact: value for fact, value in known.items() if value}

    def _age_from_notes(self, values: Mapping[Fact, str], latest: Note) -> int | None:
        """Return the age that date of birth and visit date give, else the one the note states on a line of its own."""
        born = self._date(values.get(Fact.DOB))
        seen = latest.visit_date or self._date(values.get(Fact.VISIT_DATE))
        if born is None or seen is None or seen < born:
            stated = values.get(Fact.AGE, "")
            return int(stated) if stated.isascii() and stated.isdigit() and int(stated) <= 130 else None
        return seen.year - born.year - ((seen.month, seen.day) < (born.month, born.day))

    def _birth_of_year(self, patient: Patient, born_in_note: str | None) -> str | None:
        """Return the note's date of birth where it is of the year that the table gives alone, else that year."""
        own = self._date(born_in_note)
        if patient.birth_year is None or (own is not None and own.year == patient.birth_year):
            return born_in_note
        return str(patient.birth_year)

    def _age_from_year(self, patient: Patient, values: Mapping[Fact, str], latest: Note) -> int | None:
        """Return the age reached in the year of the latest visit; the patient may be a year younger."""
        seen = latest.visit_date or self._date(values.get(Fact.VISIT_DATE))
        if patient.birth_year is None or seen is None or seen.year < patient.birth_year:
            return None
        return seen.year - patient.birth_year

    def _date(self, text: str | None) -> date | None:
        for form in self._profile.date_formats:
            try:
                return datetime.strptime(text or "", form).date()  # noqa: DTZ007 (a calendar day has no zone)
            except ValueError:
                continue
        return None

    def _medications(self, text: str, field: NoteField | None) -> tuple[str, ...]:
        if field is None:
            return ()
        begin = text.index(field.value, field.span_chars.start)
        mask = self._templated.mask(text)
        found: list[str] = []
        for match in _ENTRY.finditer(text[begin : begin + len(field.value)]):
            entry = _BULLET.sub("", match[0]).strip()
            boilerplate = any(mask[begin + match.start() : begin + match.end()])
            if entry and not boilerplate and entry.lower().rstrip(".") not in _NO_MEDICATION:
                found.append(entry)
        return tuple(found)


def _sex(text: str | None) -> str | None:
    words = {"f": "female", "female": "female", "woman": "female", "m": "male", "male": "male", "man": "male"}
    return words.get((text or "").strip().lower().rstrip("."))


def read_facts(
    corpus: Corpus,
    profile: NoteProfile,
    patient_ids: Iterable[str],
    *,
    advance: Callable[[int], None] = lambda _: None,
) -> dict[str, PatientFacts]:
    """Return the facts of some patients of the corpus, sorted by id; calls `advance(1)` for each patient."""
    reader = FactReader(profile)
    facts: dict[str, PatientFacts] = {}
    for patient_id in sorted(patient_ids):
        facts[patient_id] = reader.read(corpus, patient_id)
        advance(1)
    return facts
