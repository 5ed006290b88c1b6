"""The manifests: digests of every file of a run outside `work/` (docs/results.md, "What a run leaves").

`manifest.json`, written last, lists what is published; a run without it has not finished. Of the evidence, a SHA-256
would confirm every guess of its counts: `evidence/manifest.json` lists it, and the public manifest holds a digest of
that, keyed with a secret that stays in the evidence. So the public one still stands for every file. That of a purged
run says so and holds nothing of the evidence. While files of a finished run are replaced, both the old and the new
digests are listed: a process killed meanwhile leaves a run that still verifies. Knows nothing of what the files hold.
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
#: Digests that files being replaced had before.
_REPLACED = "replaced"
#: Where the public manifest has the keyed digest of the evidence's.
_KEYED = "hmac_sha256"
_EVIDENCE: Final = f"evidence/{_NAME}"
_KEY: Final = "evidence/manifest.key"
_KEY_BYTES: Final = 32


def write_manifest(run: RunDirectory, *, purged: bool = False) -> None:
    """Digest every file of the run and write the manifests; `purged`: without the evidence, which will be removed."""
    files = {name: sha256_of(run.root / name) for name in _files(run) if not (purged and _is_evidence(name))}
    content: dict[str, object] = {"sha256": files}
    if purged:
        content["purged"] = True
    _write(run, content)


def replace_files(run: RunDirectory, files: Mapping[str, bytes]) -> None:
    """Replace files of a finished run, by their names relative to it; `verify` succeeds at any point of it.

    The caller has verified all other files, and holds the run's lock where there is evidence.
    """
    content = _read_all(run)
    # Files that an earlier, interrupted replacement left, and that are not replaced now: list them as they are.
    unsettled = content.pop(_REPLACED, {}).keys() - files.keys()
    listed = {name: digest for name, digest in content["sha256"].items() if name not in unsettled}
    listed |= {name: sha256_of(run.root / name) for name in unsettled if (run.root / name).is_file()}
    # An empty old digest: there was no file.
    before = {name: sha256_of(run.root / name) if (run.root / name).is_file() else "" for name in files}
    after = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    _write(run, {**content, "sha256": {**listed, **after}, _REPLACED: before})
    for name, data in files.items():
        write_atomically(run.root / name, data)
    _write(run, {**content, "sha256": {**listed, **after}})


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
        return run.work.is_dir() or bool(has_manifest(run) and _read(run))
    except IntegrityError:
        # A file of that name is common in other folders.
        return False


def is_purged(run: RunDirectory) -> bool:
    """Whether the run's evidence was removed, or its removal has begun."""
    try:
        return bool(json.loads((run.root / _NAME).read_text(encoding="utf-8")).get("purged") is True)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (ValueError, AttributeError, RecursionError):
        raise _no_manifest() from None


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
            raise _no_manifest()
        if run.work.is_dir():
            raise IncompleteError(f"the audit in {root.name} has not finished; run the same `clinaudit audit` again")
        raise BadInputError(f"{root.name} is not a run; give the directory that `clinaudit audit --out` made")
    if run.evidence.exists() and is_purged(run):
        raise IncompleteError(f"the purge of {root.name} was stopped; run `clinaudit purge` again to finish it")
    return run


def verify(run: RunDirectory, *, but: tuple[str, ...] = (), evidence: bool = True) -> int:
    """Check the run's files, except those named in `but`, against the manifests; return the number of files checked.

    `evidence=False` leaves the evidence out. Raises `IntegrityError` that names the first file that is missing, changed
    or not in the manifest.
    """
    content = _read_all(run) if evidence else _read(run)
    listed, replaced = content["sha256"], content.get(_REPLACED, {})
    present, wanted = (
        {name for name in names if name not in but and (evidence or not _is_evidence(name))}
        for names in (_files(run), listed)
    )
    for name in sorted(wanted | present):
        if name not in wanted:
            raise IntegrityError(f"{name} is not in the manifest; remove it or run the audit again")
        if name not in present and replaced.get(name) == "":
            continue
        if name not in present:
            raise IntegrityError(f"{name} is in the manifest but missing; restore it or run the audit again")
        if sha256_of(run.root / name) not in (listed[name], replaced.get(name)):
            raise IntegrityError(f"{name} is not what the audit wrote; restore it or run the audit again")
    return len(wanted)


def run_digest(run: RunDirectory) -> str:
    """Return the SHA-256 of the manifest: one number for every file of the run outside `work/`."""
    return sha256_of(run.root / _NAME)


def _read(run: RunDirectory, name: str = _NAME) -> dict[str, Any]:
    try:
        content = json.loads((run.root / name).read_text(encoding="utf-8"))
        for digests in (content["sha256"], content.get(_REPLACED, {}), content.get(_KEYED, {})):
            if not isinstance(digests, dict) or not all(isinstance(item, str) for item in digests.values()):
                raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _no_manifest(name) from None
    return dict(content)


def _read_all(run: RunDirectory) -> dict[str, Any]:
    """Return the manifest with the digests of both; raises `IntegrityError` where that of the evidence is another."""
    public = _read(run)
    held, replaced = public.pop(_KEYED, {}), public.get(_REPLACED, {})
    if not held:
        return public
    for name in (_EVIDENCE, _KEY):
        if not (run.root / name).is_file():
            raise IntegrityError(f"{name} is missing; restore it or run the audit again")
    key, inside = ((run.root / name).read_bytes() for name in (_KEY, _EVIDENCE))
    if keyed_digest(key, inside) not in (held.get(_EVIDENCE), replaced.pop(_EVIDENCE, None)):
        raise IntegrityError(f"{_EVIDENCE} or its key is not what the audit wrote; restore both or run the audit again")
    of_evidence = _read(run, _EVIDENCE)
    return {
        **public,
        "sha256": public["sha256"] | of_evidence["sha256"],
        _REPLACED: replaced | of_evidence.get(_REPLACED, {}),
    }


def _write(run: RunDirectory, content: Mapping[str, Any]) -> None:
    """Write both manifests, the public one last; killed between the two, it takes either of the evidence's."""
    inside, public = (
        {
            part: {name: digest for name, digest in content[part].items() if _is_evidence(name) == of_evidence}
            for part in ("sha256", _REPLACED)
            if part in content
        }
        for of_evidence in (True, False)
    )
    public = {**content, **public}
    if "purged" not in content:
        key, place, text = _key(run), run.root / _EVIDENCE, _text(inside)
        public[_KEYED] = {_EVIDENCE: keyed_digest(key, text)}
        if has_manifest(run) and place.is_file() and place.read_bytes() != text:
            before = {_EVIDENCE: keyed_digest(key, place.read_bytes())}
            write_atomically(run.root / _NAME, _text({**public, _REPLACED: public.get(_REPLACED, {}) | before}))
        write_atomically(place, text)
    write_atomically(run.root / _NAME, _text(public))


def _text(content: Mapping[str, object]) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode("utf-8")


def _key(run: RunDirectory) -> bytes:
    """Return the key, made where there is none."""
    path = run.root / _KEY
    if not path.is_file() or path.stat().st_size != _KEY_BYTES:
        write_atomically(path, secrets.token_bytes(_KEY_BYTES))
    return path.read_bytes()


def matches_manifest(run: RunDirectory, name: str) -> bool:
    """Whether one file of the run has the digest that the manifest lists."""
    path = run.root / name
    return path.is_file() and sha256_of(path) == _read(run)["sha256"].get(name)


def _no_manifest(name: str = _NAME) -> IntegrityError:
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
