"""The door of this room: from what a site asks for to an export of its kind, whose files were found."""

from clinaudit.errors import UsageError
from clinaudit.priors.importers import Kind
from clinaudit.priors.importers.export import Export, ImportRequest
from clinaudit.priors.importers.fhir import FhirExport
from clinaudit.priors.importers.mimic import MimicExport
from clinaudit.priors.importers.omop import OmopExport
from clinaudit.priors.importers.own_table import OwnTable

_KINDS: dict[Kind, type[Export]] = {
    "mimic-iv-note": MimicExport,
    "omop": OmopExport,
    "fhir": FhirExport,
    "csv": OwnTable,
    "excel": OwnTable,
}


def plan_import(request: ImportRequest) -> Export:
    """Find the files of an export and read the site's own; raises `UsageError` for options that do not fit the kind."""
    own = request.kind in ("csv", "excel")
    if own and request.columns is None:
        raise UsageError(f"{request.kind} needs --columns FILE: a column map says which column holds what")
    if not own and request.columns is not None:
        raise UsageError("--columns is for csv and excel alone; leave it out")
    if request.source_values is not None and request.kind != "omop":
        raise UsageError("--source-values is for omop alone; leave it out")
    return _KINDS[request.kind](request)
