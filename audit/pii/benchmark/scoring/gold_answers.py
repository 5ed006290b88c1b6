"""What a sample expects of a system, as scores compare it: sets of texts, normalised, without duplicates.

Owns how the entities of a sample become the gold sets of the three tasks. Knows no system and no formula.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from clinaudit.audit.pii.benchmark.samples.sample import PredictedEntity, Sample
from clinaudit.audit.pii.benchmark.scoring.matching import TypedText, comparable_text
from clinaudit.audit.pii.taxonomy import PiiType


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


def gold_answers(
    sample: str, *, subset: str | None, subjects: Iterable[Iterable[PredictedEntity]], needed: Iterable[str]
) -> GoldAnswers:
    """Return the gold sets of a sample's entities, one collection a subject, and of the texts that are needed."""
    sets = tuple(typed_texts(entities) for entities in subjects)
    types: dict[str, set[PiiType]] = {}
    for entity in (entity for entities in sets for entity in entities):
        types.setdefault(entity.text, set()).add(entity.type)
    return GoldAnswers(
        sample=sample,
        subset=subset,
        subjects=sets,
        needed=frozenset(map(comparable_text, needed)),
        types={text: frozenset(of) for text, of in types.items()},
    )


def gold_of(sample: Sample | GoldAnswers) -> GoldAnswers:
    """Return the gold sets of a sample; those that are given as such stand."""
    if isinstance(sample, GoldAnswers):
        return sample
    return gold_answers(
        sample.id,
        subset=sample.subset,
        subjects=(
            [PredictedEntity(text=entity.text, type=entity.type) for entity in subject.entities]
            for subject in sample.subjects
        ),
        needed=[entity.text for entity in sample.query_related],
    )


def typed_texts(entities: Iterable[PredictedEntity]) -> frozenset[TypedText]:
    """Return entities as strict scores compare them; duplicates collapse."""
    return frozenset(TypedText(comparable_text(entity.text), entity.type) for entity in entities)
