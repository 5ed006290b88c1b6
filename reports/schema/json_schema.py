"""The JSON Schema of `results.json` that ships with the package, made from the records of results.py.

Owns the one place where the published document differs from the records: `disclosure` lies flat.
"""

from pathlib import Path
from typing import Any

from clinaudit.reports.schema.results import Results


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the published document, `disclosure` laid flat as `to_json` does."""
    schema = Results.model_json_schema(mode="serialization")
    definitions = schema["$defs"]
    flat = definitions["DisclosureResults"]["properties"]
    definitions["DisclosureResults"] = {
        "description": "By diagnosis and tier, and the means over the diagnoses.",
        "type": "object",
        "properties": {"mean": flat["mean"]},
        "required": ["mean"],
        "additionalProperties": flat["by_diagnosis"]["additionalProperties"],
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["required"] = sorted(set(schema["properties"]) - {"training"})
    return schema


SCHEMA_PATH = Path(__file__).with_name("results.schema.json")
