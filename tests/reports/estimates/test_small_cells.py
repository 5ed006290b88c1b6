"""No count of 1 to 10 patients follows from what is left of small tables: every table there is, by brute force.

What is tested, of a reader who knows the program: of all tables that come out as the same, take any part, any union of
parts, any complement and any difference of nested sets. Where it could be 1 to 10 patients, it could be several such
numbers, at least as many as said here; so none of them follows.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import combinations, product

import pytest

from clinaudit.reports.estimates.small_cells import Parts, nested, over_all, pool, pool_groups

Table = tuple[int, ...]


def compositions(total: int, parts: int) -> Iterator[Table]:
    """Yield every way to write a total as a sum of so many counts."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def fewest_values(
    tables: Iterable[Table], printed: Callable[[Table], Hashable], counts: Callable[[Table], Iterable[int]]
) -> int:
    """Return the fewest values that a count which may be 1 to 10 has among the tables that print the same."""
    alike: dict[Hashable, list[tuple[int, ...]]] = defaultdict(list)
    for table in tables:
        alike[printed(table)].append(tuple(counts(table)))
    fewest = 99
    for found in alike.values():
        for values in map(set, zip(*found, strict=True)):
            if any(1 <= value <= 10 for value in values):
                fewest = min(fewest, len(values))
    return fewest


def unions(table: Table) -> Iterator[int]:
    """Yield the size of every union of parts: of each part and each complement, too."""
    for size in range(1, len(table)):
        for some in combinations(table, size):
            yield sum(some)


def as_cells(table: Table) -> dict[str, int]:
    """Return the parts by name."""
    return {str(part): count for part, count in enumerate(table)}


def printed_parts(parts: Parts) -> Hashable:
    """Return all that a reader has."""
    return tuple(parts.exact.items()), parts.pooled, parts.total, tuple(sorted(parts.known.items()))


@pytest.mark.parametrize("headline", ["", "0"])
@pytest.mark.parametrize(
    ("parts", "totals", "fewest"), [(2, range(11, 61), 10), (3, range(11, 46), 9), (4, range(11, 27), 8)]
)
def test_no_part_of_a_total_follows(parts: int, totals: range, headline: str, fewest: int) -> None:
    for total in totals:
        found = fewest_values(
            compositions(total, parts), lambda table: printed_parts(pool(as_cells(table), headline)), unions
        )
        assert found >= fewest, total


def test_bounds_hold_and_say_no_more_than_is_printed() -> None:
    for total, headline in product((11, 21, 25), ("", "1")):
        for table in compositions(total, 4):
            parts = pool(as_cells(table), headline)
            for size in (1, 2, 3):
                for some in combinations(range(4), size):
                    low, high = parts.bounds([str(part) for part in some])
                    assert low <= sum(table[part] for part in some) <= high
                    assert low == high or high - low >= 6


def test_the_smallest_part_left_is_pooled_until_none_is_smaller() -> None:
    # 10 + 30 = 40 beside 30: whoever knows that the smaller one was taken would know that it was 30, so the other 10.
    assert pool({"A": 10, "B": 30, "C": 30}).pooled == ("A", "B", "C")
    assert pool({"A": 5, "B": 30, "C": 40}).pooled == ("A", "B")
    assert pool({"A": 3, "B": 9, "C": 40, "D": 0}) == Parts({"C": 40, "D": 0}, ("A", "B"), (12, 12), {})


def test_one_large_part_of_a_pool_is_told_from_the_small_ones() -> None:
    parts = pool({"A": 5, "B": 30, "C": 65})
    assert parts.known == {"A": (1, 10), "B": (25, 34)}
    assert parts.bounds(["A", "C"]) == (66, 75)


def test_a_headline_stands_wherever_it_and_its_rest_are_large() -> None:
    cells = {"positive": 12, "negative": 8, "ambiguous": 5, "not_mentioned": 71}
    assert pool(cells).pooled == ("positive", "negative", "ambiguous")
    assert pool(cells, "positive").exact == {"positive": 12, "not_mentioned": 71}
    assert pool(cells | {"positive": 3}, "positive").known == {"positive": (1, 10)}


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_size_of_nested_sets_nor_a_difference_follows(depth: int) -> None:
    # Of 11 to 20 asked, 0 or some: the values are as many as the total has.
    for total in range(11, 41):
        tables = (
            (total, *sizes)
            for sizes in product(range(total + 1), repeat=depth)
            if all(first >= second for first, second in zip((total, *sizes), sizes, strict=False))
        )

        def steps(table: Table) -> Iterator[int]:
            for first, second in combinations((*table, 0), 2):
                yield first - second

        assert fewest_values(tables, lambda table: tuple(nested(table)), steps) >= 10, total


def test_nested_counts() -> None:
    assert nested([130, 60, 55, 30, 4, 0]) == [(130, 130), (60, 60), (50, 59), (30, 30), (1, 10), (0, 0)]
    assert nested([20, 20]) == [(20, 20), (1, 20)]
    assert nested([21, 21]) == [(21, 21), (21, 21)]
    assert nested([8, 0]) == [(8, 8), (0, 0)]


def test_no_count_of_groups_of_two_kinds_follows() -> None:
    for has, has_not in ((11, 12), (22, 22), (24, 23)):
        tables = [(*some, *others) for some in compositions(has, 3) for others in compositions(has_not, 3)]

        def printed(table: Table) -> Hashable:
            return tuple(pool_groups({str(i): (table[i], table[i + 3]) for i in range(3)}).items())

        assert fewest_values(tables, printed, lambda table: (*table, *(table[i] + table[i + 3] for i in range(3)))) >= 9


def test_groups_are_pooled_with_the_next_until_both_kinds_are_large() -> None:
    groups = {"0-17": (3, 10), "18-29": (9, 4), "30-44": (0, 30), "45-64": (40, 12)}
    assert pool_groups(groups) == {("0-17", "18-29"): (12, 14), ("30-44",): (0, 30), ("45-64",): (40, 12)}
    assert pool_groups({"female": (12, 30), "male": (2, 40)}) == {}


@pytest.mark.parametrize(("figures", "parts"), [(1, 2), (2, 2), (1, 3)])
def test_no_part_over_all_figures_follows(figures: int, parts: int) -> None:
    """The set itself is not printed; every size that it may have, and each difference from it, counts as well."""
    of = 23
    covers = {
        size: {
            count: [of for of in product(range(size + 1), repeat=count) if max(of) <= size <= sum(of)]
            for count in {figures, parts}
        }
        for size in range(of + 1)
    }
    alike: dict[Hashable, list[set[int]]] = {}
    for size, of_size in covers.items():
        for at_tier in of_size[figures]:
            printed = [nested([of, count])[-1] for count in at_tier]
            sizes = [of, max(at_tier)] if max(at_tier) == sum(at_tier) else [of]
            for some in of_size[parts]:
                found = over_all(as_cells(some), sizes, printed)
                counts = (*at_tier, *some)
                values = [*counts, *(size - count for count in counts), *(of - count for count in counts)]
                seen = alike.setdefault((*printed, *found.items()), [set() for _ in values])
                for value, those in zip(values, seen, strict=True):
                    those.add(value)
    fewest = min(len(those) for seen in alike.values() for those in seen if any(1 <= value <= 10 for value in those))
    assert fewest >= 4
