"""The files of `clinaudit compare --out DIR`: what may be published in DIR, PHI under its `evidence/`."""

from pathlib import Path
from typing import Final

from clinaudit.audit.runtime.run.durable_files import make_private_directory, write_atomically
from clinaudit.audit.runtime.run.manifest import is_run
from clinaudit.errors import UsageError
from clinaudit.reports.pages.certificate import certificate_json, render_certificate
from clinaudit.reports.pages.comparison import comparison_json, render_comparison
from clinaudit.reports.schema.certificate import Certificate
from clinaudit.reports.schema.comparison import Comparison

COMPARISON: Final = "compare.json"
PAGE: Final = "compare.html"
CERTIFICATE: Final = "certificate.json"
CERTIFICATE_PAGE: Final = "certificate.html"
_PUBLISHED: Final = (COMPARISON, PAGE)
_EVIDENCE: Final = (COMPARISON, PAGE, CERTIFICATE, CERTIFICATE_PAGE)
_HINT: Final = "name a new or an earlier comparison's"


def prepare_directory(out: Path, *, exact: bool) -> None:
    """Raise `UsageError` where `out` lies in a run, is no directory, or holds files of something else.

    An exact comparison writes under `evidence/` alone: it neither replaces a published one nor stands beside one, which
    may be of other runs.
    """
    if any(map(is_run, (out.resolve(), *out.resolve().parents))):
        raise UsageError("--out lies in a run, whose files are fixed; name a directory of its own")
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out names something that is not a directory; {_HINT}")
    if out.is_dir() and any(not _is_ours(path) for path in out.iterdir()):
        raise UsageError(f"--out names a directory that holds other things; {_HINT}")
    if exact and any((out / name).exists() for name in _PUBLISHED):
        raise UsageError("--out holds a published comparison; name another directory for the exact one")


def write_comparison(out: Path, comparison: Comparison, certificate: Certificate | None) -> None:
    """Write what may be published in `out`; an exact comparison, and the certificate where there is one, are PHI."""
    is_exact = comparison.figures == "exact"
    if not is_exact and any(change.pairs is not None for change in comparison.changes):
        raise ValueError("a published comparison holds exact figures")
    _prepare_empty(out)
    evidence = out / "evidence"
    if is_exact or certificate is not None:
        make_private_directory(evidence)
    if certificate is not None:
        write_atomically(evidence / CERTIFICATE, certificate_json(certificate))
        write_atomically(evidence / CERTIFICATE_PAGE, render_certificate(certificate))
    place = evidence if is_exact else out
    write_atomically(place / PAGE, render_comparison(comparison))
    write_atomically(place / COMPARISON, comparison_json(comparison))


def _prepare_empty(out: Path) -> None:
    """Make the directory and remove the files of an earlier comparison.

    They go first: after a kill, no file of an earlier comparison stands beside files of this one.
    """
    make_private_directory(out)
    evidence = out / "evidence"
    for path in (*(out / name for name in _PUBLISHED), *(evidence / name for name in _EVIDENCE)):
        path.unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    """Whether this file or folder is a comparison's, or one that was stopped while it was written."""
    if path.name == "evidence" and path.is_dir() and not path.is_symlink():
        return all(_without_partial(child) in _EVIDENCE for child in path.iterdir())
    return _without_partial(path) in _PUBLISHED


def _without_partial(path: Path) -> str:
    return path.name.removeprefix(".").removesuffix(".partial")
