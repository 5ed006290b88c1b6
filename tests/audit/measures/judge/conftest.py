"""What tests of this room ask for by name: a server that can fail, and a cache of its answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.servers import fault_server
from support.servers.fault_server import Server
from support.servers.served_judging import open_cache

from clinaudit.audit.runtime.served.answer_cache import AnswerCache


@pytest.fixture
def server() -> Iterator[Server]:
    with fault_server.running() as server:
        yield server


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[AnswerCache]:
    with open_cache(tmp_path / "run") as cache:
        yield cache
