"""The detector by rules: every recognizer, in the order of trust. It needs no model and no corpus."""

from collections.abc import Collection, Iterable

from clinaudit.audit.pii.detectors.rule import Recognizer, Source
from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps
from clinaudit.audit.pii.plain_text import PlainText, read_past_leaders
from clinaudit.audit.pii.taxonomy import categories


def all_recognizers(kinds: Collection[str] | None = None) -> tuple[Recognizer, ...]:
    """Return every recognizer, or those that can find one of some categories."""
    from clinaudit.audit.pii.detectors.checked_codes import CheckedCodeRecognizer
    from clinaudit.audit.pii.detectors.codes import labelled_codes, unlabelled_codes
    from clinaudit.audit.pii.detectors.contacts import PhoneRecognizer, web_addresses
    from clinaudit.audit.pii.detectors.dates import AgeRecognizer, DateRecognizer, times
    from clinaudit.audit.pii.detectors.demographics import amounts, body_measures, demographics
    from clinaudit.audit.pii.detectors.organizations import organizations
    from clinaudit.audit.pii.detectors.person_names import NameRecognizer
    from clinaudit.audit.pii.detectors.places import coordinates, places

    found: tuple[Recognizer, ...] = (
        labelled_codes(),
        web_addresses(),
        PhoneRecognizer(),
        DateRecognizer(),
        CheckedCodeRecognizer(),
        AgeRecognizer(),
        NameRecognizer(),
        places(),
        coordinates(),
        times(),
        organizations(),
        body_measures(),
        amounts(),
        demographics(),
        unlabelled_codes(),
    )
    return tuple(item for item in found if kinds is None or not item.categories.isdisjoint(kinds))


class RuleDetector:
    """Finds identifying text by rules alone; needs no model and no corpus."""

    name = "rules"

    def __init__(self, kinds: Iterable[str] | None = None) -> None:
        """Look for some categories of the taxonomy alone, or for all; raises ValueError for one it does not have."""
        self.kinds = None if kinds is None else frozenset(kinds)
        unknown = (self.kinds or frozenset()) - set(categories())
        if unknown:
            raise ValueError(f"the taxonomy has no category {min(unknown)!r}")
        self._recognizers = all_recognizers(self.kinds)

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
        return spans if self.kinds is None else [span for span in spans if span.category in self.kinds]
