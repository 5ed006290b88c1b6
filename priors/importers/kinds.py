"""The words that an import takes: kinds of export, systems of codes."""

from typing import Literal

Kind = Literal["mimic-iv-note", "omop", "fhir", "csv", "excel"]
System = Literal["icd10", "snomed"]
