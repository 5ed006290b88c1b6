"""What a run keeps outside of memory: is it what was kept, and does it leave nothing behind?"""

import errno
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from clinaudit.audit.runtime.run import spill
from clinaudit.audit.runtime.run.spill import Spill, pack
from clinaudit.errors import StorageError


@pytest.mark.parametrize("directory", [lambda folder: folder, lambda _: None])
def test_objects_are_read_again_by_place_while_more_come(
    tmp_path: Path, directory: Callable[[Path], Path | None]
) -> None:
    kept: Spill[object] = Spill(directory(tmp_path), [1, ("a", None)])
    assert (len(kept), kept[1], kept[0]) == (2, ("a", None), 1)
    kept.append_packed(pack("x" * 100_000))
    kept.append(())
    assert list(kept) == [1, ("a", None), "x" * 100_000, ()]
    assert list(kept) == [kept[place] for place in range(len(kept))]
    # The file has no name: a kill leaves nothing.
    assert list(tmp_path.iterdir()) == []


def open_full() -> IO[bytes]:
    return Path("/dev/full").open("r+b")


def test_a_full_disk_is_a_storage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unraised: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraised.append)
    with monkeypatch.context() as full:
        full.setattr(spill.tempfile, "TemporaryFile", lambda **_given: open_full())
        kept: Spill[str] = Spill(tmp_path)
    with pytest.raises(StorageError, match="No space left on device; free some space"):
        kept.append("Zebulon")
    # Closing tries again to write: that is no second message.
    del kept
    gc.collect()
    assert unraised == []

    def refuse(**_given: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(spill.tempfile, "TemporaryFile", refuse)
    with pytest.raises(StorageError, match="Read-only file system"):
        Spill(tmp_path)
