"""Strict parsing of a model's answer: the one JSON object that was asked for, or the reason why it is none.

Owns the strictness: one document, no duplicate name, no type coerced into another, nothing besides; a Markdown fence
around it is removed. Knows nothing of what the fields mean. Reasons are fixed words: an answer may quote the note.
"""

import json
import re
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from clinaudit.audit.served.question import OF_ANOTHER_QUESTION

_FENCE = "```"
_FENCE_OPENS = re.compile(_FENCE + r"(?:json|JSON)?[ \t]*\r?\n")


class StrictModel(BaseModel):
    """A part of an answer: exactly its fields, each of its own type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Answering(Protocol):
    @property
    def question(self) -> str:
        """The id of the question that the model says it answers."""
        ...


Answer = TypeVar("Answer", bound=_Answering)


def read_json_object(text: str | bytes) -> dict[str, Any] | None:
    """Return the text's one JSON object, or None: no duplicate name, no NaN, nothing before or after it."""
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def read_answer(text: str, form: TypeAdapter[Answer], *, question: str) -> Answer | str:
    """Return the answer to the question of that id in the form that was asked for, or why it cannot be used."""
    document = read_json_object(_unfenced(text.strip()))
    if document is None:
        return "the answer is not one JSON object"
    try:
        answer = form.validate_python(document, strict=True)
    except (ValidationError, RecursionError):
        return "the answer does not follow the schema"
    return answer if answer.question == question else OF_ANOTHER_QUESTION


def _unfenced(text: str) -> str:
    """Return the content of a fence. One pattern over the whole would take quadratic time on an answer of blanks."""
    opening = _FENCE_OPENS.match(text)
    if opening is None or not text.endswith(_FENCE) or len(text) < opening.end() + len(_FENCE):
        return text
    return text[opening.end() : -len(_FENCE)]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a name stands twice")
    return document


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
