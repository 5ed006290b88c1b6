"""What a sample expects of a system, as scores compare it: sets of texts, normalised, without duplicates.

Owns how the entities of a sample become the gold sets of the three tasks. Knows no system and no formula.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from clinaudit.audit.pii.benchmark.samples.sample import Entity, PredictedEntity, Sample, SampleRow, Subset
from clinaudit.audit.pii.benchmark.samples.typed_rows import CHECKED
from clinaudit.audit.pii.benchmark.scoring.matching import TypedText, comparable_text
from clinaudit.audit.pii.taxonomy import PiiType
from clinaudit.reports.schema.record import Record


def _not_blank(text: str) -> str:
    if not comparable_text(text):
        raise PydanticCustomError(CHECKED, "is blank")
    return text


class _GoldEntity(PredictedEntity):
    text: Annotated[str, AfterValidator(_not_blank)]
    start: int | None = None
    end: int | None = None


class _GoldSubject(Record, extra="ignore"):
    entities: list[_GoldEntity]


class _NeededText(Record, extra="ignore"):
    text: str


@dataclass(frozen=True, slots=True)
class GoldAnswers:
    """The gold sets of one sample."""

    sample: str
    #: `single`, `multi`, `hard` or `distract`; None where the sample does not say.
    subset: str | None
    #: The entities of each subject: task 1.
    subjects: tuple[frozenset[TypedText], ...]
    #: The texts without which the question cannot be answered, E_q: task 2.
    needed: frozenset[str]
    #: All texts, E, and the types that each has in some subject.
    types: dict[str, frozenset[PiiType]] = field(default_factory=dict)

    @property
    def unneeded(self) -> frozenset[str]:
        """The texts to be masked, E without E_q: task 3."""
        return frozenset(self.types) - self.needed


class AnsweredSample(SampleRow, extra="ignore"):
    """What is read of a real text to score answers to it; whatever else stands there is not read."""

    subset: Subset | None = None
    #: With it, places are checked where they are given.
    description: str | None = None
    subjects: list[_GoldSubject]
    query_related: list[_NeededText]


def check_answers(sample: AnsweredSample) -> list[str]:
    """Return what is wrong with the places that a real text gives of its entities, without content."""
    if sample.description is None:
        return []
    wrong = []
    for number, subject in enumerate(sample.subjects):
        for place, entity in enumerate(subject.entities):
            if entity.start is None or entity.end is None:
                continue
            if not 0 <= entity.start < entity.end <= len(sample.description):
                wrong.append(f"subject {number}, entity {place}: offsets outside the description")
            elif sample.description[entity.start : entity.end] != entity.text:
                wrong.append(f"subject {number}, entity {place}: the text at its offsets is another")
    return wrong


def gold_of(sample: Sample | AnsweredSample | GoldAnswers) -> GoldAnswers:
    """Return the gold sets of a sample; those that are given as such stand."""
    if isinstance(sample, GoldAnswers):
        return sample
    sets = tuple(typed_texts(subject.entities) for subject in sample.subjects)
    types: dict[str, set[PiiType]] = {}
    for entity in (entity for entities in sets for entity in entities):
        types.setdefault(entity.text, set()).add(entity.type)
    return GoldAnswers(
        sample=sample.id,
        subset=sample.subset,
        subjects=sets,
        needed=frozenset(comparable_text(entity.text) for entity in sample.query_related),
        types={text: frozenset(of) for text, of in types.items()},
    )


def typed_texts(entities: Iterable[Entity | PredictedEntity]) -> frozenset[TypedText]:
    """Return entities as strict scores compare them; duplicates collapse."""
    return frozenset(TypedText(comparable_text(entity.text), entity.type) for entity in entities)
