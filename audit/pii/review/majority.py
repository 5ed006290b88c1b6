"""What most reviewers say of a sample, as the sample corrected; what has no majority stays open and is listed.

Owns the vote. More than half of the reviewers of a sample must give the same answer. No sample is dropped: one that
stays open is kept as it was, apart from the corrected ones.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clinaudit.audit.pii.benchmark.samples.sample import Entity, NeededEntity, Sample, Subject
from clinaudit.audit.pii.review.agreement import rate_detection, rate_relevance, read_place_answer
from clinaudit.audit.pii.review.review_file import SampleReview
from clinaudit.audit.pii.taxonomy import categories

#: Start, end, category, subject.
_Mark = tuple[int, int, str, str]
#: Fewer give no majority.
MIN_REVIEWERS = 2


@dataclass(frozen=True, slots=True)
class Resolution:
    """One sample: as it is now, and why it stays open, without content; corrected where nothing stays open."""

    sample: Sample
    open: tuple[str, ...]
    is_changed: bool = False


def resolve_sample(
    sample: Sample, items: Sequence[SampleReview], *, check: Callable[[Sample], list[str]]
) -> Resolution:
    """Return the sample by the majority of its reviewers; `check` names what is wrong with one, without content."""
    done = [item for item in items if item.query_related is not None]
    if len(done) < MIN_REVIEWERS:
        return Resolution(sample, (f"reviewed in full by {len(done)}, which makes no majority",))
    open_places = []
    marked: set[_Mark] = set()
    for (start, end), answers in rate_detection(sample, done).items():
        answer = _majority(answers)
        if answer is None:
            open_places.append(f"characters {start} to {end}: no majority on what stands there")
        elif answer:
            category, subjects = read_place_answer(answer)
            marked |= {(start, end, category, subject) for subject in subjects}
    corrected_subjects = _subjects(sample, marked)
    held = {(subject.id, entity.text) for subject in corrected_subjects for entity in subject.entities}
    needed = []
    for (subject_id, text), answers in rate_relevance(sample, done).items():
        answer = _majority(answers)
        if answer is None and (subject_id, text) in held:
            start = sample.description.find(text)
            open_places.append(f"the entity first at character {start}: no majority on whether it is needed")
        elif answer and (subject_id, text) in held:
            needed.append(NeededEntity(text=text, subject=subject_id))
    if open_places:
        return Resolution(sample, tuple(open_places))
    if sorted(needed, key=_key) == sorted(sample.query_related, key=_key):
        needed = sample.query_related
    corrected = sample.model_copy(update={"subjects": corrected_subjects, "query_related": needed})
    if wrong := check(corrected):
        return Resolution(sample, tuple(f"the majority's version is not sound: {problem}" for problem in wrong))
    return Resolution(corrected, (), is_changed=corrected != sample)


def _majority(answers: Sequence[str]) -> str | None:
    answer, count = Counter(answers).most_common(1)[0]
    return answer if 2 * count > len(answers) else None


def _subjects(sample: Sample, marked: set[_Mark]) -> list[Subject]:
    """Return the subjects, those of the sample first; one of whom nothing is marked any more is left out."""
    as_they_were = {
        (entity.start, entity.end, entity.category, subject.id)
        for subject in sample.subjects
        for entity in subject.entities
    }
    if marked == as_they_were:
        return sample.subjects
    types = categories()
    entities: dict[str, list[Entity]] = {subject.id: [] for subject in sample.subjects}
    seen: Counter[tuple[str, str]] = Counter()
    for start, end, category, subject in sorted(marked):
        text = sample.description[start:end]
        occurrence = seen[subject, text]
        seen[subject, text] += 1
        entities.setdefault(subject, []).append(
            Entity(
                text=text,
                type=types[category].type,
                category=category,
                start=start,
                end=end,
                occurrence=occurrence,
            )
        )
    return [Subject(id=subject, entities=found) for subject, found in entities.items() if found]


def _key(needed: NeededEntity) -> tuple[str, str]:
    return needed.subject, needed.text
