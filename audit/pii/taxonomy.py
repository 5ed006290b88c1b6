"""The taxonomy of identifying text: PII-Bench's 7 types and 55 categories (Table 11), and those of clinical text.

Owns the table of categories and which of HIPAA's identifiers each is, what a detector and a span that it finds are,
which span stands where two overlap, and several detectors as one. Knows nothing of how any category is found.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, get_args

from clinaudit.reports.schema.pii_bench import HipaaIdentifier

PiiType = Literal["PER", "CODE", "LOC", "ORG", "DEM", "DATETIME", "QUANTITY"]
PII_TYPES: Final[tuple[PiiType, ...]] = get_args(PiiType)


@dataclass(frozen=True, slots=True)
class Category:
    """One category of the taxonomy."""

    id: str
    name: str
    type: PiiType
    #: The paragraph of 45 CFR 164.514(b)(2)(i) that lists it; None where none does.
    hipaa: HipaaIdentifier | None
    #: A direct identifier is always masked; a quasi-identifier is kept where a question needs it (PII-Bench, A.1).
    direct: bool
    #: What stands in its place in a masked text, without number and brackets.
    tag: str
    #: The kind of value that is compared (`values.normal_form`), where it is not that of the type.
    value: str | None = None


@cache
def categories() -> Mapping[str, Category]:
    """Return every category by id: the paper's 55 first, in the order of its table, then the clinical ones."""
    rows: dict[str, dict[str, Any]] = tomllib.loads(files(__package__).joinpath("taxonomy.toml").read_text("utf-8"))
    return MappingProxyType(
        {key: Category(**{"id": key, "hipaa": None, "direct": False, **row}) for key, row in rows.items()}
    )


class EntitySpan(NamedTuple):
    """Characters `start` to `end` (half-open) of a text, and the category they were found to be.

    It does not hold the text itself, so that no log or traceback shows it.
    """

    start: int
    end: int
    #: An id of the taxonomy.
    category: str
    #: Which rule, list or model found it.
    found_by: str


class Detector(Protocol):
    """Finds identifying text."""

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands."""


def resolve_overlaps(spans: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Return spans of which none overlaps another, by start; does not depend on the order in which they come.

    Of two that overlap the longer stands, then the earlier, then a direct identifier before a quasi-identifier, then
    the first by category and finder. A span that fills only what a longer one left is not cut: it goes whole.
    """
    table = categories()
    found = sorted(set(spans))
    kept: list[EntitySpan] = []
    covered = bytearray(max((span.end for span in found), default=0))
    # Of equal rank they stay in the order of category and finder.
    for span in sorted(found, key=lambda one: (one.start - one.end, one.start, not table[one.category].direct)):
        if span.start < span.end and covered.find(1, span.start, span.end) < 0:
            covered[span.start : span.end] = b"\1" * (span.end - span.start)
            kept.append(span)
    return sorted(kept)


class UnionDetector:
    """Finds what any of some detectors does; where one errs, so does this one."""

    def __init__(self, detectors: Iterable[Detector]) -> None:
        """Join some detectors, those that are to be trusted more first."""
        self.detectors = tuple(detectors)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text, apart: the longer one, and of two at one place the earlier detector's."""
        found: dict[tuple[int, int], EntitySpan] = {}
        for detector in self.detectors:
            for span in detector.detect(text):
                found.setdefault((span.start, span.end), span)
        return resolve_overlaps(found.values())
