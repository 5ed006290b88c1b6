"""What a detector or a recognizer finds in a text, as (category, text) pairs in the order of the text."""

from clinaudit.audit.pii.detectors.rule import Recognizer, Source
from clinaudit.audit.pii.entity_span import Detector, resolve_overlaps


def found_by(detector: Detector, text: str) -> list[tuple[str, str]]:
    """Return the category and the text of each span that a detector returns."""
    return [(span.category, text[span.start : span.end]) for span in detector.detect(text)]


def recognized(recognizer: Recognizer, text: str) -> list[tuple[str, str]]:
    """Return the same of one recognizer alone; of two at one place its first."""
    first = {(span.start, span.end): span for span in reversed(list(recognizer.find(Source.of(text))))}
    spans = resolve_overlaps(first.values())
    return [(span.category, text[span.start : span.end]) for span in spans]
