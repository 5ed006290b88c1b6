"""`samples.jsonl` as the review reads it: every sample, and the digest of the file.

Owns the checks without which no place can be shown, and no more: whatever else is wrong with a sample is for people to
correct, and is checked once they have. Problems name row and field, never content.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from clinaudit.audit.pii.benchmark.samples.sample import Sample
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.run.durable_files import sha256_of
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import find_file, iter_lines, printable
from clinaudit.priors.corpus.problems import Problems


@dataclass(frozen=True, slots=True)
class SampleFile:
    """The samples in the order of the file, by id, and the SHA-256 of the file."""

    samples: Mapping[str, Sample]
    digest: str


def read_sample_file(path: Path) -> SampleFile:
    """Read a `.jsonl` of samples; raises `BadInputError` with all problems, by row and field."""
    problems = Problems()
    name = printable(path.name)
    try:
        file = find_file(path, name)
    except BadInputError as error:
        raise BadInputError(f"the samples {name} cannot be read", [f"{name}: {error.message}"]) from None
    samples: dict[str, Sample] = {}
    for row, line in enumerate(iter_lines(file), 1):
        if not line.strip():
            continue
        try:
            sample = Sample.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
            problems.add(name, "is not as a sample needs it", row=row, column=".".join(map(str, first["loc"])))
            continue
        if sample.id in samples:
            problems.add(name, "stood in a row above already", row=row, column="id")
        samples[sample.id] = sample
        for wrong in check_places(sample):
            problems.add(name, wrong, row=row, column="subjects")
    if not samples and not len(problems):
        problems.add(name, "has no rows")
    problems.raise_any("the samples")
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
        if category not in categories():
            wrong.append("a category is not in the taxonomy")
        if sample.description[start:end] != text:
            wrong.append("the text at an entity's place is another")
        if start < before:
            wrong.append("two entities overlap")
        before = end
    if any((needed.subject, needed.text) not in held for needed in sample.query_related):
        wrong.append("a needed entity is none of the entities")
    return sorted(set(wrong))


def samples_text(samples: list[Sample]) -> str:
    """Return the JSONL of samples."""
    lines = (json.dumps(sample.model_dump(mode="json"), ensure_ascii=False) for sample in samples)
    return "".join(f"{line}\n" for line in lines)
