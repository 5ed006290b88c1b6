"""The JSON Schema of a results document, made from its records; that of `results.json` ships with the package.

Owns the one place where the document differs from the records: `disclosure` lies flat.
"""

from pathlib import Path
from typing import Any

from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.results import RunResults

SCHEMA_PATH = Path(__file__).with_name("results.schema.json")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the published `results.json`."""
    return schema_of_document(RunResults)


def schema_of_document(records: type[Record]) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a results document, `disclosure` laid flat as `document_text` does."""
    schema = records.model_json_schema(mode="serialization")
    definitions = schema["$defs"]
    name = schema["properties"]["disclosure"]["$ref"].rpartition("/")[2]
    flat = definitions[name]["properties"]
    definitions[name] = {
        "description": "By diagnosis and tier, and the means over the diagnoses.",
        "type": "object",
        "properties": {"mean": flat["mean"]},
        "required": ["mean"],
        "additionalProperties": flat["by_diagnosis"]["additionalProperties"],
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["required"] = sorted(set(schema["properties"]) - {"training"})
    return schema
