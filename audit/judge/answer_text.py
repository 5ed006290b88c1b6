"""The text of a model's answer, read as the one JSON object that was asked for, or refused.

Owns how strictly it is read: one document, no name twice, no type bent into another, nothing besides; a Markdown fence
around it is taken off. Knows nothing of what the fields mean. Reasons are words of ours: an answer may quote the note.
"""

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

_FENCED = re.compile(r"```(?:json|JSON)?[ \t]*\r?\n(?P<inside>.*?)\r?\n?[ \t]*```", re.DOTALL)


class StrictModel(BaseModel):
    """A part of an answer: exactly its fields, each of its own type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


Answer = TypeVar("Answer")


def read_json_object(text: str | bytes) -> dict[str, Any] | None:
    """Return the one JSON object that the text is, or None: no doubled name, no NaN, nothing before or after it."""
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def read_answer(text: str, form: TypeAdapter[Answer]) -> Answer | str:
    """Return the answer in the form asked for, or why it cannot be used."""
    fenced = _FENCED.fullmatch(text.strip())
    document = read_json_object(fenced["inside"] if fenced else text)
    if document is None:
        return "the answer is not one JSON object"
    try:
        return form.validate_python(document, strict=True)
    except (ValidationError, RecursionError):
        return "the answer does not follow the schema"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a name stands twice")
    return document


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
