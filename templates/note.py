"""A note as its template reads it: line feeds only, the section and the templated flag of each character."""

from dataclasses import dataclass

from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.sections import Section, SectionResolver, normalize_newlines
from clinaudit.templates.templated import TemplatedText


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note with line feeds only, with the section and the templated flag of each character."""

    note_id: str
    text: str
    sections: tuple[Section, ...]
    #: One byte for each character: 1 where templated.
    templated: bytes


class NoteReader:
    """Reads whole notes under one profile."""

    def __init__(self, profile: NoteProfile) -> None:
        self.profile = profile
        self._resolver = SectionResolver(profile)
        self._templated = TemplatedText(profile, self._resolver)

    def templated(self, text: str) -> bytes:
        """Return one byte for each character of a note with line feeds only: 1 where templated."""
        return self._templated.mask(text)

    def read(self, note_id: str, text: str) -> NoteText:
        """Resolve a note's sections and templated characters."""
        normalized = normalize_newlines(text)
        sections = tuple(self._resolver.sections(normalized))
        return NoteText(note_id, normalized, sections, self._templated.mask(normalized))
