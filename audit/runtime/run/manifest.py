"""The manifests: digests of every file of a run outside `work/` (docs/results.md, "What a run leaves").

`manifest.json`, written last, lists what is published; a run without it has not finished. Of the evidence, a SHA-256
would confirm every guess of its counts: `evidence/manifest.json` lists it, and the public manifest holds a digest of
that, keyed with a secret that stays in the evidence. So the public one still stands for every file. That of a purged
run says so and holds nothing of the evidence. While files of a finished run are replaced, a file has two digests, the
new and the old one: a process killed meanwhile leaves a run that still verifies. Knows nothing of what the files hold.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import sha256_of, write_atomically
from clinaudit.errors import BadInputError, IncompleteError, IntegrityError, UsageError
from clinaudit.priors.corpus.corpus import keyed_digest

_NAME = "manifest.json"
#: Where the public manifest has the keyed digest of the evidence's.
_KEYED = "hmac_sha256"
_EVIDENCE: Final = f"evidence/{_NAME}"
_KEY: Final = "evidence/manifest.key"
_KEY_BYTES: Final = 32
#: Stands for the old digest of a file that was not there.
_NONE: Final = "none"
#: A file's digest by its name, relative to the run; while it is replaced the new and the old one, a blank between.
_Digests = dict[str, str]


def write_manifest(run: RunDirectory, *, purged: bool = False) -> None:
    """Digest every file of the run and write the manifests; `purged`: without the evidence, which will be removed."""
    names = [name for name in _files(run) if not (purged and _is_evidence(name))]
    _write(run, {name: sha256_of(run.root / name) for name in names}, purged=purged)


def replace_files(run: RunDirectory, files: Mapping[str, bytes]) -> None:
    """Replace files of a finished run, by their names relative to it; `verify` succeeds at any point of it.

    The caller has verified all other files, and holds the run's lock where there is evidence.
    """
    purged, digests = is_purged(run), _read(run)
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
    for name in (_NAME, _EVIDENCE):
        (run.root / name).unlink(missing_ok=True)


def has_manifest(run: RunDirectory) -> bool:
    """Whether the run has finished."""
    return (run.root / _NAME).is_file()


def is_run(directory: Path) -> bool:
    """Whether a directory is a run, finished or not."""
    run = RunDirectory(directory)
    try:
        return run.work.is_dir() or bool(has_manifest(run) and _load(run, _NAME))
    except IntegrityError:
        # A file of that name is common in other folders.
        return False


def is_purged(run: RunDirectory) -> bool:
    """Whether the run's evidence was removed, or its removal has begun."""
    return has_manifest(run) and _load(run, _NAME).get("purged") is True


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
    if not root.is_dir():
        raise BadInputError(f"no such RUN: {root.name}; give the directory that `clinaudit audit --out` made")
    if not has_manifest(run):
        if (root / _NAME).is_symlink() or (root / _NAME).exists():
            raise _no_manifest(_NAME)
        if run.work.is_dir():
            raise IncompleteError(f"the run in {root.name} has not finished; run the same command again")
        raise BadInputError(f"{root.name} is not a run; give the directory that `clinaudit audit --out` made")
    if run.evidence.exists() and is_purged(run):
        raise IncompleteError(f"the purge of {root.name} was stopped; run `clinaudit purge` again to finish it")
    return run


def verify(run: RunDirectory, *, but: tuple[str, ...] = (), evidence: bool = True) -> int:
    """Check the run's files, except those named in `but`, against the manifests; return the number of files checked.

    `evidence=False` leaves the evidence out. Raises `IntegrityError` that names the first file that is missing, changed
    or not in the manifest.
    """
    digests = _read(run, evidence=evidence)
    present = {name for name in _files(run) if evidence or not _is_evidence(name)}
    for name in but:
        digests.pop(name, None)
        present.discard(name)
    for name in sorted(digests.keys() | present):
        if name not in digests:
            raise IntegrityError(f"{name} is not in the manifest; remove it or run the audit again")
        if (digest := _digest(run.root / name)) not in digests[name].split():
            what = "is in the manifest but missing" if digest == _NONE else "is not what the audit wrote"
            raise IntegrityError(f"{name} {what}; restore it or run the audit again")
    return len(digests)


