"""A stretch of text that was found to be identifying, what finds one, and which stands where two overlap."""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, Protocol

from clinaudit.audit.pii.taxonomy import categories


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
    found = sorted(set(spans))
    if all(former.end <= latter.start for former, latter in pairwise(found)):
        return [span for span in found if span.start < span.end]
    table = categories()
    ranked = sorted(
        found,
        key=lambda span: (
            span.start - span.end,
            span.start,
            not table[span.category].direct,
            span.category,
            span.found_by,
        ),
    )
    kept: list[EntitySpan] = []
    covered = bytearray(max(span.end for span in ranked))
    for span in ranked:
        if span.start < span.end and covered.find(1, span.start, span.end) < 0:
            covered[span.start : span.end] = b"\1" * (span.end - span.start)
            kept.append(span)
    return sorted(kept)
