"""Fixtures shared by the tests of all rooms."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings
from support.byte_level_tokenizer import save_byte_level_tokenizer
from support.runs.command_line import FAST, audit_apart
from support.runs.tiny_demo import TinyDemo, make_tiny_demo

# A thread of OpenMP that waits for the others keeps a processor busy, which here is another worker's: a training of
# three seconds costs up to forty. Read when torch is loaded, in this process and in those started from it.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# How long a drawn case takes says how busy the machine is.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


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


@contextmanager
def shared_folder(factory: pytest.TempPathFactory, worker_id: str, name: str) -> Iterator[Path]:
    """Give one folder to all workers of a test run, to one worker at a time: the first makes what the others find."""
    base = factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / name
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "lock"):
        yield folder


@pytest.fixture(scope="session")
def tiny_demo(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> TinyDemo:
    with shared_folder(tmp_path_factory, worker_id, "tiny-demo") as folder:
        tiny = TinyDemo(folder / "corpus", folder / "model")
        if not tiny.model.exists():
            make_tiny_demo(tiny)
    return tiny


@pytest.fixture(scope="session")
def audited(tiny_demo: TinyDemo, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """An undisturbed run of the installed command, which all compare theirs with and none changes."""
    with shared_folder(tmp_path_factory, worker_id, "audited") as folder:
        if not (folder / "run" / "manifest.json").exists():
            audit_apart(tiny_demo, folder, *FAST)
    return folder / "run"
