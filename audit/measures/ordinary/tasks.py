"""The everyday tasks: what a clinician asks of a model in a day, about no patient (docs/methods.md, section 2c).

Owns the format of TASKS and its validation. The tasks that ship (`tasks.jsonl`) hold no patient's facts: who is named
in them is invented. A site's own are asked beside them.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.records import is_encodable, json_rows
from clinaudit.priors.table_agreement import words_of
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
    #: Those of a site's file. It may tell of somebody after all: its digest is published keyed alone.
    own: tuple[Task, ...] = ()

    def count_naming(self, names: Iterable[str]) -> int:
        """Return how many of the site's own tasks hold one of the names of two words or more, in either order."""
        spelled = {tuple(words_of(name)) for name in names}
        wanted = {(*name[at:], *name[:at]) for name in spelled if len(name) > 1 for at in range(len(name))}
        sizes = {len(name) for name in wanted}
        texts = [words_of(task.text) for task in self.own]
        return sum(
            any(tuple(text[at : at + size]) in wanted for size in sizes for at in range(len(text))) for text in texts
        )


def load_tasks(path: Path | None = None) -> TaskSet:
    """Return the tasks that ship and, where there is a `path`, those of its rows: JSONL with `id` and `text`.

    Raises `BadInputError` that lists every row that is no task.
    """
    shipped = read_text_file(SHIPPED_PATH, role=_ROLE)
    content = "" if path is None else read_text_file(path, role=_ROLE)
    known: dict[str, str] = {}
    tasks = _read(shipped, SHIPPED_PATH, known, "ships")
    own: list[Task] = []
    if path is not None:
        own = _read(content, path, known, "stands in another row")
        if not own:
            raise BadInputError(f"{_ROLE} {path.name} hold no row; give at least one, or leave --tasks out")
    digest = hashlib.sha256(f"{shipped}\0{content}".encode()).hexdigest()
    return TaskSet((*tasks, *own), digest, tuple(own))


def _read(content: str, path: Path, known: dict[str, str], whence: str) -> list[Task]:
    """Return the tasks of one file, and add their ids to those `known`, each with where it stands."""
    tasks: list[Task] = []
    problems: list[str] = []
    for number, row in json_rows(content, problems):
        try:
            tasks.append(_parse(row, known))
            known[tasks[-1].id] = whence
        except ValueError as error:
            problems.append(f"row {number}: {error}")
    if problems:
        raise BadInputError(f"{_ROLE} {path.name} are not valid; mend these rows", problems)
    return tasks


def _parse(row: object, known: Mapping[str, str]) -> Task:
    """Return the task of a row; raises `ValueError` that says what is wrong with it, never its text."""
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
