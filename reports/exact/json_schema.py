"""The JSON Schema of `evidence/results.json`, made from its records; it ships with the package."""

from pathlib import Path
from typing import Any

from clinaudit.reports.exact.results import Results
from clinaudit.reports.schema.json_schema import schema_of_document

EXACT_SCHEMA_PATH = Path(__file__).with_name("evidence-results.schema.json")


def exact_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the exact results."""
    return schema_of_document(Results)
