"""A detector that reads a text as plainly as its reader does, before another detector looks through it.

For text that may hide what it holds: look-alikes, invisible marks, encoding, numbers broken over lines.
"""

from clinaudit.audit.pii.entity_span import Detector, EntitySpan, resolve_overlaps
from clinaudit.audit.pii.plain_text import decoded_stretches, read_joined, read_plainly


class PlainReadingDetector:
    """Finds what a detector does in a text as given, in its plain reading, and in what it hides encoded."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self.name = detector.name

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of the original text by start, none of them overlapping another; the longer one stands.

        An encoded stretch in which anything is found is one span, of the category that is found first in it.
        """
        found = list(self._detector.detect(text))
        for piece in read_plainly(text).pieces():
            seen = {text[piece.starts[0] : piece.ends[-1]] if piece.text else ""}
            for reading in (piece, read_joined(piece)):
                if reading.text not in seen:
                    seen.add(reading.text)
                    spans = [reading.original_span(span) for span in self._detector.detect(reading.text)]
                    found += [span for span in spans if not _is_column(text, span)]
        for stretch in decoded_stretches(text):
            # It may hide another one, which is shorter.
            hidden = self.detect(stretch.text)
            if hidden:
                found.append(EntitySpan(stretch.start, stretch.end, hidden[0].category, hidden[0].found_by))
        return resolve_overlaps(found)


def _is_column(text: str, span: EntitySpan) -> bool:
    """Whether a code without a label runs over lines: values one below the other, read as one number."""
    return span.category == "other_code" and "\n" in text[span.start : span.end]
