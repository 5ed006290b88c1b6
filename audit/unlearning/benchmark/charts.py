"""A patient's notes cut at the headers of the note template, as categories and questions read them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.templates.note import NoteReader, normalize_newlines
from clinaudit.templates.profile import NoteProfile

COMPLAINT_SECTIONS: Final = frozenset({"Chief Complaint"})
ASSESSMENT_SECTIONS: Final = frozenset(
    {"Assessment", "Assessment and Plan", "Primary Diagnosis", "Discharge Diagnosis"}
)
#: A title is one sentence: of a longer assessment, its beginning.
_TITLE_CHARS: Final = 300
#: Characters of notes in one question: some 25,000 tokens.
MOST_NOTE_CHARS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Part:
    """What stands under one header of a note."""

    #: Section and header, as the note template names them.
    section: str
    header: str
    #: Without the header, stripped; lines end in line feeds.
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChartEntry:
    """One note, cut at its headers."""

    note_id: str
    #: As it stands in the corpus.
    text: str = field(repr=False)
    parts: tuple[Part, ...]

    def of_sections(self, sections: frozenset[str]) -> Iterator[Part]:
        """Yield the parts of some sections that hold anything."""
        return (part for part in self.parts if part.section in sections and part.text)

    def complaint(self) -> str | None:
        """Return the chief complaint, one line of it; None where the note has none."""
        lines = (part.text.splitlines()[0].strip().rstrip(".;,") for part in self.of_sections(COMPLAINT_SECTIONS))
        return next(lines, None)


@dataclass(frozen=True, slots=True)
class Chart:
    """All notes of a patient, in order of time."""

    patient_id: str
    notes: tuple[ChartEntry, ...]

    @property
    def texts(self) -> list[str]:
        """The texts of the notes."""
        return [note.text for note in self.notes]

    def title(self) -> str:
        """Return chief complaint and assessment of the latest note that has either; empty where none has."""
        for note in reversed(self.notes):
            held = [" ".join(part.text.split()) for part in note.of_sections(COMPLAINT_SECTIONS | ASSESSMENT_SECTIONS)]
            if held:
                return "; ".join(held)[:_TITLE_CHARS]
        return ""


def read_charts(corpus: Corpus, profile: NoteProfile) -> dict[str, Chart]:
    """Return the chart of each patient of a corpus under a note template."""
    reader = NoteReader(profile)

    def chart_of(patient_id: str) -> Chart:
        notes = ((note.note_id, note.text) for note in corpus.notes_of(patient_id))
        return Chart(patient_id, tuple(ChartEntry(note, text, tuple(_parts(text, reader))) for note, text in notes))

    return {patient_id: chart_of(patient_id) for patient_id in corpus.patients}


def _parts(text: str, reader: NoteReader) -> Iterator[Part]:
    text = normalize_newlines(text)
    headings = reader.read(text).headings
    ends = [*(heading.span_chars.start for heading in headings), len(text)][1:]
    for heading, end in zip(headings, ends, strict=True):
        yield Part(heading.section, heading.header, text[heading.span_chars.end : end].strip(" \t\n:"))


def notes_to_send(texts: Sequence[str], *, facts: Collection[str] = ()) -> list[str]:
    """Return the notes that there is room for, in their order: those with one of the facts first, then the latest."""
    latest_first = range(len(texts) - 1, -1, -1)
    holding = [place for place in latest_first if any(fact in texts[place] for fact in facts)]
    sent: dict[int, str] = {}
    room = MOST_NOTE_CHARS
    for place in dict.fromkeys((*holding, *latest_first)):
        if sent and len(texts[place]) > room:
            break
        sent[place] = texts[place][:MOST_NOTE_CHARS]
        room -= len(sent[place])
    return [sent[place] for place in sorted(sent)]
