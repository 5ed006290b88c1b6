"""Purge: a run's evidence is removed, and a valid run of aggregates is left (docs/results.md, "Purging").

Owns the order of removal. Of a finished run, the manifest is rewritten first: it lists no evidence and says that the
run was purged. Then the evidence is removed, the lock last. If the process is killed at any point, the same command
finishes the purge; until then every other command says so. An unfinished run has no complete aggregates: all of it is
removed.

Removal is not secure erasure: file systems, snapshots and backups may keep the blocks.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clinaudit.audit.results.publication.published_files import PUBLISHED
from clinaudit.audit.runtime.run.directory import RunDirectory, flush, hold_lock, make_private_directory
from clinaudit.audit.runtime.run.manifest import has_manifest, is_purged, verify, write_manifest
from clinaudit.errors import BadInputError, IncompleteError, StorageError, UnsafeError, UsageError


@dataclass(frozen=True, slots=True)
class Purge:
    """A planned purge, found under the run's lock; `carry_out` removes the contents."""

    run: RunDirectory
    #: How much is removed: the number of files, links and other entries that are no folder, and their bytes.
    files: int
    size_bytes: int
    #: How many of them are links: what these lead to stays, and may be PHI.
    links: int
    #: The run has not finished, so that all of it is removed.
    unfinished: bool

    def carry_out(self) -> None:
        """Remove the contents, in an order that can be resumed if the process is killed at any point."""
        if self.unfinished:
            for name in PUBLISHED:
                # Left by an earlier audit that this one would have replaced.
                (self.run.root / name).unlink(missing_ok=True)
        elif not is_purged(self.run):
            # A new manifest must not list a file that somebody changed.
            verify(self.run, evidence=False)
            write_manifest(self.run, purged=True)
        _remove_folder(self.run.evidence, last=self.run.lock)
        if self.unfinished and not any(self.run.root.iterdir()):
            self.run.root.rmdir()
        else:
            flush(self.run.root)


@contextmanager
def prepare_purge(root: Path, *, unfinished: bool) -> Iterator[Purge | None]:
    """Take the run's lock and find what a purge removes; None where the run was purged before.

    `unfinished`: the user knows that the run has not finished. Raises `BadInputError` where there is no run,
    `IncompleteError` for an unfinished run without `unfinished`, `UsageError` for a finished run with it,
    `StorageError` where an audit holds the lock, and `UnsafeError` where a folder of the run is a link.
    """
    run = RunDirectory(root)
    if not root.is_dir():
        raise BadInputError(f"no such RUN: {root.name}; give the directory that `clinaudit audit --out` made")
    for folder in (run.evidence, run.work):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise UnsafeError(
                f"{folder.name} of this run is not a folder of its own; remove what it leads to by hand, then the link"
            )
    if not has_manifest(run) and not run.evidence.is_dir():
        raise BadInputError(f"{root.name} is not a run; give the directory that `clinaudit audit --out` made")
    if not run.evidence.is_dir():
        _require_finished(run, unfinished=unfinished)
        if is_purged(run):
            yield None
        else:
            # Somebody removed the evidence by hand: the manifest must say so.
            yield Purge(run, files=0, size_bytes=0, links=0, unfinished=False)
        return
    make_private_directory(run.work)
    with hold_lock(run):
        _require_finished(run, unfinished=unfinished)
        removed = [path for path in _files_under(run.evidence) if path != run.lock]
        size = sum(path.lstat().st_size for path in removed)
        links = sum(path.is_symlink() for path in removed)
        yield Purge(run, files=len(removed), size_bytes=size, links=links, unfinished=unfinished)


def _require_finished(run: RunDirectory, *, unfinished: bool) -> None:
    if has_manifest(run):
        if unfinished:
            raise UsageError("this run has finished; leave --unfinished out, and its report stays")
    elif not unfinished:
        raise IncompleteError(
            f"the run in {run.root.name} has not finished and has no report to keep; run the same command again, or "
            "remove all of it with --unfinished"
        )


def _remove_folder(folder: Path, *, last: Path) -> None:
    """Remove a folder and its contents, `last` after everything else; links are removed, their targets are not."""
    if not folder.is_dir():
        return
    for path in _files_under(folder):
        if path != last:
            path.unlink()
    # A file that another program makes meanwhile stops the removal: only empty folders are removed.
    for place, folders, _ in os.walk(folder, topdown=False, onerror=_raise):
        for name in folders:
            inner = Path(place, name)
            if inner != last.parent:
                inner.rmdir()
    last.unlink(missing_ok=True)
    if last.parent.is_dir():
        last.parent.rmdir()
    folder.rmdir()


def _files_under(folder: Path) -> list[Path]:
    """Return every entry under a folder that is no folder itself, links to folders included."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder, onerror=_raise):
        found += [Path(place, name) for name in files]
        found += [Path(place, name) for name in folders if Path(place, name).is_symlink()]
    return sorted(found)


def _raise(error: OSError) -> None:
    # A folder that cannot be listed must not be skipped.
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    raise StorageError(f"a folder of the evidence cannot be read ({reason}); mend it and run the same command again")
