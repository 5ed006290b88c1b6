"""Records of the evidence filled with made-up numbers, whatever fields they have."""

import types
from collections.abc import Iterator
from itertools import count
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import Record

AnyRecord = TypeVar("AnyRecord", bound=Record)


def fill_record(kind: type[AnyRecord], first: int) -> AnyRecord:
    """Return a record whose numbers count on from `first`; every list and every mapping has an entry."""
    filled: AnyRecord = _fill(kind, count(first))
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
