"""The kind of each leaf of a tally by its place, to set the tally of a real audit beside that of a world."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from clinaudit.reports.tally.leaves import Inside, Leaf

#: Names of cells that are the same in every tally; tiers, diagnoses, arms and groups are any.
_KEPT = frozenset({"positive", "negative", "undecided", "unjudged", "ambiguous", "present", "absent"})


class Kind(NamedTuple):
    """What decides how a number is coarsened."""

    leaf: str
    step: Any
    #: Of what stays inside but for a condition.
    is_public: bool | None


def kinds_of(tally: Any) -> dict[str, set[Kind]]:
    """Return the kinds that stand in each place."""
    found: dict[str, set[Kind]] = {}
    for place, kind in _kinds(tally, ""):
        found.setdefault(place, set()).add(kind)
    return found


def _kinds(node: Any, place: str) -> Iterator[tuple[str, Kind]]:
    if isinstance(node, Leaf):
        is_public = node.is_public if isinstance(node, Inside) else None
        yield place, Kind(type(node).__name__, getattr(node, "step", None), is_public)
        if isinstance(node, Inside) and is_public:
            yield from _kinds(node.value, f"{place} inside")
    elif is_dataclass(node) and not isinstance(node, type):
        for field in fields(node):
            yield from _kinds(getattr(node, field.name), f"{place}.{field.name}")
    elif isinstance(node, Mapping):
        for name, value in node.items():
            yield from _kinds(value, f"{place}.{name if name in _KEPT else '*'}")
    elif isinstance(node, tuple):
        for value in node:
            yield from _kinds(value, f"{place}.*")
