"""Files written whole or not at all."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from clinaudit.audit.run.durable_files import require_writable, write_atomically, write_lines_atomically
from clinaudit.errors import StorageError, UsageError


def test_what_is_no_file_is_never_replaced_by_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for write in (lambda: write_atomically(pipe, "x"), lambda: require_writable(pipe, role="it")):
        with pytest.raises(StorageError, match="device or a pipe"):
            write()
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_lines_replace_a_file_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    write_lines_atomically(path, ["é", "b"])
    assert path.read_bytes() == "é\nb\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def broken() -> Iterator[str]:
        yield "c"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_lines_atomically(path, broken())
    assert path.read_bytes() == "é\nb\n".encode()


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.json.ZST"])
def test_a_name_that_says_compressed_is_refused_since_nothing_is(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="it is not compressed; leave"):
        require_writable(tmp_path / name, role="it")
