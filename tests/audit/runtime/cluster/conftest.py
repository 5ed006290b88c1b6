"""The secrets of a cluster, and a process that may go to it."""

import tempfile
from pathlib import Path

import pytest
from support.cluster.nodes import Secrets, own_address, write_secrets


@pytest.fixture(scope="session")
def secrets():
    # Not under pytest's own folders: Ray's sockets would have names that are too long there.
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="cr") as name:
        ip = own_address()
        yield Secrets(Path(name), ip, write_secrets(Path(name), ip))


@pytest.fixture
def secure(secrets, monkeypatch):
    """This process may go to the cluster."""
    for name, value in secrets.settings.items():
        monkeypatch.setenv(name, value)
    return secrets.settings
