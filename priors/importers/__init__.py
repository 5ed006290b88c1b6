"""Importers: a site's export (MIMIC-IV-Note, OMOP CDM, FHIR R4, a CSV, Excel) into a corpus (docs/importing.md).

Each importer knows one export's format and gives records to the corpus writer; none knows another. All read as streams:
memory grows with the number of patients and notes, not with their text. Nothing is fetched from a network.
"""

from typing import TYPE_CHECKING, Literal

from clinaudit.errors import UsageError

if TYPE_CHECKING:
    from clinaudit.priors.importers.export import Export, ImportRequest

#: The words that an import takes: kinds of export, and systems of codes.
Kind = Literal["mimic-iv-note", "omop", "fhir", "csv", "excel"]
System = Literal["icd10", "snomed"]


def plan_import(request: "ImportRequest") -> "Export":
    """Find the files of an export and read the site's own; raises `UsageError` for options that do not fit the kind."""
    own = request.kind in ("csv", "excel")
    if own and request.columns is None:
        raise UsageError(f"{request.kind} needs --columns FILE: a column map says which column holds what")
    if not own and request.columns is not None:
        raise UsageError("--columns is for csv and excel alone; leave it out")
    if request.source_values is not None and request.kind != "omop":
        raise UsageError("--source-values is for omop alone; leave it out")
    if request.blank and request.kind == "fhir":
        raise UsageError("--blank is for tables alone; leave it out")
    # Here: every command has this module, and none but one imports.
    from clinaudit.priors.importers.fhir import FhirExport
    from clinaudit.priors.importers.mapped_export import MappedExport
    from clinaudit.priors.importers.own_table import OwnTable

    return (OwnTable if own else FhirExport if request.kind == "fhir" else MappedExport)(request)
