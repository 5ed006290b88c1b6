"""Records of the evidence filled with made-up numbers, whatever fields they have."""

import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import Record
from clinaudit.reports.tally.leaves import Inside, Leaf

AnyRecord = TypeVar("AnyRecord", bound=Record)
AnyNode = TypeVar("AnyNode")
#: Evidence that is still to be filled.
NOT_FILLED: Final[Inside[Any]] = Inside(None)


def fill_record(kind: type[AnyRecord], first: int) -> AnyRecord:
    """Return a record whose numbers count on from `first`; every list and every mapping has an entry."""
    filled: AnyRecord = _fill(kind, count(first))
    return filled


def fill_evidence(node: AnyNode, first: int) -> AnyNode:
    """Return a tally whose evidence is filled wherever there is none, its numbers counting on from `first`."""
    numbers = count(first)

    def fill(part: Any) -> Any:
        if isinstance(part, Inside):
            return replace(part, value=fill(part.value))
        if is_dataclass(part) and not isinstance(part, Leaf | type):
            hints = get_type_hints(type(part))
            return replace(part, **{of.name: of_field(getattr(part, of.name), hints[of.name]) for of in fields(part)})
        if isinstance(part, Mapping):
            return {name: fill(item) for name, item in part.items()}
        return tuple(map(fill, part)) if isinstance(part, tuple) else part

    def of_field(part: Any, hint: Any) -> Any:
        (kind,) = get_args(hint)[:1] or (None,)
        is_empty = part == NOT_FILLED and isinstance(kind, type) and issubclass(kind, Record)
        return Inside(_fill(kind, numbers)) if is_empty else fill(part)

    filled: AnyNode = fill(node)
    return filled


def _fill(kind: Any, numbers: Iterator[int]) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (int, float):
        return kind(next(numbers))
    if kind is str:
        return "any"
    if isinstance(kind, type) and issubclass(kind, Estimate):
        share = (next(numbers) % 997) / 997
        return kind(value=share, low=share / 2, high=(1 + share) / 2, n=next(numbers))
    if isinstance(kind, type) and issubclass(kind, Record):
        return kind(**{name: _fill(field.annotation, numbers) for name, field in kind.model_fields.items()})
    if origin is Literal:
        return inner[0]
    if origin in (Union, types.UnionType):
        return _fill(inner[0], numbers)
    if origin is dict:
        names = get_args(inner[0]) or ("any",)
        return {name: _fill(inner[1], numbers) for name in names}
    if origin is list:
        return [_fill(inner[0], numbers)]
    raise TypeError(f"cannot fill {kind}")
