"""The runner of shards that the options name: none, or a Ray cluster. Loads ray only where the options name it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clinaudit.audit.cluster.shards import ShardRunner


def require_usable(ray_address: str | None) -> None:
    """Check the address and this machine's settings before long work begins; opens no connection.

    Raises `UsageError` or `UnsafeError`.
    """
    if ray_address is not None:
        from clinaudit.audit.cluster.ray_security import require_secure_settings

        require_secure_settings(ray_address)


@contextmanager
def open_runner(ray_address: str | None, work: Path) -> Iterator[ShardRunner | None]:
    """Connect to a Ray cluster whose files lie under `work` on this machine; None without an address."""
    if ray_address is None:
        yield None
        return
    from clinaudit.audit.cluster.ray_runner import connect

    with connect(ray_address, work) as runner:
        yield runner
