"""Forms that a served model fills in about some texts: how one is put, and how the answer is read.

Knows nothing of what is asked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from clinaudit.audit.runtime.served.question import (
    Question,
    Schema,
    StrictModel,
    break_control_tokens,
    fence_marker,
    question_id,
    read_answer,
    schema_of,
)

Found = TypeVar("Found")
#: A question, and what reads its answer: a string says in fixed words why it cannot be used.
Inquiry = tuple[Question, Callable[[str], Found | str]]


class FilledForm(StrictModel):
    """A form as a model filled it in; it repeats the id of the question."""

    question: str


Filled = TypeVar("Filled", bound=FilledForm)


@dataclass(frozen=True)
class Form(Generic[Filled]):
    """A form, with what is asked for in it."""

    name: str
    system: str
    #: With places for `marker`, `question` and what else a question says.
    prompt: str
    answer: type[Filled]
    max_answer_tokens: int
    #: What is asked for, in the question's id, where it is not the name.
    subject: str = ""
    #: Where the fields of the answer do not say it all.
    own_schema: Schema | None = None

    @cached_property
    def schema(self) -> Schema:
        """The schema of the answer."""
        return schema_of(self.answer) if self.own_schema is None else self.own_schema

    def ask(self, texts: Sequence[str], *, fenced: Sequence[str] | None = None, **said: object) -> Question:
        """Return the question about some texts; the fence's marker stands in none of those `fenced` (None: these)."""
        marker = fence_marker(texts if fenced is None else fenced)
        prompt = self.prompt.format(marker=marker, question=self._id_of(texts), **said)
        return Question(self.system, prompt, self.name, self.schema, self.max_answer_tokens)

    def read(self, answer: str, texts: Sequence[str]) -> Filled | str:
        """Return the form as it was filled in about these texts, or why the answer cannot be used."""
        return read_answer(answer, self._adapter, question=self._id_of(texts))

    @staticmethod
    def fenced(texts: Sequence[str], marker: str) -> str:
        """Return texts one after the other, a marker between two."""
        return f"\n{marker}\n".join(map(break_control_tokens, texts))

    @cached_property
    def _adapter(self) -> TypeAdapter[Filled]:
        return TypeAdapter(self.answer)

    def _id_of(self, texts: Sequence[str]) -> str:
        return question_id(texts, [self.subject or self.name])
