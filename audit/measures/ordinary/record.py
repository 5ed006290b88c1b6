"""Records of everyday tasks: a question, its answer, what one patient alone holds of it; and the rows of evidence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.statistics.pools import PoolFigure
from clinaudit.reports.schema.attacks import TaskForm
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.templates.spans import Span

#: The likeliest answer, or one drawn at temperature 1.
Draw = Literal["greedy", "sampled"]


@dataclass(frozen=True, slots=True)
class Question:
    """One task in one form, to be answered in one draw. No patient stands behind it."""

    task_id: str
    kind: str
    form: TaskForm
    draw: Draw
    request: GenerationRequest


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model wrote to one question."""

    question: Question
    text: str
    token_ids: tuple[int, ...]
    #: For each token its characters of `text`.
    token_chars: Sequence[Span]
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Held:
    """A passage or a value of one answer that one patient of the corpus alone holds."""

    #: `all`: a train patient, among all patients. `sampled`, `chance`: a train patient, or one never seen, among as
    #: many patients of either split.
    figure: PoolFigure
    patient_id: str
    #: As it stands in the answer.
    text: str
    #: Of a passage, and the places of its tokens that count: the others are boilerplate.
    note_id: str | None = None
    revealing_tokens: tuple[int, ...] = ()
    #: Of a value.
    hipaa: HipaaIdentifier | None = None


def answer_rows(
    answers: Sequence[Answer],
    text: Sequence[Sequence[Held]],
    identifiers: Sequence[Sequence[Held]] | None,
    *,
    has_pools: bool = True,
) -> Iterator[Row]:
    """Yield the rows of `ordinary.parquet`, one an answer; `has_pools`: what chance gives was looked for."""
    for number, answer in enumerate(answers):
        question, passages = answer.question, [held for held in text[number] if held.figure == "all"]
        values = [] if identifiers is None else [held for held in identifiers[number] if held.figure == "all"]
        yield {
            "generation_id": question.request.key,
            "task": question.task_id,
            "kind": question.kind,
            "form": question.form,
            "draw": question.draw,
            "prompt": question.request.prompt,
            "text": answer.text,
            "token_ids": list(answer.token_ids),
            "finish_reason": answer.finish_reason,
            "passages": [held.text for held in passages],
            "passage_patients": [held.patient_id for held in passages],
            "passage_notes": [held.note_id for held in passages],
            "passage_tokens": [len(held.revealing_tokens) for held in passages],
            "identifiers": [held.text for held in values],
            "identifier_patients": [held.patient_id for held in values],
            "identifier_hipaa": [held.hipaa for held in values],
            "text_tokens": _count_tokens(text[number], "all"),
            "sampled_tokens": _count_tokens(text[number], "sampled") if has_pools else None,
            "chance_tokens": _count_tokens(text[number], "chance") if has_pools else None,
        }


def _count_tokens(found: Sequence[Held], figure: PoolFigure) -> int:
    """Return how many tokens of an answer count, each once, in however many passages it stands."""
    return len({token for held in found if held.figure == figure for token in held.revealing_tokens})
