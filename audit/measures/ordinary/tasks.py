"""The tasks of ordinary use: what a clinician asks of a model in a day, about no patient (docs/methods.md, section 2c).

Owns the format of TASKS and its validation. The tasks that ship (`tasks.jsonl`) hold no patient's facts: who is named
in them is invented. A site's own are asked beside them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.records import is_encodable
from clinaudit.templates.text_file import read_text_file

SHIPPED_PATH: Final = Path(__file__).with_name("tasks.jsonl")
#: About ten pages: more is a document, not a task.
MOST_CHARS: Final = 20_000
_MOST_ID_CHARS: Final = 100
_ROLE: Final = "the tasks"


@dataclass(frozen=True, slots=True)
class Task:
    """One thing that the model is asked to do."""

    id: str
    #: What kind of work it is; `site` where a site's row gives none.
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class TaskSet:
    """The tasks that ship and, after them, the site's own."""

    tasks: tuple[Task, ...]
    #: SHA-256 of both files as they were read.
    digest: str
    #: Whether a site's file is among them. It may tell of somebody after all: its digest is published keyed alone.
    is_site: bool


def load_tasks(path: Path | None = None) -> TaskSet:
    """Return the tasks that ship and, where there is a `path`, those of its rows: JSONL with `id` and `text`.

    Raises `BadInputError` that lists every row that is no task.
    """
    shipped = read_text_file(SHIPPED_PATH, role=_ROLE)
    content = "" if path is None else read_text_file(path, role=_ROLE)
    known: dict[str, str] = {}
    tasks = _read(shipped, SHIPPED_PATH, known, "ships")
    if path is not None:
        own = _read(content, path, known, "stands in another row")
        if not own:
            raise BadInputError(f"{_ROLE} {path.name} hold no row; give at least one, or leave --tasks out")
        tasks += own
    digest = hashlib.sha256(f"{shipped}\0{content}".encode()).hexdigest()
    return TaskSet(tuple(tasks), digest, path is not None)


def _read(content: str, path: Path, known: dict[str, str], whence: str) -> list[Task]:
    """Return the tasks of one file, and add their ids to those `known`, each with where it stands."""
    tasks: list[Task] = []
    problems: list[str] = []
    # Not `splitlines`: JSON may hold line separators that are not line ends.
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            tasks.append(_parse(line, known))
            known[tasks[-1].id] = whence
        except ValueError as error:
            problems.append(f"row {number}: {error}")
    if problems:
        raise BadInputError(f"{_ROLE} {path.name} are not valid; mend these rows", problems)
    return tasks


def _parse(line: str, known: Mapping[str, str]) -> Task:
    """Return the task of a row; raises `ValueError` that says what is wrong with it, never its text."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    if not isinstance(row, dict) or not {"id", "text"} <= row.keys() <= {"id", "text", "kind"}:
        raise ValueError("must be an object with id and text, and kind where you like")
    for name, value in row.items():
        most = MOST_CHARS if name == "text" else _MOST_ID_CHARS
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a text")
        if not value.strip():
            raise ValueError(f"{name} is empty")
        if not is_encodable(value):
            raise ValueError(f"{name} holds half a surrogate pair, which is no character")
        if len(value) > most:
            raise ValueError(f"{name} has {len(value):,} characters; {most:,} at most")
    if row["id"] in known:
        raise ValueError(f"its id {known[row['id']]}; give each task an id of its own")
    return Task(row["id"], row.get("kind", "site"), row["text"])
