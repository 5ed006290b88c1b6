"""The manifest: SHA-256 of every file of a run outside `work/`, written last (contract, section 6).

A run without a manifest has not finished. Knows nothing of what the files hold.
"""

import json
from pathlib import Path

from clinaudit.audit.storage import sha256_of, write_atomically
from clinaudit.audit.store import RunDirectory
from clinaudit.templates.errors import BadInputError, IncompleteError, IntegrityError

_NAME = "manifest.json"


def write_manifest(run: RunDirectory) -> None:
    """Digest every file of the run and write the manifest."""
    files = {name: sha256_of(run.root / name) for name in _files(run)}
    write_atomically(run.root / _NAME, json.dumps({"sha256": files}, indent=1, sort_keys=True) + "\n")


def drop_manifest(run: RunDirectory) -> None:
    """Take the manifest away before files change, so that a kill never leaves one that is wrong."""
    (run.root / _NAME).unlink(missing_ok=True)


def require_finished_run(root: Path) -> RunDirectory:
    """Return the run at `root`; raises `BadInputError` where there is none, `IncompleteError` for an unfinished one."""
    run = RunDirectory(root)
    if not root.is_dir():
        raise BadInputError(f"no such RUN: {root.name}; give the directory that `clinaudit audit --out` made")
    if not (root / _NAME).is_file():
        if run.work.is_dir():
            raise IncompleteError(f"the audit in {root.name} has not finished; run the same `clinaudit audit` again")
        raise BadInputError(f"{root.name} is not a run; give the directory that `clinaudit audit --out` made")
    return run


def verify(run: RunDirectory, *, but: tuple[str, ...] = ()) -> int:
    """Check the run's files, except those named in `but`, against the manifest; return how many were checked.

    Raises `IntegrityError` naming the first file that is missing, changed or not in the manifest.
    """
    path = run.root / _NAME
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))["sha256"]
        if not isinstance(listed, dict) or not all(isinstance(item, str) for item in listed.values()):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise IntegrityError(f"{_NAME} is not a manifest; restore it from a backup or run the audit again") from None
    present = set(_files(run)) - set(but)
    wanted = set(listed) - set(but)
    for name in sorted(wanted | present):
        if name not in wanted:
            raise IntegrityError(f"{name} is not in the manifest; remove it or run the audit again")
        if name not in present:
            raise IntegrityError(f"{name} is in the manifest but missing; restore it or run the audit again")
        if sha256_of(run.root / name) != listed[name]:
            raise IntegrityError(f"{name} is not what the audit wrote; restore it or run the audit again")
    return len(wanted)


def _files(run: RunDirectory) -> list[str]:
    """Return the run's files outside `work/`, relative, except the manifest and unfinished ones."""
    return sorted(
        str(path.relative_to(run.root))
        for path in run.root.rglob("*")
        if path.is_file()
        and run.work not in path.parents
        and path != run.root / _NAME
        and not (path.name.startswith(".") and path.name.endswith(".partial"))
    )
