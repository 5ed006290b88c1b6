"""The wordings of questions by templates, as data (wording.toml): a question, three rephrasings, an answer.

Owns how they are filled.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS
from clinaudit.reports.schema.unlearning_scores import QuestionKind


@dataclass(frozen=True, slots=True)
class Template:
    """One question in several wordings, and its answer, with places for the findings."""

    kind: QuestionKind
    wordings: tuple[str, ...]
    answer: str

    def ask(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """Return the question, then its rephrasings, for some findings."""
        return tuple(_fill(wording, values) for wording in self.wordings)

    def reply(self, values: Mapping[str, str]) -> str:
        """Return the answer for some findings."""
        return _fill(self.answer, values)


@cache
def templates() -> Mapping[str, Template]:
    """Return the templates by what is asked for: a kind of finding, or how two of them are joined."""
    held = _wording()
    return {
        entry["kind"]: Template(kind, tuple(entry["wordings"]), entry["answer"])
        for kind in QUESTION_KINDS
        for entry in held[kind]
    }


def rephrase(question: str) -> tuple[str, ...]:
    """Return three rephrasings of a question that has no template."""
    values = {"question": question[:1].lower() + question[1:] if not question[:2].isupper() else question}
    return tuple(_fill(frame, values | {"Question": question}) for frame in _wording()["frames"]["wordings"])


def _fill(wording: str, values: Mapping[str, str]) -> str:
    capitals = {name.capitalize(): value[:1].upper() + value[1:] for name, value in values.items()}
    return wording.format_map(capitals | dict(values))


@cache
def _wording() -> Any:
    return tomllib.loads(files(__package__).joinpath("wording.toml").read_text(encoding="utf-8"))
