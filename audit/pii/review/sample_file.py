"""`samples.jsonl` as the review reads it: every sample, and the digest of the file.

Owns the checks without which no place can be shown, and no more: whatever else is wrong with a sample is for people to
correct, and is checked once they have.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clinaudit.audit.pii.benchmark.samples.sample import Sample
from clinaudit.audit.pii.benchmark.samples.sample_file import iter_samples
from clinaudit.audit.pii.review.review_file import subject_fault
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.run.durable_files import sha256_of


@dataclass(frozen=True, slots=True)
class SampleFile:
    """The samples in the order of the file, by id, and the SHA-256 of the file."""

    samples: Mapping[str, Sample]
    digest: str


def read_sample_file(path: Path) -> SampleFile:
    """Read a `.jsonl` of samples; raises `BadInputError` with all problems, by row and field."""
    samples = {sample.id: sample for sample in iter_samples(path, Sample, check=check_places)}
    return SampleFile(samples, sha256_of(path))


def check_places(sample: Sample) -> list[str]:
    """Return what is wrong with the places of a sample and with what it needs, without content."""
    # What two subjects share stands at one place.
    places = sorted(
        {
            (entity.start, entity.end, entity.text, entity.category)
            for subject in sample.subjects
            for entity in subject.entities
        }
    )
    held = {(subject.id, entity.text) for subject in sample.subjects for entity in subject.entities}
    before = 0
    wrong = []
    for start, end, text, category in places:
        if not 0 <= start < end <= len(sample.description):
            wrong.append("an entity's place lies outside the text, or is empty")
        if category not in categories():
            wrong.append("a category is not in the taxonomy")
        if sample.description[start:end] != text:
            wrong.append("the text at an entity's place is another")
        if start < before:
            wrong.append("two entities overlap")
        before = end
    subjects = [subject.id for subject in sample.subjects]
    if len(set(subjects)) < len(subjects):
        wrong.append("two subjects have one id")
    wrong += [f"a subject's id {fault}" for subject in subjects if (fault := subject_fault(subject)) is not None]
    if any((needed.subject, needed.text) not in held for needed in sample.query_related):
        wrong.append("a needed entity is none of the entities")
    return sorted(set(wrong))


def samples_text(samples: list[Sample]) -> str:
    """Return the JSONL of samples."""
    lines = (json.dumps(sample.model_dump(mode="json"), ensure_ascii=False) for sample in samples)
    return "".join(f"{line}\n" for line in lines)
