"""Work cut into shards, each done on its own, here or by the workers of a Ray cluster.

Owns what a runner of shards promises. Knows nothing of what is done, nor of Ray (ray_runner.py). A shard function is a
function of a module, depends on nothing but its two arguments, and gives the same result wherever it runs.
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
        """Yield each shard's place and `function(shared, shard)`, as they finish, in any order.

        Shards are taken as workers get free, so that few are held at a time. A worker has `cpus` processors, and with
        `gpu` one of the GPUs, where there are any.
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
        """Yield each shard's place and result, in order."""
        for index, shard in enumerate(shards):
            yield index, function(shared, shard)
