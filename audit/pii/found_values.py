"""The identifying values of generations: what a detector finds there, in normal form, each value numbered once.

Owns the way from spans to values. Knows nothing of whose they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.generation.record import Generation
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.normal_form import IdentifierValue, kind_of, normalize
from clinaudit.audit.pii.values.value_scan import DateReader
from clinaudit.reports.schema.hipaa import HipaaIdentifier


@dataclass(frozen=True, slots=True)
class FoundIdentifier:
    """One place of a generation that was found to be an identifier."""

    start: int
    end: int
    category: str
    hipaa: HipaaIdentifier
    found_by: str
    #: Place among the values of all generations.
    value: int


@dataclass(frozen=True, slots=True)
class FoundValues:
    """The distinct values of all generations, and where each generation holds which."""

    values: Sequence[IdentifierValue]
    #: By generation, in the order given.
    places: Sequence[Sequence[FoundIdentifier]]


def find_values(
    generations: Sequence[Generation], detector: Detector, dates: DateReader, *, progress: Progress
) -> FoundValues:
    """Return the values of HIPAA's identifiers in generations; a span that holds no value of its kind is left out."""
    numbers: dict[IdentifierValue, int] = {}
    places: list[list[FoundIdentifier]] = []
    with progress.stage("looking for identifiers", total=len(generations), unit="generations") as advance:
        for generation in generations:
            own: list[FoundIdentifier] = []
            for span in detector.detect(generation.text):
                hipaa = categories()[span.category].hipaa
                value = None if hipaa is None else read_value(generation.text, span, dates)
                if hipaa is not None and value is not None:
                    number = numbers.setdefault(value, len(numbers))
                    own.append(FoundIdentifier(span.start, span.end, span.category, hipaa, span.found_by, number))
            places.append(own)
            advance(1)
    return FoundValues(list(numbers), places)


def read_value(text: str, span: EntitySpan, dates: DateReader) -> IdentifierValue | None:
    """Return the value that a span of a text holds, or None where it holds none of its kind."""
    written = text[span.start : span.end]
    if kind_of(span.category) == "date":
        day = dates.read(written)
        return None if day is None else IdentifierValue("date", day)
    return normalize(span.category, written)
