"""What each system says of a sample in the three tasks.

Owns how a system's spans become answers: subjects by one rule (subject_assignment.py), relevance by rules, and task 3
as task 1 less task 2. Knows nothing of scores and of files.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from clinaudit.audit.pii.benchmark.samples.sample import PredictedEntity, PredictedSubject, Prediction, Sample
from clinaudit.audit.pii.benchmark.scoring.matching import comparable_text
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.relevance import needed_spans
from clinaudit.audit.pii.systems.subject_assignment import assign_subjects
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.reports.schema.pii_bench import BenchTask

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class SampleAnswers:
    """A system's answers on one sample."""

    prediction: Prediction
    #: A model's own words.
    raw: dict[BenchTask, str] = field(default_factory=dict)
    #: Why an answer could not be used, in fixed words.
    reasons: dict[BenchTask, str] = field(default_factory=dict)


def answer_by_detector(
    system: str, detector: Detector, samples: Iterable[Sample], advance: Advance
) -> Iterator[SampleAnswers]:
    """Yield the answers of a system that gives spans: subjects and relevance are told by rules."""
    for sample in samples:
        spans = detector.detect(sample.description)
        subjects = assign_subjects(sample.description, spans)
        yield SampleAnswers(_predict(system, sample, [_subject(sample, found) for found in subjects], spans))
        advance(1)


def answer_by_gold(
    system: str, samples: Iterable[Sample], advance: Advance, *, mask_all: bool = False
) -> Iterator[SampleAnswers]:
    """Yield the answers of an oracle that is told every entity, as with-choice is of a model.

    Relevance is told by rules; with `mask_all` nothing is needed.
    """
    for sample in samples:
        named = ([(entity.text, entity.type) for entity in subject.entities] for subject in sample.subjects)
        subjects = [
            PredictedSubject(entities=[PredictedEntity(text=text, type=kind) for text, kind in dict.fromkeys(entities)])
            for entities in named
        ]
        yield SampleAnswers(_predict(system, sample, subjects, gold_spans(sample), mask_all=mask_all))
        advance(1)


def gold_spans(sample: Sample) -> list[EntitySpan]:
    """Return every occurrence of a sample's entities by start; one that two subjects share stands once."""
    found = {
        (entity.start, entity.end): EntitySpan(entity.start, entity.end, entity.category, "gold")
        for subject in sample.subjects
        for entity in subject.entities
    }
    return sorted(found.values())


def less(texts: Iterable[str], needed: Sequence[str]) -> list[str]:
    """Return the texts that are not among those needed, each once, in order: what is masked (PII-Bench, 3.1)."""
    kept = set(map(comparable_text, needed))
    return [text for text in dict.fromkeys(texts) if comparable_text(text) not in kept]


def _predict(
    system: str,
    sample: Sample,
    subjects: list[PredictedSubject],
    spans: Sequence[EntitySpan],
    *,
    mask_all: bool = False,
) -> Prediction:
    text = sample.description
    related = [] if mask_all else needed_spans(text, spans, sample.query)
    needed = list(dict.fromkeys(text[span.start : span.end] for span in related))
    masked = less((text[span.start : span.end] for span in spans), needed)
    return Prediction(sample=sample.id, system=system, subjects=subjects, query_related=needed, masked=masked)


def _subject(sample: Sample, spans: Iterable[EntitySpan]) -> PredictedSubject:
    texts = ((sample.description[span.start : span.end], categories()[span.category].type) for span in spans)
    return PredictedSubject(entities=[PredictedEntity(text=text, type=kind) for text, kind in dict.fromkeys(texts)])
