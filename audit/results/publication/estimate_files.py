"""A run's verdict and its table of estimates, read back from `results.json` and `results.csv`.

The exact ones lie under `evidence/` (PHI). Owns no figure and decides nothing.
"""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.errors import BadInputError, IntegrityError
from clinaudit.reports.exports.estimates_csv import read_csv
from clinaudit.reports.schema.run_results import RunResults, from_json

RESULTS = "results.json"
ESTIMATES = "results.csv"


class RunFigures(NamedTuple):
    """What a finished run found."""

    results: RunResults
    estimates: pl.DataFrame


def holds_estimates(run: RunDirectory) -> bool:
    """Whether the run has a table of estimates."""
    return (run.root / ESTIMATES).is_file()


def read_figures(run: RunDirectory, *, exact: bool = False) -> RunFigures:
    """Read what was found; `exact` gives the exact table beside the same verdict.

    Raises `IntegrityError` where a file is not what an audit writes, `BadInputError` where the evidence was purged.
    """
    table = (run.evidence if exact else run.root) / ESTIMATES
    if exact and not table.is_file():
        raise BadInputError("this run has no evidence: it was purged; leave exact out to read what is published")
    try:
        results = from_json(_text(run.root / RESULTS))
    except (ValueError, TypeError, RecursionError):
        # pydantic's own message quotes the values.
        raise IntegrityError(f"{RESULTS} does not follow the results schema; run the audit again") from None
    try:
        return RunFigures(results, read_csv(_text(table)))
    except ValueError:
        raise IntegrityError(f"{ESTIMATES} is not a table that an audit wrote; run the audit again") from None


def _text(path: Path) -> str:
    try:
        # Line ends as they are: a table is read only as it was written.
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise IntegrityError(f"{path.name} cannot be read; restore it or run the audit again") from None
