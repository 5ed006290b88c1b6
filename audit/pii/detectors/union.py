"""Several detectors as one: what any of them finds."""

from collections.abc import Iterable

from clinaudit.audit.pii.entity_span import Detector, EntitySpan, resolve_overlaps


class UnionDetector:
    """Finds what any of some detectors does; where one errs, so does this one."""

    def __init__(self, detectors: Iterable[Detector]) -> None:
        """Join some detectors, those that are to be trusted more first; raises ValueError for none."""
        self.detectors = tuple(detectors)
        if not self.detectors:
            raise ValueError("a union of no detectors finds nothing")
        self.name = " + ".join(detector.name for detector in self.detectors)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another.

        The longer one stands; of two at the same place, that of the earlier detector.
        """
        found: dict[tuple[int, int], EntitySpan] = {}
        for detector in self.detectors:
            for span in detector.detect(text):
                found.setdefault((span.start, span.end), span)
        return resolve_overlaps(found.values())
