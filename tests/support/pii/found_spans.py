"""What a detector or a group of rules finds in a text, as (category, text) pairs in the order of the text."""

from functools import cache

from clinaudit.audit.pii.detectors.rules import RuleRows, rule_groups
from clinaudit.audit.pii.masking.detection import Readings
from clinaudit.audit.pii.taxonomy import Detector, EntitySpan, resolve_overlaps


def found_by(detector: Detector, text: str) -> list[tuple[str, str]]:
    """Return the category and the text of each span that a detector returns."""
    return _written(detector.detect(text), text)


def found_in_readings(detector: Detector, text: str) -> list[tuple[str, str]]:
    """Return the same of the text in every way to read it."""
    return _written(Readings(text).detect(detector), text)


def recognized(group: str, text: str) -> list[tuple[str, str]]:
    """Return the same of one group of rules alone; of two spans that overlap the longer."""
    return _written(resolve_overlaps(found_in_group(group, text)), text)


def found_in_group(group: str, text: str) -> list[EntitySpan]:
    """Return the spans of one group of rules, by start; they may overlap."""
    return sorted(_rows_of(group).find(text))


@cache
def _rows_of(group: str) -> RuleRows:
    return RuleRows([one for one in rule_groups() if one.name == group])


def _written(spans: list[EntitySpan], text: str) -> list[tuple[str, str]]:
    return [(span.category, text[span.start : span.end]) for span in spans]
