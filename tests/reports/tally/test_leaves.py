"""Every number of a tally is a leaf, and no leaf is coarsened twice, so that nothing is published without a kind."""

import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from support.results.drawn_worlds import draw_world
from support.results.world_tally import tally_of

from clinaudit.reports.schema.memorization import RefusalsEvidence
from clinaudit.reports.tally.classes import Interval
from clinaudit.reports.tally.leaves import (
    Alone,
    Count,
    CountWithPart,
    Exactness,
    Fraction,
    Groups,
    Inside,
    Leaf,
    OfBothSplits,
    OfText,
    Partition,
    PartitionWithMean,
    Rate,
    Setting,
    SharesOfText,
    StandardizedDifference,
    coarsen,
)
from clinaudit.reports.tally.tally import RenderingTally, Tally, publishable

#: What tells of nobody and is no leaf.
WORDS = (str, bool, type(None))


def numbers_of_schema(kind: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what stands at each end of the schema of a record, with its path."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal or kind in WORDS:
        return
    if isinstance(origin or kind, type) and issubclass(origin or kind, Leaf):
        yield path, origin or kind
        # What may be published of what stays inside has kinds as well.
        if origin is Inside and (is_dataclass(inner[0]) or get_origin(inner[0])):
            yield from numbers_of_schema(inner[0], path)
    elif is_dataclass(kind):
        for name, hint in get_type_hints(kind).items():
            yield from numbers_of_schema(hint, f"{path}.{name}")
    elif origin in (Union, types.UnionType):
        for one in inner:
            yield from numbers_of_schema(one, path)
    elif origin is tuple or (isinstance(origin, type) and issubclass(origin, Mapping)):
        for one in inner:
            if one is not Ellipsis:
                yield from numbers_of_schema(one, f"{path}[]")
    else:
        yield path, kind


def test_every_number_of_the_schema_is_a_leaf() -> None:
    ends = list(numbers_of_schema(Tally))
    assert len(ends) > 100
    assert [(path, kind) for path, kind in ends if not issubclass(kind, Leaf)] == []


@cache
def whole_tally() -> Tally:
    """Return a tally with a value in every field."""
    tally = tally_of(draw_world(np.random.default_rng(2)))
    rendered = RenderingTally(tally.memorization, tally.disclosure, tally.identifiers)
    return replace(
        tally,
        renderings={"chat": rendered},
        not_scored="any",
        release="api",
        decision=Setting(1),
    )


def empty_fields(node: Any, path: str = "") -> Iterator[str]:
    """Yield the fields of a tally that hold nothing."""
    if is_dataclass(node) and not isinstance(node, Leaf):
        for field in fields(node):  # type: ignore[arg-type]
            value = getattr(node, field.name)
            if value is None or (isinstance(value, Mapping) and not value):
                yield f"{path}.{field.name}"
            yield from empty_fields(value, f"{path}.{field.name}")
    elif isinstance(node, Mapping):
        for name, value in node.items():
            yield from empty_fields(value, f"{path}.{name}")


def test_every_field_of_a_drawn_world_is_filled() -> None:
    """A leaf that no world holds would pass every attack unseen."""
    # A cohort of a world has all the sets that were asked for.
    assert {path.rsplit(".", 1)[1] for path in empty_fields(whole_tally())} <= {"reason"}


def with_bare_numbers(node: Any, number: float) -> Iterator[tuple[str, Any]]:
    """Yield copies of a tally in each of which one leaf is a bare number, with the leaf's path."""
    if isinstance(node, Inside) and node.is_public and node.value is not None:
        for path, changed in with_bare_numbers(node.value, number):
            yield path, replace(node, value=changed)
    if isinstance(node, Leaf):
        yield "", number
    elif is_dataclass(node):
        for field in fields(node):
            for path, changed in with_bare_numbers(getattr(node, field.name), number):
                yield f".{field.name}{path}", replace(node, **{field.name: changed})  # type: ignore[type-var]
    elif isinstance(node, Mapping):
        for name, item in node.items():
            for path, changed in with_bare_numbers(item, number):
                yield f".{name}{path}", {**node, name: changed}
    elif isinstance(node, tuple):
        for place, item in enumerate(node):
            for path, changed in with_bare_numbers(item, number):
                yield f".{place}{path}", (*node[:place], changed, *node[place + 1 :])


@pytest.mark.parametrize("part", [field.name for field in fields(Tally) if field.name not in ("exactness", "narrowed")])
def test_a_bare_number_in_place_of_any_leaf_cannot_be_coarsened(part: str) -> None:
    of_part = getattr(whole_tally(), part)
    paths = []
    for number in (3, 0.5):
        for path, changed in with_bare_numbers(of_part, number):
            paths.append(path)
            with pytest.raises(TypeError, match="must be a leaf"):
                coarsen(changed)
    assert paths or part in ("warnings", "not_scored", "release")


def test_evidence_cannot_be_published_by_mistake() -> None:
    record = RefusalsEvidence(generations=3, refused=1)
    assert coarsen(Inside(record)) == Inside(None)
    with pytest.raises(TypeError, match="must be a leaf"):
        coarsen(Inside(record, is_public=True))


EDGES = (Interval(0.0, 0.0), Interval(0.0, 1.0))
#: A leaf of each kind that is a class, of somebody.
CLASSES = (
    Count.of(3),
    Alone.of(3),
    OfBothSplits.of(3),
    CountWithPart.of(3, 1),
    Partition.of({"a": 3, "b": 4}),
    PartitionWithMean.of({"a": 3, "b": 4}, dict(zip("ab", EDGES, strict=True)), 0.5),
    Fraction.of(zip(EDGES, (3, 4), strict=True), 0.5),
    Rate.of(zip(EDGES, (3, 4), strict=True)),
    Groups.of([("a", 3, 4)]),
)
#: Without a class: what is coarsened twice says no more.
OTHERS = {Setting, Inside, OfText, SharesOfText, StandardizedDifference}


def test_every_kind_is_known_here() -> None:
    # By name: a class with slots is made anew.
    kinds = {kind.__name__ for of in (Leaf, Count) for kind in of.__subclasses__()}
    # Whether a tally is exact is no number.
    assert {kind.__name__ for kind in {*map(type, CLASSES), *OTHERS, Exactness}} == kinds


@pytest.mark.parametrize("leaf", CLASSES, ids=lambda leaf: type(leaf).__name__)
def test_no_class_is_coarsened_twice(leaf: Leaf) -> None:
    coarse = coarsen(leaf)
    assert coarse != leaf
    with pytest.raises(ValueError, match="cannot be coarsened again"):
        coarsen(coarse)


def test_a_published_tally_is_not_coarsened_again() -> None:
    with pytest.raises(ValueError, match="cannot be coarsened again"):
        publishable(publishable(whole_tally()))


def test_counts_of_nobody_and_of_what_is_invented_stay_as_they_are() -> None:
    for leaf in (Count.of(0), Alone.of(0), Count.of(7, step=None)):
        assert coarsen(leaf) == leaf
