"""Files written whole or not at all."""

import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from clinaudit.audit.runtime.run.durable_files import (
    replacing,
    replacing_by_library,
    require_writable,
    write_atomically,
    write_lines_atomically,
)
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


def test_of_a_write_that_fails_nothing_is_left(tmp_path: Path) -> None:
    def interrupted() -> Iterator[str]:
        yield "Ada Lund"
        assert [path.name for path in tmp_path.iterdir()] == [".lines.jsonl.partial"]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_lines_atomically(tmp_path / "lines.jsonl", interrupted())
    assert list(tmp_path.iterdir()) == []


def test_of_a_librarys_write_that_fails_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    with replacing_by_library(path) as temporary:
        temporary.write_bytes(b"whole")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"whole", 0o600)

    def broken(error: BaseException) -> None:
        with replacing_by_library(path) as temporary:
            temporary.write_bytes(b"ha")
            raise error

    for error in (OSError("full"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            broken(error)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"table.parquet": b"whole"}


def test_two_writers_of_one_file_never_mix_it(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"

    def disturbed() -> Iterator[str]:
        yield "first"
        with pytest.raises(StorageError, match=r"another command is writing lines\.jsonl"):
            write_atomically(path, "second\n")
        yield "first again"

    write_lines_atomically(path, disturbed())
    assert path.read_text() == "first\nfirst again\n"
    write_atomically(path, "third\n")
    assert path.read_text() == "third\n"
    assert [one.name for one in tmp_path.iterdir()] == ["lines.jsonl"]


def test_a_writer_that_comes_as_the_first_ends_takes_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, partial = tmp_path / "a.txt", tmp_path / ".a.txt.partial"
    lock = fcntl.flock
    ended: list[bool] = []

    def first_ends_now(file: BinaryIO, operation: int) -> None:
        # The second has opened the first's file; before it is locked, the first puts it in its place.
        if not ended:
            ended.append(True)
            partial.write_text("first\n")
            partial.rename(path)
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", first_ends_now)
    with replacing(path) as file:
        file.write(b"second\n")
        file.flush()
        assert path.read_text() == "first\n"
    assert path.read_text() == "second\n"


def test_what_a_kill_left_is_written_over_and_closed_to_others(tmp_path: Path) -> None:
    partial = tmp_path / ".a.txt.partial"
    partial.write_text("the longer text of a killed writer\n")
    partial.chmod(0o644)
    with replacing(tmp_path / "a.txt") as file:
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600
        file.write(b"short\n")
    assert (tmp_path / "a.txt").read_text() == "short\n"


def test_a_link_in_the_place_of_what_is_being_written_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / ".a.txt.partial").symlink_to(elsewhere)
    with pytest.raises(OSError, match="symbolic links"):
        write_atomically(tmp_path / "a.txt", "x")
    assert elsewhere.read_text() == "mine"
