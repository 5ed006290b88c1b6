"""The headers that stand in a note, and the section that each opens (paper 3.2.1, Appendix B, Table 2).

Owns the resolution of headers to sections. Knows nothing of layouts or facts. Texts must have line feeds only
(`normalize_newlines`); offsets are characters of that text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from clinaudit.templates.header_styles import HeaderFinder
from clinaudit.templates.names import UNASSIGNED
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.spans import Span


@dataclass(frozen=True, slots=True)
class Heading:
    """One header in a note."""

    #: The header as the profile spells it, lower-case.
    header: str
    #: Characters from the header's first letter or mark through its last: its colon, where it has one.
    span_chars: Span
    #: Section name of the profile, or `unassigned`.
    section: str


class HeadingReader:
    """Finds a profile's headers where they are set off in some of the header styles."""

    def __init__(self, profile: NoteProfile, styles: Sequence[str]) -> None:
        self._profile = profile
        self._finder = HeaderFinder(profile.headers, styles)

    def read(self, text: str) -> list[Heading]:
        """Return the headers of `text` in order, body-system headers resolved to their parent."""
        found: list[Heading] = []
        parent = UNASSIGNED
        for header, span in self._finder.find(text):
            parent = self._profile.parent_of.get(header, parent)
            section = parent if header in self._profile.ambiguous else self._profile.section_of[header]
            found.append(Heading(header, span, section))
        return found
