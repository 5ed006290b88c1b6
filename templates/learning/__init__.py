"""A proposed note-template profile, learned from the notes of a corpus (docs/note-templates.md).

It is learned from one note a patient, with what the tables say. Below the threshold here nothing of a note may enter a
profile.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from math import ceil

#: A word of the notes enters a profile only where this share of the patients, and no fewer patients than this, have
#: it: a profile may be shared, and must hold the name or diagnosis of nobody.
MINIMUM_SHARE = 0.05
MINIMUM_PATIENTS = 5
#: A header that a shipped profile knows tells nothing of a patient: so many patients may have it alone.
MINIMUM_KNOWN = 2
#: What most notes have is a property of all.
MOST = 0.5


@dataclass(frozen=True, slots=True)
class LearningSample:
    """One patient's latest note."""

    #: Line feeds only.
    text: str
    #: Fact id -> what a table says about the patient or the visit.
    known: Mapping[str, str | date]


def enough(patients: int) -> int:
    """Return how many of `patients` must have a text for it to enter a profile."""
    return max(MINIMUM_PATIENTS, ceil(MINIMUM_SHARE * patients))


def share(found: int, patients: int) -> str:
    """Return a share of patients as a comment says it."""
    return f"{found / patients:.0%} of the patients"
