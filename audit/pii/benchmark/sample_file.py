"""`samples.jsonl` and `predictions.jsonl`, read (docs/pii.md): rows of a JSON Lines file as records of one type.

Owns that an id stands once, and that no row is dropped in silence. Problems name row and field in fixed words, never
what stands there.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from clinaudit.audit.pii.benchmark.sample import CHECKED, Prediction, SampleRow
from clinaudit.priors.corpus.cells import NOT_UNICODE
from clinaudit.priors.corpus.files import FILE_ENDINGS, find_given_file, printable
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


Read = TypeVar("Read", bound=SampleRow)
_ROLE: Final = "the samples"


def iter_samples(
    path: Path, row_type: type[Read], *, check: Callable[[Read], list[str]] | None = None
) -> Iterator[Read]:
    """Yield the samples of a JSON Lines file (`.jsonl`, also `.gz` or `.zst`) one at a time, in its order.

    `check` says what is wrong with one, without content. At the end raises `BadInputError` with all problems: rows that
    are no sample, an id that stood above, what `check` says, and keys that would be dropped.
    """
    problems = Problems()
    name = printable(path.name)
    header = Header(row_type.model_fields)
    first_rows: dict[str, int] = {}
    for row, sample in iter_typed_rows(path, row_type, role=_ROLE, problems=problems, header=header):
        if first_rows.setdefault(sample.id, row) != row:
            problems.add(name, f"stood in row {first_rows[sample.id]} already", row=row, column="id")
        if check is not None and (wrong := check(sample)):
            problems.add(name, "; ".join(wrong), row=row)
        # Of a file with a problem nothing is used: the rest is read for its other problems.
        if not len(problems):
            yield sample
    if header.unread and row_type.model_config.get("extra") == "forbid":
        problems.add(name, "has keys that no sample has; take them out (docs/pii.md lists those there are)")
    problems.raise_any(_ROLE)


_PREDICTIONS: Final = "the predictions"
PREDICTION_FIELDS: Final = tuple(Prediction.model_fields)


def iter_predictions(path: Path, *, samples: Collection[str], header: Header) -> Iterator[Prediction]:
    """Yield the predictions of a file, in file order, one a system and sample.

    `header`, of `PREDICTION_FIELDS`, says at the end how many other fields were not read. At its end raises
    `BadInputError` listing all problems: rows that are no prediction, unknown samples (`samples` are those known), and
    second rows of one system and sample, since which of them is meant cannot be known.
    """
    problems = Problems()
    name = printable(path.name)
    first_rows: dict[tuple[str, str], int] = {}
    for row, prediction in iter_typed_rows(path, Prediction, role=_PREDICTIONS, problems=problems, header=header):
        key = prediction.system, prediction.sample
        if prediction.sample not in samples:
            problems.add(name, "is not the id of any sample", row=row, column="sample")
        elif first_rows.setdefault(key, row) != row:
            what = f"is of the same system and sample as row {first_rows[key]}; keep one of them"
            problems.add(name, what, row=row)
        # Of a file with a problem nothing is scored: the rest is read for its other problems.
        if not len(problems):
            yield prediction
    problems.raise_any(_PREDICTIONS)
