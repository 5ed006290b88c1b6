"""Section segmentation of a note: the section of each character (paper 3.2.1, Appendix B).

Owns the resolution of sections. Knows nothing of tokens or of templated text. Texts must have line feeds only
(`normalize_newlines`); offsets are characters of that text.
"""

from dataclasses import dataclass

from clinaudit.templates.headings import Heading
from clinaudit.templates.layouts import LayoutReader
from clinaudit.templates.names import PREAMBLE
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.spans import Span


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
