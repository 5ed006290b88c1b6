"""What a table and a figure are, and the order in which all of them go through the results.

Owns the order of tiers and arms. Works on suppressed results.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.disclosure import DisclosurePair
from clinaudit.reports.schema.estimate import Arm
from clinaudit.reports.schema.memorization import Memorization
from clinaudit.reports.schema.results import Results
from clinaudit.reports.wording.names import FACTS, join_words, tier_number, tier_title
from clinaudit.reports.wording.numbers import SUPPRESSED


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of plain text; the first column heads its row."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: How to read it, or what is left out; stands below the caption, and alone where there are no rows.
    note: str = ""


@dataclass(frozen=True, slots=True)
class TierOfAccess:
    """One tier of access, in plain words."""

    number: str
    title: str
    holder: str
    facts: str


def tiers_of_access() -> list[TierOfAccess]:
    """Return the six tiers: who holds what."""
    return [
        TierOfAccess(str(place), tier_title(tier.id), tier.holder, join_words([FACTS[fact] for fact in tier.facts]))
        for place, tier in enumerate(TIERS, 1)
    ]


def list_tiers(results: Results) -> list[str]:
    """Return the tiers at which anything was measured, in order of access; ids outside the six come last."""
    present = {*results.memorization, *(t for tiers in results.disclosure.by_diagnosis.values() for t in tiers)}
    known = [tier.id for tier in TIERS if tier.id in present]
    return [*known, *sorted(present - set(known))]


def disclosure_pairs(results: Results) -> Iterator[tuple[str, str, DisclosurePair]]:
    """Yield diagnosis, tier and the pair of arms for all that was measured, in the order of the report."""
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        yield from ((diagnosis, tier, tiers[tier]) for tier in list_tiers(results) if tier in tiers)


def memorization_summaries(results: Results) -> Iterator[tuple[str, Arm, Memorization]]:
    """Yield tier, arm and summary for all that was measured, in order of access."""
    for tier in list_tiers(results):
        for arm, summary in results.memorization.get(tier, {}).items():
            yield tier, arm, summary


def numbered_tier_title(tier: str) -> str:
    """Return a tier's number and title."""
    place = tier_number(tier)
    return tier if place == tier else f"{place} {tier_title(tier)}"


def join_suppressed_rows(rows: Sequence[tuple[str, ...]], *, names: int = 0) -> tuple[tuple[str, ...], ...]:
    """Join rows whose every cell is suppressed, where all before the column `names` is the same.

    The joined row stands where the first one stood, and names all of them in that column; the rest are cells.
    """
    joined: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        if _shows_nothing(row[names + 1 :]):
            joined.setdefault(row[:names], []).append(row[names])
    shown: list[tuple[str, ...]] = []
    for row in rows:
        if not _shows_nothing(row[names + 1 :]):
            shown.append(row)
        elif (all_names := joined.pop(row[:names], None)) is not None:
            shown.append((*row[:names], ", ".join(all_names), *row[names + 1 :]))
    return tuple(shown)


def _shows_nothing(cells: Sequence[str]) -> bool:
    return all(cell == SUPPRESSED for cell in cells)


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart ready for the page; `svg` is empty where there is nothing to draw, and the caption says why."""

    id: str
    title: str
    caption: str
    svg: str
    table: Table
