"""JSON Schemas of answers: an object has all of its fields, and nothing besides. Knows nothing of what they mean."""

from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]
TEXT: Final[Schema] = {"type": "string"}
FLAG: Final[Schema] = {"type": "boolean"}


def object_schema(**fields: Schema) -> Schema:
    """Return the schema of an object with these fields, asked for in this order."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def list_schema(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


TEXTS: Final = list_schema(TEXT)
