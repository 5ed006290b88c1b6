"""All that some detectors find in a text, as it stands and read in other ways: nothing that any of them saw is dropped.

Owns readings beside the plain one: words that are spelled out with blanks, sentences and words that run on over lines,
values that dots lead to.
Knows nothing of what is done with what is found.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from clinaudit.audit.pii.detectors.plainly import PlainReadingDetector
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.masking.spoken_numbers import read_spoken
from clinaudit.audit.pii.plain_text import PlainText, read_past_leaders, read_plainly

#: Single characters with blanks between them ("1 2 3 - 4 5"); a blank that was one itself stands as three.
_SPELLED_OUT: Final = re.compile(r"(?<!\S)(?:\S[ ]{1,3}){4,}\S(?!\w)")
_BLANKS: Final = re.compile(r"(?<=\S)[ ](?=\S)|(?<=\S)[ ](?=[ ]{2})|(?<=[ ]{2})[ ](?=\S)|(?<=\S[ ])[ ](?=\S)")
#: A line that ends within a sentence: no label, no heading and no item begins the next one.
_LINE_END: Final = re.compile(r"(?<=[^\W\d_,])[ \t]*\r?\n[ \t]*(?=[^\W\d_])(?![^\n:]{1,40}:)(?![^a-z\n]{3,}(?:\n|$))")
#: A line end that may stand within a word; where it does not, the words that it parts are read as one that nobody has.
_BROKEN_WORD: Final = re.compile(r"(?<=[^\W\d_])\r?\n(?=[a-z])")
#: Control characters, some of which part the fields of an export: read as nothing, they glue two names together.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
#: A label and its number in one word ("DOB1950-11-11"), and underscores for blanks ("dob_1950-11-11").
_GLUED: Final = re.compile(
    r"(?<![^\W_])(?i:d\.?o\.?b|yob|born|dod|dos|mrn|ssn|ss|tel|ph|phone|cell|mobile|fax|pager|acct|account|id|zip|postcode|adm"
    r"|admitted|admit|dc|discharged|visit|seen|on|date|dated|mbi|hicn?|cin|npi|dea|vin|policy|member|age|aged|record|chart|case)"
    r"_?(?=[\d(+])|(?<=[^\W_])_+(?=[^\W_])"
)
#: Marks of HTML and Markdown, which show nothing by themselves.
_MARKUP: Final = re.compile(
    r"</?[A-Za-z][A-Za-z0-9]{0,10}(?:\s[^<>\n]{0,200})?/?>|\*{1,3}|`+|~~|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)"
)


class EverySpan:
    """Finds what any of its detectors does; unlike a detector's own, the spans may overlap."""

    def __init__(self, detectors: Iterable[Detector], *, by_line: Iterable[Detector] = ()) -> None:
        """`by_line` go by the lines of a text: they are not shown the readings in which these run on."""
        self._detectors = tuple(detectors)
        self._by_line = tuple(by_line)
        self.name = " + ".join(detector.name for detector in (*self._detectors, *self._by_line))

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start."""
        plain = read_plainly(text)
        found = {span for one in self._detectors for span in PlainReadingDetector(one).detect(text)}
        for detector in self._by_line:
            found.update(detector.detect(text))
            found.update(plain.original_span(span) for span in detector.detect(plain.text))
        if _CONTROL.search(text):
            fields = _CONTROL.sub(" ", text)
            found.update(span for one in (*self._detectors, *self._by_line) for span in one.detect(fields))
        for piece in plain.pieces():
            for reading in _other_readings(piece):
                found.update(self._found_in(reading))
        # Where a name ends a line the next word is none of it: this reading counts where no other finds anything.
        covered = bytearray(len(text))
        for span in found:
            covered[span.start : span.end] = b"\1" * (span.end - span.start)
        for piece in plain.pieces():
            if broken := list(_BROKEN_WORD.finditer(piece.text)):
                found.update(
                    span for span in self._found_in(piece.without(broken)) if not any(covered[span.start : span.end])
                )
        return sorted(found)

    def _found_in(self, reading: PlainText) -> list[EntitySpan]:
        return [reading.original_span(span) for one in self._detectors for span in one.detect(reading.text)]


def _other_readings(plain: PlainText) -> Iterator[PlainText]:
    """Yield readings that differ from the plain one."""
    spelled = [
        blank
        for found in _SPELLED_OUT.finditer(plain.text)
        for blank in _BLANKS.finditer(plain.text, found.start(), found.end())
    ]
    if spelled:
        yield plain.without(spelled)
    if _LINE_END.search(plain.text):
        yield _run_on(plain)
    if _GLUED.search(plain.text):
        yield _apart(plain)
    led = read_past_leaders(plain)
    if led is not plain:
        yield led
    spoken = read_spoken(plain)
    if spoken is not None:
        yield spoken
    marks = list(_MARKUP.finditer(plain.text))
    if marks:
        yield plain.without(marks)


def _apart(plain: PlainText) -> PlainText:
    """Return a text with a blank between a label and the number glued to it, and for underscores in words."""
    # The blank stands for the last character before it: no span begins or ends with one.
    ends = ((found.end() - found[0].endswith("_"), found.end()) for found in _GLUED.finditer(plain.text))
    return _with_blanks(plain, ((start, end, start - 1) for start, end in ends))


def _run_on(plain: PlainText) -> PlainText:
    """Return a text with a blank for each line end within a sentence."""
    return _with_blanks(plain, ((*found.span(), found.start()) for found in _LINE_END.finditer(plain.text)))


def _with_blanks(plain: PlainText, blanks: Iterable[tuple[int, int, int]]) -> PlainText:
    """Return a text with a blank in the place of some stretches, which may be empty.

    Each is its start, its end, and the character that the blank stands for in the original.
    """
    kept: list[int] = []
    characters: list[str] = []
    place = 0
    for start, end, stands_for in blanks:
        kept += [*range(place, start), stands_for]
        characters += [*plain.text[place:start], " "]
        place = end
    kept += range(place, len(plain.text))
    characters.append(plain.text[place:])
    return PlainText(
        "".join(characters), tuple(plain.starts[one] for one in kept), tuple(plain.ends[one] for one in kept)
    )
