"""Several detectors as one, and what a detector finds in every way to read a text, and in what it hides."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.plain_text import decoded_stretches, joins, normalize_text
from clinaudit.audit.pii.taxonomy import Detector, EntitySpan, resolve_overlaps

_RE: Final = Patterns(__name__)


class UnionDetector:
    """Finds what any of some detectors does; where one errs, so does this one."""

    def __init__(self, detectors: Iterable[Detector]) -> None:
        """Join some detectors, those that are to be trusted more first."""
        self.detectors = tuple(detectors)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another.

        The longer one stands; of two at the same place, that of the earlier detector.
        """
        found: dict[tuple[int, int], EntitySpan] = {}
        for detector in self.detectors:
            for span in detector.detect(text):
                found.setdefault((span.start, span.end), span)
        return resolve_overlaps(found.values())


class Readings:
    """How a text can be read beside how it is given: plainly, past the breaks in its numbers, and what it hides."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.plain = normalize_text(text)
        pieces = self.plain.pieces() if self.plain.text != text else ()
        changed = (one for one in pieces if one.text and one.text != text[one.starts[0] : one.ends[-1]])
        self.others = [*changed, *self.plain.around(joins(self.plain.text))]
        self._hidden = list(decoded_stretches(text))

    def detect(self, detector: Detector) -> list[EntitySpan]:
        """Return what a detector finds in any of them: spans of the text by start, of which none overlaps another.

        The longer one stands. An encoded stretch in which anything is found is one span, of the category that is found
        first in it.
        """
        text = self.text
        found = list(detector.detect(text))
        for reading in self.others:
            spans = [reading.original_span(span) for span in detector.detect(reading.text)]
            ends = {span.end for span in found}
            for span in spans:
                # A code without a label that runs over lines or cells: values of a table, read as one number.
                if span.category != "other_code" or not re.search(r"[\n\t]", text[span.start : span.end]):
                    found += _by_number(text, span, ends)
        for stretch in self._hidden:
            # It may hide another one, which is shorter.
            hidden = Readings(stretch.text).detect(detector)
            if hidden:
                found.append(hidden[0]._replace(start=stretch.start, end=stretch.end))
        return resolve_overlaps(found)


def _by_number(text: str, span: EntitySpan, ends: Collection[int]) -> Iterator[EntitySpan]:
    """Yield a span, or what is left of one that runs over a line end at which another found span ends already.

    "NHS No 350 313 1201" over "747 High Street" is a number and an address.
    """
    found = _RE.line_end.search(text, span.start, span.end)
    if found is None or found.start() not in ends:
        yield span
        return
    is_whole = sum(map(str.isdigit, text[span.start : found.start()])) >= 7
    if not (_RE.house.match(text, found.end()) or (is_whole and _RE.count.match(text, found.end()))):
        yield span._replace(start=found.end())
