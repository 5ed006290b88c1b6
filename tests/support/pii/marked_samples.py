"""Samples written as marked text: `[A full_name|Mae Ott]` is an entity of subject A, one of AB of A and of B.

`*` after the category: needed.
"""

import re
from collections.abc import Iterable
from typing import Any

from clinaudit.audit.pii.benchmark.sample import (
    Entity,
    NeededEntity,
    PredictedEntity,
    PredictedSubject,
    Prediction,
    Sample,
    Subject,
)
from clinaudit.audit.pii.benchmark.scoring import describe_samples
from clinaudit.audit.pii.review.review_file import Review, ReviewedEntity, SampleReview
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.reports.schema.pii_bench import BenchStatistics, BenchSubset

_MARK = re.compile(r"\[(\w+) (\w+)(\*?)\|([^]]+)\]")


def sample_of(marked: str, *, key: str = "s1", query: str = "What should be done?") -> Sample:
    text = _MARK.sub(lambda found: found[4], marked)
    entities: dict[str, list[Entity]] = {}
    needed: dict[tuple[str, str], NeededEntity] = {}
    for start, end, category, subject, is_needed in _places(marked):
        words = text[start:end]
        known = sum(entity.text == words for entity in entities.get(subject, []))
        entities.setdefault(subject, []).append(
            Entity(
                text=words, type=categories()[category].type, category=category, start=start, end=end, occurrence=known
            )
        )
        if is_needed:
            needed[subject, words] = NeededEntity(text=words, subject=subject)
    return Sample(
        id=key,
        subset="single" if len(entities) == 1 else "multi",
        domain="clinical",
        description=text,
        query=query,
        scene="test",
        subjects=[Subject(id=subject, entities=found) for subject, found in entities.items()],
        query_related=list(needed.values()),
        seed=0,
        generator="by hand",
    )


def prediction_of(
    *subjects: list[tuple[str, Any]], sample: str = "s1", system: str = "rules", **answers: list[str]
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
    """The statistics of samples of one domain."""
    return {row.subset: row for row in describe_samples(samples)}


def review_of(marked: str, *, key: str = "s1", done: bool = True, changed: bool = False) -> SampleReview:
    """What a reviewer made of a sample, written as a sample is; `done` without step 2 and 3 otherwise."""
    return SampleReview(
        id=key,
        entities=[
            ReviewedEntity(start=start, end=end, category=category, subject=subject, needed=needed)
            for start, end, category, subject, needed in _places(marked)
        ],
        detection="corrected" if changed else "accepted",
        query_related="accepted" if done else None,
        masked="readable" if done else None,
    )


def review(reviewer: str, *items: SampleReview, digest: str = "d") -> Review:
    return Review(review="1.0", samples=digest, reviewer=reviewer, reviews=list(items))


def _places(marked: str) -> list[tuple[int, int, str, str, bool]]:
    places = []
    removed = 0
    for found in _MARK.finditer(marked):
        start = found.start() - removed
        end = start + len(found[4])
        removed += len(found[0]) - len(found[4])
        places += [(start, end, found[2], subject, bool(found[3])) for subject in found[1]]
    return places


_FIRST = (
    "😀 [A full_name|Mae Ott], [A age|34], of [A city|Bern] asks Dr. [B full_name|Ivo Lang] <b>again</b> about her "
    "[A medical_condition*|asthma]. Her sister is also 34 and lives in Bern. She can be reached at "
    "[A phone|555-0143]; asthma runs in the family."
)
_SECOND = "[A nickname|Buddy] earns [A monthly_income*|$4,200] and pays [A monthly_expenses*|$3,900] a month."


def planted_samples() -> list[Sample]:
    first = sample_of(_FIRST, key="s1", query="Which inhaler would help? <script>alert(1)</script>")
    second = sample_of(_SECOND, key="s2", query="How much could be saved in a year?")
    long = sample_of(" ".join([_SECOND, "Nothing else was said."] * 40), key="s3", query="What is left at the end?")
    return [first, second, long]
