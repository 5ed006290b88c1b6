"""The record of one generation inside a stage, made of its row of the frame `generations`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.renderings import Form, Model, Role
from clinaudit.reports.schema.record import Arm
from clinaudit.templates.spans import Span


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """What a model wrote, or part of it."""

    text: str
    token_ids: tuple[int, ...]
    #: For each token its characters of `text`.
    token_chars: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation, as it is analysed."""

    generation_id: str
    patient_id: str
    arm: Arm
    tier: str
    form: Form
    diagnoses: tuple[str, ...]
    #: None where it is not known (`analyze`); then no token counts as prompt echo.
    prompt: str | None
    text: str
    token_ids: tuple[int, ...]
    #: For each token its characters of `text`.
    token_chars: Sequence[Span]
    finish_reason: str
    #: Whether the answer opens as a refusal; None where that was not looked for: it was not asked in a chat.
    refused: bool | None = None
    role: Role = "target"
    model: Model = "audited"
    #: Characters of the text up to the first end that is known of: what the model says where it is not made to go on;
    #: None: all.
    answer_chars: int | None = None

    @property
    def answer(self) -> str:
        """What the model says where it is not made to go on."""
        return self.text[: self.answer_chars]


#: Columns of the frame that the record lacks.
_NO_FIELD: Final = ("draw", "task", "max_new_tokens", "first_end")


def as_records(generations: pl.DataFrame, tokenizer: ModelTokenizer) -> Iterator[Generation]:
    """Yield the rows of `generations` as records."""
    for row in generations.drop(_NO_FIELD).iter_rows(named=True):
        row["diagnoses"], row["token_ids"] = tuple(row["diagnoses"]), tuple(row["token_ids"])
        yield Generation(**row, token_chars=tokenizer.place_generated(row["token_ids"], row["text"]))
