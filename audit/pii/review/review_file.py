"""What a review reads and writes: `samples.jsonl`, `review.html`, and `review-NAME.json`, which one person makes.

A review holds offsets and categories and no text, so that neither the browser nor a file copied about keeps the words
of a patient. Of samples only that is checked without which no place can be shown: whatever else is wrong with one is
for people to see.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from clinaudit.audit.pii.benchmark.sample import (
    CHECKED,
    Sample,
    check_places,
    describe_faults,
    iter_samples,
    place_problems,
)
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.runtime.run.durable_files import making_folder, sha256_of, write_atomically
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import find_file, open_file, printable
from clinaudit.priors.corpus.records import Problems
from clinaudit.reports.pages.pii_bench import render_review
from clinaudit.reports.schema.record import Record

REVIEW_PAGE: Final = "review.html"
#: Whether the reviewer left a draft as it was.
Decision = Literal["accepted", "corrected"]


class ReviewedEntity(Record):
    """One marked place of one subject: characters `start` to `end` of the description, half-open.

    What two subjects share, such as an employer, is marked once for each of them, at one place and in one category.
    """

    start: int
    end: int
    #: An id of the taxonomy.
    category: str
    subject: Annotated[str, Field(min_length=1)]
    #: Whether the question cannot be answered without it.
    needed: bool = False


def _reviewer(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise PydanticCustomError(CHECKED, "is blank, or holds a character that cannot be printed")
    return name


class SampleReview(Record):
    """What one reviewer made of one sample; a task that is not done yet is null."""

    id: str
    entities: list[ReviewedEntity]
    detection: Decision
    query_related: Decision | None = None
    #: Whether the text still reads well with what is not needed masked.
    masked: Literal["readable", "unreadable"] | None = None


class Review(Record):
    """All that one reviewer did."""

    review: Literal["1.0"]
    #: SHA-256 of the file of samples.
    samples: str
    reviewer: Annotated[str, Field(min_length=1, max_length=60), AfterValidator(_reviewer)]
    reviews: list[SampleReview]


def read_reviews(paths: Sequence[Path], samples: Mapping[str, Sample], *, digest: str) -> list[Review]:
    """Read the reviews of the samples, whose file has the SHA-256 `digest`.

    Raises `BadInputError` with all problems: a file that is no review, one of other samples, two of one reviewer, or
    places that do not fit their sample.
    """
    problems = Problems()
    reviews: list[Review] = []
    reviewers: dict[str, str] = {}
    for path in paths:
        name = printable(path.name)
        review = _read(path, name, problems)
        if review is None:
            continue
        reviews.append(review)
        if review.samples != digest:
            problems.add(name, "reviews other samples (another digest); give the file that the page was made of")
        elif (other := reviewers.setdefault(review.reviewer, name)) != name:
            problems.add(name, f"is of the reviewer of {other}; give one file a reviewer")
        elif not review.reviews:
            problems.add(name, "reviews no sample; let its reviewer check some, and download it again")
        else:
            for row, what in _faults(review, samples):
                problems.add(name, what, row=row, column="" if what.startswith("is of") else "entities")
    problems.raise_any("the reviews")
    return reviews


def _read(path: Path, name: str, problems: Problems) -> Review | None:
    try:
        with open_file(find_file(path, name, {".json": ("json", None)})) as file:
            return Review.model_validate_json(file.read().removeprefix(b"\xef\xbb\xbf"), strict=True)
    except BadInputError as error:
        problems.add(name, error.message)
    except ValidationError as error:
        for field, what in describe_faults(error):
            problems.add(name, f"{what}; download the review again from the page", column=field)
    return None


def _faults(review: Review, samples: Mapping[str, Sample]) -> Iterator[tuple[int, str]]:
    """Yield the rows of a review that do not fit the samples, and why."""
    seen: set[str] = set()
    for row, item in enumerate(review.reviews, 1):
        sample = samples.get(item.id)
        if sample is None or item.id in seen:
            yield row, "is of no sample" if sample is None else "is of a sample reviewed above"
            continue
        seen.add(item.id)
        text = sample.description
        marked = [(one.start, one.end, one.category, one.subject) for one in item.entities]
        needed = {(one.subject, text[one.start : one.end], one.needed) for one in item.entities}
        if wrong := place_problems(marked, len(text)):
            yield row, wrong[0]
        elif len({key[:2] for key in needed}) < len(needed):
            yield row, "holds one entity both as needed and as not needed"


def read_sample_file(path: Path) -> tuple[dict[str, Sample], str]:
    """Read a `.jsonl` of samples; return them by id, in the order of the file, and the SHA-256 of the file.

    Raises `BadInputError` with all problems, by row and field.
    """
    return {sample.id: sample for sample in iter_samples(path, check=check_places)}, sha256_of(path)


def write_review_page(
    samples: Sequence[Sample], out: Path, *, digest: str, draw: int | None = None, seed: int = 0
) -> int:
    """Write `out`/review.html, a new place, of all samples or of `draw` of them; return how many it shows."""
    shown = samples if draw is None else draw_samples(samples, draw, seed=seed)
    listed = [{name: getattr(one, name) for name in ("id", "name", "type", "tag")} for one in categories().values()]
    drafts = [
        sample.model_dump(include={"id", "subset", "description", "query"})
        | {"entities": [entity.model_dump() for entity in draft_of(sample)]}
        for sample in shown
    ]
    page = render_review(drafts, listed, digest=digest, found=len(samples))
    with making_folder(out) as folder:
        write_atomically(folder / REVIEW_PAGE, page)
    return len(shown)


def draw_samples(samples: Sequence[Sample], count: int, *, seed: int) -> list[Sample]:
    """Return `count` samples drawn without replacement, in the order of the file; all where there are fewer."""
    chosen = np.random.default_rng(seed).choice(len(samples), size=min(count, len(samples)), replace=False)
    return [samples[at] for at in sorted(chosen)]


def require_new_place(out: Path) -> None:
    """Raise `BadInputError` unless nothing is at `out`, or an empty folder; call it before the work.

    An older page may be open in a reviewer's browser, and samples may have been mended by hand.
    """
    if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        raise BadInputError(f"{printable(out.name)} exists, and is not overwritten; give --out a new name")


def draft_of(sample: Sample) -> list[ReviewedEntity]:
    """Return what a sample marks, as a review does, by place."""
    needed = {(one.subject, one.text) for one in sample.query_related}
    entities = [
        ReviewedEntity(
            start=entity.start,
            end=entity.end,
            category=entity.category,
            subject=subject.id,
            needed=(subject.id, entity.text) in needed,
        )
        for subject in sample.subjects
        for entity in subject.entities
    ]
    return sorted(entities, key=attrgetter("start"))
