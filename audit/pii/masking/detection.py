"""All that some detectors find in a text, as it stands and plainly read: nothing that any of them saw is dropped.

Knows nothing of what is done with it.
"""

from collections.abc import Iterable

from clinaudit.audit.pii.detectors.plainly import PlainReadingDetector
from clinaudit.audit.pii.entity_span import Detector, EntitySpan


class EverySpan:
    """Finds what any of its detectors does; unlike a detector's own, the spans may overlap."""

    def __init__(self, detectors: Iterable[Detector]) -> None:
        self._detectors = tuple(map(PlainReadingDetector, detectors))
        self.name = " + ".join(detector.name for detector in self._detectors)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start."""
        return sorted({span for detector in self._detectors for span in detector.detect(text)})
