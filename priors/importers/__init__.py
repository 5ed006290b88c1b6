"""Importers: a site's export (MIMIC-IV-Note, OMOP CDM, FHIR R4, a CSV, Excel) into a corpus (docs/importing.md).

Each importer knows one export's format and gives records to the corpus writer; none knows another. All read as streams:
memory grows with the number of patients and notes, not with their text. Nothing is fetched from a network.
"""

from typing import Literal

#: The words that an import takes: kinds of export, and systems of codes.
Kind = Literal["mimic-iv-note", "omop", "fhir", "csv", "excel"]
System = Literal["icd10", "snomed"]
