"""From the runs under a folder to one page over them, `index.html`.

Owns what counts as a run, and which runs can be believed: each is checked against its manifest, and what fails that
check is named on the page. Reads published results alone. Follows no link: what a link leads to is not in the folder.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from clinaudit.audit.results.publication.published_files import REPORT, RESULTS, RUN_RECORD, published
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.runtime.run.manifest import has_manifest, is_run, require_finished_run, verify
from clinaudit.errors import BadInputError, ClinauditError, IncompleteError, IntegrityError, StorageError, UsageError
from clinaudit.reports.pages.index import IndexedRun, SkippedFolder, render_index

INDEX_PAGE: Final = "index.html"
_NOT_FINISHED: Final = "the audit has not finished, or its manifest was removed"
_OTHER_SCHEMA: Final = "another version of clinaudit wrote its results; audit it again to show it here"
_PURGE_STOPPED: Final = "its purge was stopped; run `clinaudit purge` again"
_MARK: Final = b"<title>Privacy audits: all runs</title>"


@dataclass(frozen=True, slots=True)
class Index:
    """What the page shows, and which folders look like runs and are none that has finished."""

    runs: tuple[IndexedRun, ...]
    skipped: tuple[SkippedFolder, ...]


def write_index(folder: Path) -> Index:
    """Write `index.html` of a folder, mode 0600, over all finished runs under it; return what it shows.

    Raises `BadInputError` where there is no such folder, `UsageError` where it is a run or lies in one, `StorageError`
    where it holds another `index.html`.
    """
    if not folder.is_dir():
        raise BadInputError(f"no such DIR: {folder.name}; give the folder that holds your runs")
    place = folder.resolve()
    if any(is_run(parent) for parent in (place, *place.parents)):
        # A file more in a run would no longer be what the audit wrote.
        raise UsageError("DIR is a run or lies in one; give the folder that holds your runs")
    page = folder / INDEX_PAGE
    _require_own_page(page)
    runs: list[IndexedRun] = []
    skipped: list[SkippedFolder] = []
    for run in _find_runs(folder):
        found = _describe(run, folder)
        if isinstance(found, IndexedRun):
            runs.append(found)
        else:
            skipped.append(found)
    index = Index(tuple(runs), tuple(skipped))
    write_atomically(page, render_index(index.runs, index.skipped))
    return index


def _require_own_page(page: Path) -> None:
    if page.is_symlink() or (page.exists() and not page.is_file()):
        raise StorageError(f"{INDEX_PAGE} in DIR is a link or no file; remove it")
    if page.is_file() and _MARK not in page.read_bytes():
        raise StorageError(f"DIR holds another {INDEX_PAGE}, which is no index of runs; move it, or give another DIR")


def _find_runs(folder: Path) -> Iterator[RunDirectory]:
    """Yield every folder that is a run or was to be one, in the order of their names; nothing inside a run."""
    for place, folders, files in os.walk(folder, onerror=_raise):
        run = RunDirectory(Path(place))
        if _looks_like_run(run, files):
            folders.clear()
            yield run
        folders[:] = sorted(name for name in folders if not Path(place, name).is_symlink())


def _looks_like_run(run: RunDirectory, files: list[str]) -> bool:
    published_files = {RESULTS, RUN_RECORD, REPORT} & set(files)
    return run.work.is_dir() or len(published_files) > 1 or bool(has_manifest(run) and published_files)


def _describe(run: RunDirectory, folder: Path) -> IndexedRun | SkippedFolder:
    relative = run.root.relative_to(folder)
    place = str(relative)
    try:
        require_finished_run(run.root)
    except IncompleteError:
        return SkippedFolder(place, _PURGE_STOPPED if has_manifest(run) else _NOT_FINISHED)
    except BadInputError:
        return SkippedFolder(place, _NOT_FINISHED)
    except ClinauditError as error:
        return IndexedRun(place, None, None, changed=error.message)
    try:
        verify(run)
    except ClinauditError as error:
        return IndexedRun(place, None, None, changed=error.message)
    except OSError as error:
        return IndexedRun(place, None, None, changed=f"a file of it cannot be read ({_reason(error)})")
    try:
        return IndexedRun(place, _address(relative / REPORT), published(run))
    except (BadInputError, IntegrityError):
        return SkippedFolder(place, _OTHER_SCHEMA)


def _address(path: Path) -> str:
    """Return a relative path as an address: a name never reads as a scheme, a query or a fragment."""
    return "/".join(quote(os.fsencode(part), safe="") for part in path.parts)


def _raise(error: OSError) -> None:
    # A folder that cannot be listed must not be left out in silence.
    raise StorageError(f"a folder under DIR cannot be read ({_reason(error)}); mend it and run the same command again")


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else type(error).__name__
