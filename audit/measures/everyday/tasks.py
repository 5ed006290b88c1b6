"""The everyday tasks: what a clinician asks of a model in a day, about no patient (docs/methods.md, section 2c).

Owns the format of TASKS, its validation, and the prompts of the tier `everyday`. The tasks that ship (`tasks.jsonl`)
hold no patient's facts: who is named in them is invented. A site's own are asked beside them.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from clinaudit.audit.measures.generation.stage import Decoding, prompt_table
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.records import is_encodable, json_rows
from clinaudit.priors.prompts import TOO_LONG
from clinaudit.priors.table_agreement import words_of
from clinaudit.priors.tiers import EVERYDAY, SYSTEM, Conversation, RenderedChat
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
    own = [] if path is None else _read(content, path, known, "stands in another row")
    if path is not None and not own:
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


def plan_tasks(tasks: TaskSet, decoding: Decoding, *, asks_control: bool) -> pl.DataFrame:
    """Return the prompts of all tasks, as rows of `priors` about nobody.

    A task is asked as plain text and, where there is a template, in a chat; each for the likeliest answer and for one
    that is drawn. One that exceeds the context, or spells out a control token, is excluded in every form.
    """
    written = [prompt for task in tasks.tasks for prompt in _write(task, decoding)]
    asked = [prompt for prompt in written if not prompt["excluded"]]
    drawn = [prompt | {"form": "drawn", "draw": 1} for prompt in asked]
    control = [prompt | {"model": "control"} for prompt in (*asked, *drawn) if asks_control]
    return prompt_table([*written, *drawn, *control])


def _write(task: Task, decoding: Decoding) -> list[Row]:
    """Return the prompts of a task, one a form: all to be asked, or all excluded with the same reason."""
    text, tokenizer, most = task.text.strip(), decoding.tokenizer, decoding.max_new_tokens
    plain, reason = f"{text}\n\n", None
    longest = len(tokenizer.encode_prompt(plain))
    prompts: list[Row] = [{"form": "text", "prompt": plain, "messages": ()}]
    if decoding.chat is not None:
        rendered = decoding.chat.render(Conversation(SYSTEM, text))
        said, reason = (RenderedChat("", ()), rendered) if isinstance(rendered, str) else (rendered, None)
        # The template writes the special tokens.
        longest = max(longest, len(tokenizer.encode(said.prompt)))
        prompts.append({"form": "chat", "prompt": said.prompt, "messages": said.messages})
    if longest + most > decoding.model.context_length:
        reason = TOO_LONG
    same: Row = {
        "role": "nobody",
        "model": "audited",
        "tier": EVERYDAY,
        "task": task.id,
        "draw": 0,
        "diagnoses": (),
        "max_new_tokens": most if reason is None else 0,
        "excluded": reason is not None,
        "reason": reason,
    }
    return [same | prompt for prompt in prompts]
