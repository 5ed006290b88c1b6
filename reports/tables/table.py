"""What a table and a figure are, and the order in which all of them go through the results."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Self, TypeVar

from clinaudit.reports.wording.names import tier_number, tier_title

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of plain text; the first column heads its row."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: How to read it, or what is left out; stands below the caption, and alone where there are no rows.
    note: str = ""

    @classmethod
    def of(
        cls, caption: str, items: Iterable[Item], columns: Mapping[str, Callable[[Item], str]], note: str = ""
    ) -> Self:
        """Return a table of a row an item; `columns` holds by its heading what stands in each column."""
        rows = tuple(tuple(cell(item) for cell in columns.values()) for item in items)
        return cls(caption, tuple(columns), rows, note)


def numbered_tier_title(tier: str) -> str:
    """Return a tier's number and title."""
    place = tier_number(tier)
    return tier_title(tier) if place == tier else f"{place} {tier_title(tier)}"
