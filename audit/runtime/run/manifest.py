"""The manifests: digests of every file of a run outside `work/` (docs/results.md, "What a run leaves").

`evidence/manifest.json` lists all files. `manifest.json`, written last, lists those that are published alone, since a
digest of evidence would confirm guesses of its counts. A run without it has not finished, and one that says that it was
purged has no other. While files of a finished run are replaced, a file has two digests, the new and the old one: a
process killed meanwhile leaves a run that still verifies.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.runtime.run.directory import RunDirectory, sha256_of, write_atomically
from clinaudit.errors import BadInputError, IncompleteError, IntegrityError, UsageError

_PUBLIC: Final = "manifest.json"
_ALL: Final = f"evidence/{_PUBLIC}"
#: Stands for the old digest of a file that was not there.
_NONE: Final = "none"


def write_manifest(run: RunDirectory, *, purged: bool = False) -> None:
    """Digest every file of the run and write the manifests; `purged`: without the evidence, which will be removed."""
    _write(run, {name: sha256_of(run.root / name) for name in _files(run, public=purged)}, purged=purged)


def replace_files(run: RunDirectory, files: Mapping[str, bytes]) -> None:
    """Replace files of a verified, finished run, by name, under its lock; `verify` succeeds at any point of it."""
    purged = is_purged(run)
    digests = _read(run, _PUBLIC if purged else _ALL)
    # Files that an earlier, interrupted replacement left: list them as they are.
    unsettled = {name for name, listed in digests.items() if " " in listed}
    now = {name: _digest(run.root / name) for name in unsettled | files.keys()}
    digests = {name: now.get(name, listed) for name, listed in digests.items() if now.get(name) != _NONE}
    after = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    _write(run, digests | {name: f"{digest} {now[name]}" for name, digest in after.items()}, purged=purged)
    for name, data in files.items():
        write_atomically(run.root / name, data)
    _write(run, digests | after, purged=purged)


def remove_manifest(run: RunDirectory) -> None:
    """Remove the manifests before files change: a killed process never leaves a wrong one."""
    for name in (_PUBLIC, _ALL):
        (run.root / name).unlink(missing_ok=True)


def has_manifest(run: RunDirectory) -> bool:
    """Whether the run has finished."""
    return (run.root / _PUBLIC).is_file()


def is_run(directory: Path) -> bool:
    """Whether a directory is a run, finished or not."""
    run = RunDirectory(directory)
    try:
        return run.work.is_dir() or bool(has_manifest(run) and _load(run, _PUBLIC))
    except IntegrityError:
        # A file of that name is common in other folders.
        return False


def is_purged(run: RunDirectory) -> bool:
    """Whether the run's evidence was removed, or its removal has begun."""
    return has_manifest(run) and _load(run, _PUBLIC).get("purged") is True


def refuse_purged(run: RunDirectory) -> None:
    """Raise `UsageError` for a purged run: its evidence was removed, and must not come back by mistake."""
    try:
        purged = is_purged(run)
    except IntegrityError:
        # An unreadable manifest is repaired by running the audit again.
        return
    if purged:
        raise UsageError("this run was purged and cannot be gone on with; use another --out")


def require_finished_run(root: Path) -> RunDirectory:
    """Return the run at `root`; raises `BadInputError` where there is none, `IncompleteError` if it is unfinished."""
    run = RunDirectory(root)
    if not has_manifest(run):
        if (root / _PUBLIC).is_symlink() or (root / _PUBLIC).exists():
            raise _no_manifest(_PUBLIC)
        if run.work.is_dir():
            raise IncompleteError(f"the run in {root.name} has not finished; run the same command again")
        what = f"{root.name} is not a run" if root.is_dir() else f"no such RUN: {root.name}"
        raise BadInputError(f"{what}; give the directory that `clinaudit audit --out` made")
    if run.evidence.exists() and is_purged(run):
        raise IncompleteError(f"the purge of {root.name} was stopped; run `clinaudit purge` again to finish it")
    return run


def verify(run: RunDirectory, *, but: tuple[str, ...] = (), evidence: bool = True) -> int:
    """Check the run's files, except those named in `but`, against the manifests; return the number of files checked.

    `evidence=False` leaves the evidence out. Raises `IntegrityError` that names the first file that is missing, changed
    or not listed.
    """
    checked = 0
    for manifest in [_PUBLIC] if is_purged(run) or not evidence else [_PUBLIC, _ALL]:
        digests = _read(run, manifest)
        names = {*digests, *_files(run, public=manifest == _PUBLIC)}.difference(but)
        for name in sorted(names):
            if name not in digests:
                raise IntegrityError(f"{name} is not in the manifest; remove it or run the audit again")
            if (digest := _digest(run.root / name)) not in digests[name].split():
                what = "is in the manifest but missing" if digest == _NONE else "is not what the audit wrote"
                raise IntegrityError(f"{name} {what}; restore it or run the audit again")
        checked = len(names)
    return checked


def run_digest(run: RunDirectory) -> str:
    """Return the SHA-256 of the manifest: one number for every file of the run outside `work/`."""
    return sha256_of(run.root / (_PUBLIC if is_purged(run) else _ALL))


def matches_manifest(run: RunDirectory, name: str) -> bool:
    """Whether one published file of the run has a digest that the manifest lists."""
    return _digest(run.root / name) in _read(run, _PUBLIC).get(name, "").split()


def _load(run: RunDirectory, name: str) -> dict[str, Any]:
    path = run.root / name
    if name == _ALL and not path.is_file():
        raise IntegrityError(f"{name} is missing; restore it or run the audit again")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(digest, str) for digest in content["sha256"].values()):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _no_manifest(name) from None
    return dict(content)


def _read(run: RunDirectory, name: str) -> dict[str, str]:
    # A file's digest by its name, relative to the run; while it is replaced the new and the old one, a blank between.
    return dict(_load(run, name)["sha256"])


def _write(run: RunDirectory, digests: Mapping[str, str], *, purged: bool) -> None:
    public = {name: digest for name, digest in digests.items() if not name.startswith("evidence/")}
    contents: dict[str, dict[str, object]] = {} if purged else {_ALL: {"sha256": digests}}
    # The public one last.
    contents[_PUBLIC] = {"sha256": public} | ({"purged": True} if purged else {})
    for name, content in contents.items():
        write_atomically(run.root / name, json.dumps(content, indent=1, sort_keys=True) + "\n")


def _digest(path: Path) -> str:
    return sha256_of(path) if path.is_file() else _NONE


def _no_manifest(name: str) -> IntegrityError:
    return IntegrityError(f"{name} is not a manifest; restore it from a backup or run the audit again")


def _files(run: RunDirectory, *, public: bool) -> list[str]:
    """Return the run's files outside `work/`, relative; not the manifests and unfinished files."""
    files = (path for path in run.root.rglob("*") if path.is_file() and run.work not in path.parents)
    names = (str(path.relative_to(run.root)) for path in files if not path.match(".*.partial"))
    return sorted(one for one in names if one not in (_PUBLIC, _ALL) and not (public and one.startswith("evidence/")))
