"""Exact tallies read in tests: a leaf's one number, and what only the evidence holds."""

from typing import TypeVar

from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.tally.leaves import Inside

T = TypeVar("T")


def inside(leaf: Inside[T]) -> T:
    """Return what stays in the evidence."""
    assert leaf.value is not None
    return leaf.value


def number(count: CountRange) -> int:
    """Return the one number of an exact count."""
    assert count.low == count.high
    return count.low


def numbers(cells: object) -> dict[str, int]:
    """Return the cells of an exact partition."""
    return {name: number(count) for name, count in cells.cells.items()}  # type: ignore[attr-defined]
