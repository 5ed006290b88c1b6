"""Work in shards, each done independently, in this process or by the workers of a Ray cluster (`ray_runner`).

A shard function is a module's function. It depends on nothing but its two arguments, and gives the same result wherever
it runs.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Shared = TypeVar("Shared")
Shard = TypeVar("Shard")
Result = TypeVar("Result")


class ShardRunner(Protocol):
    """Runs a function over shards."""

    def map(
        self,
        function: Callable[[Shared, Shard], Result],
        shared: Shared,
        shards: Iterable[Shard],
        *,
        cpus: int = 1,
        gpu: bool = False,
    ) -> Iterator[tuple[int, Result]]:
        """Yield each shard's index and `function(shared, shard)`, as they finish, in any order.

        A shard is taken when a worker is free, so that few are in memory at a time. A worker has `cpus` processors and,
        with `gpu`, one GPU where the cluster has any.
        """
        ...


class LocalRunner:
    """Runs all shards in this process, one after the other."""

    def map(
        self,
        function: Callable[[Shared, Shard], Result],
        shared: Shared,
        shards: Iterable[Shard],
        *,
        cpus: int = 1,  # noqa: ARG002 (this process has what it has)
        gpu: bool = False,  # noqa: ARG002
    ) -> Iterator[tuple[int, Result]]:
        """Yield each shard's index and result, in order."""
        for index, shard in enumerate(shards):
            yield index, function(shared, shard)
