"""Fixtures shared by the tests of all rooms."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from support.byte_level_tokenizer import save_byte_level_tokenizer
from support.runs.tiny_demo import TinyDemo, train_tiny_demo


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the modules with slow tests first: where one begins last, the other worker has nothing left to do."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(autouse=True)
def environment_put_back() -> Iterator[None]:
    """An audit run in this process points its libraries at the run's own folders; the next test must not follow."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
    tempfile.tempdir = None


@pytest.fixture(scope="session")
def tokenizer_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_byte_level_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="session")
def tiny_demo(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> TinyDemo:
    """Made once for all workers of a test run."""
    base = tmp_path_factory.getbasetemp()
    shared = (base if worker_id == "master" else base.parent) / "tiny-demo"
    shared.mkdir(exist_ok=True)
    tiny = TinyDemo(shared / "corpus", shared / "model")
    with FileLock(shared / "lock"):
        if not tiny.model.exists():
            train_tiny_demo(tiny)
    return tiny
