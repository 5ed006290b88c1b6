"""Files written whole or not at all."""

import os
from pathlib import Path

import pytest

from clinaudit.audit.run.durable_files import require_writable, write_atomically
from clinaudit.errors import StorageError


def test_what_is_no_file_is_never_replaced_by_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for write in (lambda: write_atomically(pipe, "x"), lambda: require_writable(pipe, role="it")):
        with pytest.raises(StorageError, match="device or a pipe"):
            write()
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
