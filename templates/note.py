"""A note as its template reads it: line feeds only, the section of each character, and what is templated of it."""

from dataclasses import dataclass

from clinaudit.templates.boilerplate import TermFinder, mask_boilerplate
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.sections import Section, SectionResolver, normalize_newlines
from clinaudit.templates.templated import TemplatedText, mask_spans


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note with line feeds only, with the section and the flags of each character."""

    note_id: str
    text: str
    sections: tuple[Section, ...]
    #: One byte for each character: 1 where templated by the paper's rules, which its tables count.
    templated: bytes
    #: The same: 1 where it is boilerplate, templated and telling nothing, which no headline counts.
    boilerplate: bytes


class NoteReader:
    """Reads whole notes under one profile; without `find_terms` no term of a diagnosis or drug tells."""

    def __init__(self, profile: NoteProfile, find_terms: TermFinder = lambda _: ()) -> None:
        self.profile = profile
        self._resolver = SectionResolver(profile)
        self._templated = TemplatedText(profile, self._resolver)
        self._find_terms = find_terms

    def read(self, note_id: str, text: str) -> NoteText:
        """Resolve a note's sections, and its templated and boilerplate characters."""
        normalized = normalize_newlines(text)
        by_rule = self._templated.spans_by_rule(normalized)
        return NoteText(
            note_id,
            normalized,
            tuple(self._resolver.sections(normalized)),
            bytes(mask_spans(len(normalized), by_rule.values())),
            mask_boilerplate(normalized, by_rule, self._find_terms),
        )
