"""What a report is drawn from: the results of a run, published or exact, and where they come from."""

from collections.abc import Mapping
from dataclasses import dataclass

from clinaudit.reports.schema.results import RunResults


@dataclass(frozen=True, slots=True)
class ReportContent:
    """A report's numbers and where they come from."""

    results: RunResults
    #: The content of `run.json`.
    provenance: Mapping[str, object]
    #: The exact report (PHI): ranges have no width, and what only the evidence holds is there.
    is_exact: bool = False