def run_digest(run: RunDirectory) -> str:
    """Return the SHA-256 of the manifest: one number for every file of the run outside `work/`."""
    return sha256_of(run.root / _NAME)


def matches_manifest(run: RunDirectory, name: str) -> bool:
    """Whether one published file of the run has a digest that the manifest lists."""
    return (run.root / name).is_file() and sha256_of(run.root / name) in _load(run, _NAME)["sha256"].get(
        name, ""
    ).split()


def _load(run: RunDirectory, name: str) -> dict[str, Any]:
    try:
        content = json.loads((run.root / name).read_text(encoding="utf-8"))
        digests = content["sha256"] | content.get(_KEYED, {})
        if not all(isinstance(digest, str) for digest in digests.values()):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _no_manifest(name) from None
    return dict(content)


def _read(run: RunDirectory, *, evidence: bool = True) -> _Digests:
    """Return the digests of both manifests; raises `IntegrityError` where that of the evidence is another."""
    public = _load(run, _NAME)
    digests: _Digests = public["sha256"]
    keyed = public.get(_KEYED, {}).get(_EVIDENCE)
    if not evidence or keyed is None:
        return digests
    for name in (_EVIDENCE, _KEY):
        if not (run.root / name).is_file():
            raise IntegrityError(f"{name} is missing; restore it or run the audit again")
    if _keyed(run) not in keyed.split():
        raise IntegrityError(f"{_EVIDENCE} or its key is not what the audit wrote; restore both or run the audit again")
    return {**digests, **_load(run, _EVIDENCE)["sha256"]}


def _write(run: RunDirectory, digests: _Digests, *, purged: bool) -> None:
    """Write both manifests, the public one last; killed between the two, it takes either of the evidence's."""
    inside = {name: digest for name, digest in digests.items() if _is_evidence(name)}
    public: dict[str, object] = {"sha256": {name: digest for name, digest in digests.items() if name not in inside}}
    if purged:
        public["purged"] = True
    else:
        if not (run.root / _KEY).is_file() or (run.root / _KEY).stat().st_size != _KEY_BYTES:
            write_atomically(run.root / _KEY, secrets.token_bytes(_KEY_BYTES))
        text = _text({"sha256": inside})
        keyed = keyed_digest((run.root / _KEY).read_bytes(), text)
        if has_manifest(run) and (run.root / _EVIDENCE).is_file() and _keyed(run) != keyed:
            write_atomically(run.root / _NAME, _text({**public, _KEYED: {_EVIDENCE: f"{keyed} {_keyed(run)}"}}))
        write_atomically(run.root / _EVIDENCE, text)
        public[_KEYED] = {_EVIDENCE: keyed}
    write_atomically(run.root / _NAME, _text(public))


def _text(content: Mapping[str, object]) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode("utf-8")


def _keyed(run: RunDirectory) -> str:
    """Return the keyed digest of the evidence's manifest as it is."""
    return keyed_digest((run.root / _KEY).read_bytes(), (run.root / _EVIDENCE).read_bytes())


def _digest(path: Path) -> str:
    return sha256_of(path) if path.is_file() else _NONE


def _no_manifest(name: str) -> IntegrityError:
    return IntegrityError(f"{name} is not a manifest; restore it from a backup or run the audit again")


def _is_evidence(name: str) -> bool:
    return name.startswith("evidence/")


def _files(run: RunDirectory) -> list[str]:
    """Return the run's files outside `work/`, relative; not the manifests, what they come with, and unfinished ones."""
    own = {run.root / name for name in (_NAME, _EVIDENCE, _KEY)}
    return sorted(
        str(path.relative_to(run.root))
        for path in run.root.rglob("*")
        if path.is_file()
        and run.work not in path.parents
        and path not in own
        and not (path.name.startswith(".") and path.name.endswith(".partial"))
    )
