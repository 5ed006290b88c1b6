"""Samples written as marked text: `[A full_name|Mae Ott]` is an entity of subject A; `*` after the category: needed."""

import re

from clinaudit.audit.pii.benchmark.sample import Entity, NeededEntity, Sample, Subject
from clinaudit.audit.pii.review.review_file import Review, ReviewedEntity, SampleReview
from clinaudit.audit.pii.taxonomy import categories

_MARK = re.compile(r"\[(\w+) (\w+)(\*?)\|([^]]+)\]")


def sample_of(marked: str, *, key: str = "s1", query: str = "What should be done?") -> Sample:
    text = ""
    entities: dict[str, list[Entity]] = {}
    needed: dict[tuple[str, str], NeededEntity] = {}
    for start, end, category, subject, is_needed in _places(marked):
        text = _plain(marked)
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
        subset="single",
        domain="general",
        description=text or _plain(marked),
        query=query,
        scene="test",
        subjects=[Subject(id=subject, entities=found) for subject, found in entities.items()],
        query_related=list(needed.values()),
        seed=0,
        generator="by hand",
    )


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


def _plain(marked: str) -> str:
    return _MARK.sub(lambda found: found[4], marked)


def _places(marked: str) -> list[tuple[int, int, str, str, bool]]:
    places = []
    removed = 0
    for found in _MARK.finditer(marked):
        start = found.start() - removed
        end = start + len(found[4])
        removed += len(found[0]) - len(found[4])
        places.append((start, end, found[2], found[1], bool(found[3])))
    return places
