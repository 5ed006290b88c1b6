"""Section segmentation of a note: its headers, and the section of each character (paper 3.2.1, Appendix B).

Owns the detection of headers and the resolution of sections. Knows nothing of tokens or of templated text. Texts must
have line feeds only (`normalize_newlines`); offsets are characters of that text.
"""

import re
from dataclasses import dataclass

from clinaudit.templates.profile import PREAMBLE, UNASSIGNED, NoteProfile
from clinaudit.templates.spans import Span


@dataclass(frozen=True, slots=True)
class Heading:
    """One header in a note."""

    #: The header as the profile spells it, lower-case.
    header: str
    #: Characters from the header's first letter through its colon (or last letter, where it has none).
    span_chars: Span
    #: Section name of the profile, or `unassigned`.
    section: str


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
        self._profile = profile
        # Longest first: "past medical history / …" must win over "past medical history".
        headers = sorted(profile.headers, key=lambda header: (-len(header), header))
        with_colon = "|".join(map(re.escape, headers))
        # A header in capitals alone on its line needs no colon (as in ACI-Bench); single letters would be noise.
        bare = "|".join(re.escape(header.upper()) for header in headers if len(header) > 1)
        self._regex = re.compile(rf"^[ \t]*(?:(?P<colon>(?i:{with_colon}):)|(?P<bare>{bare})(?=[ \t]*$))", re.MULTILINE)

    def headings(self, text: str) -> list[Heading]:
        """Return the headers of `text` in order, body-system headers resolved to their parent."""
        found: list[Heading] = []
        parent = UNASSIGNED
        for match in self._regex.finditer(text):
            group = "colon" if match["colon"] else "bare"
            header = match[group].removesuffix(":").lower()
            parent = self._profile.parent_of.get(header, parent)
            section = parent if header in self._profile.ambiguous else self._profile.section_of[header]
            found.append(Heading(header, Span(*match.span(group)), section))
        return found

    def sections(self, text: str) -> list[Section]:
        """Cut `text` at its headers: consecutive sections that cover it without gaps, none of them empty."""
        cuts = [(PREAMBLE, 0)] + [(heading.section, heading.span_chars.start) for heading in self.headings(text)]
        ends = [start for _, start in cuts[1:]] + [len(text)]
        return [Section(name, Span(start, end)) for (name, start), end in zip(cuts, ends, strict=True) if start < end]
