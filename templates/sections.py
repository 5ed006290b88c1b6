"""The layout of a note, and the section of each of its characters (paper 3.2.1, Appendix B).

A note *fits* a layout where its signature, if it has one, matches anywhere in the note, and each of its required facts
is found. Texts must have line feeds only (`normalize_newlines`); offsets are characters of that text.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from clinaudit.templates.names import NO_LAYOUT, PREAMBLE
from clinaudit.templates.note_fields import FieldFinder, FoundField, Heading, HeadingReader, NoteFields
from clinaudit.templates.profile import Layout, NoteProfile
from clinaudit.templates.spans import Span


@dataclass(frozen=True, slots=True)
class _LaidOutNote:
    """A note as one layout reads it."""

    layout: Layout
    #: Whether the note fits the layout; one that fits none is read under the last.
    fits: bool
    headings: tuple[Heading, ...]
    found: NoteFields

    @property
    def fields(self) -> Mapping[str, FoundField]:
        """All facts by id, with where they stand."""
        return {**self.found.in_prose, **self.found.placed}

    @property
    def layout_name(self) -> str:
        """The layout's name, or `NO_LAYOUT`."""
        return self.layout.name if self.fits else NO_LAYOUT


class LayoutReader:
    """Reads notes (line feeds only) under the first layout of a profile that fits."""

    def __init__(self, profile: NoteProfile) -> None:
        readers = {styles: HeadingReader(profile, styles) for styles in {at.header_styles for at in profile.layouts}}
        self._layouts = [(at, readers[at.header_styles], FieldFinder(at)) for at in profile.layouts]
        #: The reader of headings, where all layouts set headers off alike and no choice is needed for them.
        self._one_reader = next(iter(readers.values())) if len(readers) == 1 else None

    def headings(self, text: str) -> list[Heading]:
        """Return the headers of a note."""
        return self._one_reader.read(text) if self._one_reader else list(self.read(text).headings)

    def read(self, text: str) -> _LaidOutNote:
        """Return the note's headers and facts under the layout that it has."""
        *others, default = self._layouts
        for layout, reader, finder in others:
            if layout.signature is None or layout.signature.found_in(text):
                note = _read(text, layout, reader, finder)
                if note.fits:
                    return note
        return _read(text, *default)


def _read(text: str, layout: Layout, reader: HeadingReader, finder: FieldFinder) -> _LaidOutNote:
    headings = reader.read(text)
    found = finder.find(text, headings)
    signed = layout.signature is None or layout.signature.found_in(text)
    fits = signed and found.placed.keys() | found.in_prose.keys() >= set(layout.required)
    return _LaidOutNote(layout, fits, tuple(headings), found)


@dataclass(frozen=True, slots=True)
class Section:
    """The part of a note from one header (or the start) to the next header (or the end)."""

    name: str
    span_chars: Span


def normalize_newlines(text: str) -> str:
    r"""Read `\r\n` and `\r` as `\n` (docs/methods.md, section 2)."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def original_offsets(text: str) -> list[int]:
    """Return for each character of `normalize_newlines(text)`, and for its end, where it starts in `text`."""
    offsets = [index for index, char in enumerate(text) if not (char == "\n" and index and text[index - 1] == "\r")]
    return [*offsets, len(text)]


class SectionResolver:
    """Finds a profile's headers in notes, and the section of each character."""

    def __init__(self, profile: NoteProfile) -> None:
        self._layouts = LayoutReader(profile)

    def headings(self, text: str) -> list[Heading]:
        """Return the headers of `text` in order, body-system headers resolved to their parent."""
        return self._layouts.headings(text)

    def sections(self, text: str) -> list[Section]:
        """Cut `text` at its headers: consecutive sections that cover it without gaps, none of them empty."""
        cuts = [(PREAMBLE, 0)] + [(heading.section, heading.span_chars.start) for heading in self.headings(text)]
        ends = [start for _, start in cuts[1:]] + [len(text)]
        return [Section(name, Span(start, end)) for (name, start), end in zip(cuts, ends, strict=True) if start < end]
