"""The detector by rules: every recognizer, in the order of trust. It needs no model and no corpus."""

from collections.abc import Iterable
from typing import Final

from clinaudit.audit.pii.detectors.checked_codes import CheckedCodeRecognizer
from clinaudit.audit.pii.detectors.codes import LABELLED_CODES, UNLABELLED_CODES
from clinaudit.audit.pii.detectors.contacts import WEB_ADDRESSES, PhoneRecognizer
from clinaudit.audit.pii.detectors.dates import TIMES, AgeRecognizer, DateRecognizer
from clinaudit.audit.pii.detectors.demographics import AMOUNTS, BODY_MEASURES, DEMOGRAPHICS
from clinaudit.audit.pii.detectors.organizations import ORGANIZATIONS
from clinaudit.audit.pii.detectors.person_names import NameRecognizer
from clinaudit.audit.pii.detectors.places import COORDINATES, PLACES
from clinaudit.audit.pii.detectors.rule import Recognizer, Source
from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps
from clinaudit.audit.pii.plain_text import PlainText, read_past_leaders
from clinaudit.audit.pii.taxonomy import categories

#: Where two find the same characters, the first says what they are.
RECOGNIZERS: Final[tuple[Recognizer, ...]] = (
    *(LABELLED_CODES, WEB_ADDRESSES, PhoneRecognizer(), DateRecognizer(), CheckedCodeRecognizer(), AgeRecognizer()),
    *(NameRecognizer(), PLACES, COORDINATES, TIMES, ORGANIZATIONS, BODY_MEASURES, AMOUNTS, DEMOGRAPHICS),
    UNLABELLED_CODES,
)


class RuleDetector:
    """Finds identifying text by rules alone."""

    name = "rules"

    def __init__(self, kinds: Iterable[str] | None = None) -> None:
        """Look for some categories of the taxonomy alone, or for all; raises ValueError for one it does not have."""
        self.kinds = frozenset(categories() if kinds is None else kinds)
        unknown = self.kinds - set(categories())
        if unknown:
            raise ValueError(f"the taxonomy has no category {min(unknown)!r}")
        self._recognizers = [one for one in RECOGNIZERS if not one.categories.isdisjoint(self.kinds)]

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands."""
        plain = read_past_leaders(PlainText(text, range(len(text)), range(1, len(text) + 1)))
        source = Source.of(plain.text)
        # A span of a category that is not asked for still stands before the shorter ones that it holds.
        found: dict[tuple[int, int], EntitySpan] = {}
        for recognizer in self._recognizers:
            for span in recognizer.find(source):
                found.setdefault((span.start, span.end), span)
        spans = resolve_overlaps(plain.original_span(span) for span in found.values())
        return [span for span in spans if span.category in self.kinds]
