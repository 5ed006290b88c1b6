"""What two or more reviews give: how far they agree, the samples corrected by majority, and those that stay open.

More than half of the reviewers of a sample must give the same answer. No sample is dropped: `samples.jsonl` and
`unresolved.jsonl` together hold every one.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clinaudit.audit.pii.benchmark.sample import Entity, NeededEntity, Sample, Subject
from clinaudit.audit.pii.review.agreement import (
    AgreementReport,
    group_reviews,
    rate_detection,
    rate_relevance,
    read_place_answer,
)
from clinaudit.audit.pii.review.review_file import Review, SampleFile, SampleReview, require_new_place, samples_text
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.runtime.run.durable_files import making_folder, write_atomically
from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.results import round_floats

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


AGREEMENT: Final = "agreement.json"
CORRECTED: Final = "samples.jsonl"
UNRESOLVED: Final = "unresolved.jsonl"


class OpenSample(Record):
    """A sample without a majority in everything, and why, by place."""

    id: str
    reasons: list[str]


class Outcome(Record):
    """What became of every sample."""

    #: Of them some as they were, some corrected; together `samples.jsonl`.
    as_they_were: int
    corrected: list[str]
    #: In `unresolved.jsonl`, as they were before the review.
    unresolved: list[OpenSample]


def write_agreement(report: AgreementReport, path: Path) -> None:
    """Write the agreement alone to the new file `path`, mode 0600."""
    require_new_place(path)
    write_atomically(path, _json({"agreement": report.model_dump(mode="json")}))


def write_outcome(
    file: SampleFile,
    reviews: Sequence[Review],
    report: AgreementReport,
    out: Path,
    *,
    check: Callable[[Sample], list[str]],
) -> Outcome:
    """Write agreement.json, samples.jsonl and unresolved.jsonl to the new or empty folder `out`, mode 0700."""
    require_new_place(out)
    by_sample = group_reviews(reviews)
    resolved = {
        key: resolve_sample(sample, by_sample.get(key, ()), check=check) for key, sample in file.samples.items()
    }
    settled = {key: each for key, each in resolved.items() if not each.open}
    outcome = Outcome(
        as_they_were=sum(not each.is_changed for each in settled.values()),
        corrected=[key for key, each in settled.items() if each.is_changed],
        unresolved=[OpenSample(id=key, reasons=list(each.open)) for key, each in resolved.items() if each.open],
    )
    document = {"agreement": report.model_dump(mode="json"), "outcome": outcome.model_dump(mode="json")}
    with making_folder(out) as folder:
        write_atomically(folder / CORRECTED, samples_text([each.sample for each in settled.values()]))
        write_atomically(folder / UNRESOLVED, samples_text([each.sample for each in resolved.values() if each.open]))
        write_atomically(folder / AGREEMENT, _json(document))
    return outcome


def _json(document: object) -> str:
    return json.dumps(round_floats(document), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
