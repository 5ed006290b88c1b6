"""Small samples of the benchmark, and predictions of them, written by hand."""

from collections.abc import Iterable
from typing import Any

from clinaudit.audit.pii.benchmark.sample import (
    Entity,
    NeededEntity,
    PredictedEntity,
    PredictedSubject,
    Prediction,
    Sample,
)
from clinaudit.audit.pii.benchmark.scoring.bench_figures import SampleCounter
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.reports.schema.pii_bench import BenchStatistics, BenchSubset


def sample_of(description: str, *subjects: dict[str, str], needed: tuple[str, ...] = (), sample: str = "q1") -> Sample:
    """A sample of subjects, each `{text: category}`; every text stands once in the description."""
    return Sample(
        id=sample,
        subset="single" if len(subjects) == 1 else "multi",
        domain="clinical",
        description=description,
        query="What is advised?",
        scene="test",
        subjects=[
            {"id": f"s{number}", "entities": [entity_of(description, *pair) for pair in subject.items()]}
            for number, subject in enumerate(subjects)
        ],
        query_related=[
            NeededEntity(text=text, subject=f"s{number}")
            for number, subject in enumerate(subjects)
            for text in needed
            if text in subject
        ],
        seed=0,
        generator="hand",
    )


def entity_of(description: str, text: str, category: str) -> Entity:
    """The entity of a text that stands once in a description."""
    start = description.index(text)
    return Entity(text=text, type=categories()[category].type, category=category, start=start, end=start + len(text))


def prediction_of(
    *subjects: list[tuple[str, Any]], sample: str = "q1", system: str = "rules", **answers: list[str]
) -> Prediction:
    """A prediction of subjects, each a list of texts and types; `answers`: `query_related` and `masked`."""
    return Prediction(
        sample=sample,
        system=system,
        subjects=[
            PredictedSubject(entities=[PredictedEntity(text=text, type=kind) for text, kind in subject])
            for subject in subjects
        ]
        or None,
        **answers,
    )


def statistics_of(samples: Iterable[Sample]) -> dict[BenchSubset, BenchStatistics]:
    """What a counter makes of samples of one domain."""
    counter = SampleCounter()
    for sample in samples:
        counter.add(sample)
    return {row.subset: row for row in counter.statistics()}
