"""What tests of served judges and models ask for by name: a server that can fail, and a cache of its answers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def server() -> Iterator[Any]:
    from support.servers import fault_server

    with fault_server.running() as server:
        yield server


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Any]:
    from support.servers.served_judging import open_cache

    with open_cache(tmp_path / "run") as cache:
        yield cache
