"""The files of `clinaudit compare --out DIR`: aggregates in DIR, the certificate by patient (PHI) under `evidence/`.

Owns which file holds what. Knows nothing of how an estimate came about.
"""

from pathlib import Path
from typing import Final

from clinaudit.audit.run.durable_files import make_private_directory, write_atomically
from clinaudit.audit.run.manifest import is_run
from clinaudit.errors import UsageError
from clinaudit.reports.pages.comparison import certificate_json, comparison_json, render_certificate, render_comparison
from clinaudit.reports.schema.comparison import Certificate, Comparison

COMPARISON: Final = "compare.json"
_PAGE: Final = "compare.html"
_CERTIFICATES: Final = ("certificate.json", "certificate.html")


def prepare_directory(out: Path) -> None:
    """Raise `UsageError` where `out` lies in a run, is no directory, or holds files of something else."""
    if any(map(is_run, (out.resolve(), *out.resolve().parents))):
        raise UsageError("--out lies in a run, whose files are fixed; name a directory of its own")
    if out.exists() and not out.is_dir():
        raise UsageError("--out names something that is not a directory; name a new or an earlier comparison's")
    if out.is_dir() and any(not _is_ours(path) for path in out.iterdir()):
        raise UsageError("--out names a directory that holds other things; name a new or an earlier comparison's")


def write_comparison(out: Path, comparison: Comparison, certificate: Certificate | None) -> None:
    """Write the comparison, and the certificate where there is one; an earlier certificate never stays beside it."""
    make_private_directory(out)
    evidence = out / "evidence"
    # Deleted first: after a kill, no file of an earlier comparison stands beside files of this one.
    for path in (out / COMPARISON, out / _PAGE, *(evidence / name for name in _CERTIFICATES)):
        path.unlink(missing_ok=True)
    if certificate is not None:
        make_private_directory(evidence)
        write_atomically(evidence / "certificate.json", certificate_json(certificate))
        write_atomically(evidence / "certificate.html", render_certificate(certificate))
    write_atomically(out / _PAGE, render_comparison(comparison))
    write_atomically(out / COMPARISON, comparison_json(comparison))


def _is_ours(path: Path) -> bool:
    """Whether a comparison wrote this file or folder, or was stopped while writing it."""
    if path.name == "evidence" and path.is_dir() and not path.is_symlink():
        return all(child.name.removeprefix(".").removesuffix(".partial") in _CERTIFICATES for child in path.iterdir())
    return path.name.removeprefix(".").removesuffix(".partial") in (COMPARISON, _PAGE)
