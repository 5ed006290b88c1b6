"""A stretch of text that was found to be identifying, and what finds one."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, order=True)
class EntitySpan:
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

    @property
    def name(self) -> str:
        """The system's name in tables and files."""

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands."""
