"""Rows of a JSON Lines file as records of one type: samples, predictions (docs/pii.md).

Owns how a row that is none is told: by row and field, in fixed words, never by what stands there. Knows no field.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from clinaudit.priors.corpus.cells import NOT_UNICODE
from clinaudit.priors.corpus.files import FILE_ENDINGS, find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, is_encodable, iter_records

Row = TypeVar("Row", bound=BaseModel)
_JSONL: Final = {ending: kind for ending, kind in FILE_ENDINGS.items() if kind[0] == "jsonl"}
#: By pydantic's name of a fault; its own messages may hold content.
_FAULTS: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "json_invalid": "is not JSON",
    "extra_forbidden": "has a key that is not known there",
    "string_type": "is not text",
    "int_type": "is not a whole number",
    "bool_type": "is neither true nor false",
    "list_type": "is not a list",
    "model_type": "is not an object",
    "greater_than_equal": "is too small",
    "string_too_long": "is too long",
    "string_too_short": "is blank",
}
#: Raised by the records' own checks, whose words are fixed.
CHECKED: Final = "checked"


def iter_typed_rows(
    path: Path, row_type: type[Row], *, role: str, problems: Problems, header: Header
) -> Iterator[tuple[int, Row]]:
    """Yield (row, record) of each line that is one; what is wrong with the others is added to `problems`.

    `header`, of the fields that are read, says at the end which others there were. `role` names the file: raises
    `BadInputError` where there is no such file, or not a `.jsonl` (also `.gz`, `.zst`).
    """
    file = find_given_file(path, role, _JSONL)
    name = file.name
    rows = 0
    for row, record in iter_records(file, header=header, problems=problems):
        rows += 1
        torn = [field for field, value in record.items() if not is_encodable(json.dumps(value, ensure_ascii=False))]
        for field in torn:
            problems.add(name, NOT_UNICODE, row=row, column=field)
        try:
            read = row_type.model_validate(record, strict=True)
        except ValidationError as error:
            for field, what in describe_faults(error):
                problems.add(name, what, row=row, column=field)
            continue
        if not torn:
            yield row, read
    if not rows and not len(problems):
        problems.add(name, "has no rows")


def describe_faults(error: ValidationError) -> Iterator[tuple[str, str]]:
    """Yield the first fault of each field of a record: the field, and what is wrong where in it, without content."""
    seen: set[str] = set()
    for fault in error.errors(include_url=False, include_input=False):
        # A key that is not known may itself be content.
        steps = fault["loc"][:-1] if fault["type"] == "extra_forbidden" else fault["loc"]
        field = str(steps[0]) if steps else ""
        if field not in seen:
            seen.add(field)
            place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps[1:])
            what = _describe(fault["type"], fault.get("ctx", {}), fault["msg"])
            yield field, f"{field}{place} {what}" if place else what


def _describe(kind: str, context: Mapping[str, Any], message: str) -> str:
    if kind == "literal_error":
        return f"is none of {context['expected']}"
    return message if kind == CHECKED else _FAULTS.get(kind, "is not as it must be there")
