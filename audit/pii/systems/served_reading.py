"""A served model's answers about a text, read strictly: what it lists, or why the answer cannot be used.

Owns the reading. An entity that does not stand in the text is kept: it scores as wrong, and is no fault of the form.
"""

from typing import Final

from pydantic import TypeAdapter

from clinaudit.audit.pii.systems.served_wording import PERSPECTIVES, Strategy, detection_id, relevance_id
from clinaudit.audit.pii.taxonomy import PiiType
from clinaudit.audit.served.question import StrictModel, read_answer, restore_control_tokens


class NamedEntity(StrictModel):
    """An entity that the model names."""

    text: str
    type: PiiType


class NamedSubject(StrictModel):
    """A person, as the model sees it."""

    entities: list[NamedEntity]


class _Entities(StrictModel):
    question: str
    subjects: list[NamedSubject]


class _Needed(StrictModel):
    question: str
    entities: list[str]


class _Reasoned(_Needed):
    thought: str


class _Planned(_Reasoned):
    plan: str


class _Consistent(_Needed):
    perspectives: list[str]
    summary: str


_ENTITIES: Final = TypeAdapter(_Entities)
_FORMS: Final[dict[Strategy, TypeAdapter[_Needed]]] = {
    "naive": TypeAdapter(_Needed),
    "with-choice": TypeAdapter(_Needed),
    "self-cot": TypeAdapter(_Reasoned),
    "auto-cot": TypeAdapter(_Reasoned),
    "self-consistency": TypeAdapter(_Consistent),
    "plan-and-solve": TypeAdapter(_Planned),
}


def read_entities(answer: str, text: str) -> list[NamedSubject] | str:
    """Return the subjects that an answer lists, or why it cannot be used."""
    read = read_answer(answer, _ENTITIES, question=detection_id(text))
    if isinstance(read, str):
        return read
    return [
        NamedSubject(
            entities=[
                NamedEntity(text=restore_control_tokens([entity.text], [text])[0], type=entity.type)
                for entity in subject.entities
            ]
        )
        for subject in read.subjects
    ]


def read_needed(answer: str, text: str, query: str, strategy: Strategy) -> list[str] | str:
    """Return the entities that an answer calls needed, or why it cannot be used."""
    read = read_answer(answer, _FORMS[strategy], question=relevance_id(text, query, strategy))
    if isinstance(read, str):
        return read
    if isinstance(read, _Consistent) and len(read.perspectives) != PERSPECTIVES:
        return f"the answer does not hold {PERSPECTIVES} perspectives"
    return [restore_control_tokens([entity], [text])[0] for entity in read.entities]
