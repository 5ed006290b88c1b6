"""People who check samples: the page that they work on, `review-NAME.json` that one of them makes, and their agreement.

A review holds offsets and categories and no text, so that neither the browser nor a file copied about keeps the words
of a patient. Of samples only that is checked without which no place can be shown: whatever else is wrong with one is
for people to see.

How far reviewers agree is told by observed agreement and Fleiss' kappa (PII-Bench, G.5 and Table 22). What is rated,
since the paper does not say:

- detection: each place that the draft or any reviewer marks. A reviewer's answer is its category and its subject (or
  subjects, where several share it), or that nothing stands there.
- query-related: each entity, by subject and text, that the draft or any reviewer marks. The answer is needed or not.

Kappa of fewer than all reviewers cannot be pooled, so a sample counts once all of them have done the task.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from clinaudit.audit.pii.benchmark import sample as of_sample
from clinaudit.audit.pii.benchmark.sample import CHECKED, Sample, check_places, describe_faults, place_problems
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.runtime.run.directory import making_folder, sha256_of, write_atomically
from clinaudit.audit.statistics import intervals
from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.statistics.intervals import Counts, kappa_of, observed_agreement
from clinaudit.audit.statistics.patient_means import values_of
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import find_file, open_file, printable
from clinaudit.priors.corpus.records import Problems
from clinaudit.reports.pages.benchmarks import render_review
from clinaudit.reports.schema.record import Estimate, Record, round_floats

REVIEW_PAGE: Final = "review.html"
#: Whether the reviewer left a draft as it was.
Decision = Literal["accepted", "corrected"]


class ReviewedEntity(Record):
    """One marked place of one subject, half-open; what two subjects share is marked of each, in one category."""

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
    problems, reviews, reviewers = Problems(), list[Review](), dict[str, str]()
    for path in paths:
        name = printable(path.name)
        try:
            with open_file(find_file(path, name, {".json": ("json", None)})) as file:
                review = Review.model_validate_json(file.read().removeprefix(b"\xef\xbb\xbf"), strict=True)
        except BadInputError as error:
            problems.add(name, error.message)
            continue
        except ValidationError as error:
            for field, what in describe_faults(error):
                problems.add(name, f"{what}; download the review again from the page", column=field)
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
    """Read samples by their ids, and the SHA-256 of the file; raises `BadInputError` with all problems."""
    return {sample.id: sample for sample in of_sample.iter_samples(path, check=check_places)}, sha256_of(path)


def write_review_page(samples: Sequence[Sample], out: Path, *, digest: str) -> None:
    """Write `out`/review.html, a new place, on which the samples are checked."""
    listed = [{name: getattr(one, name) for name in ("id", "name", "type", "tag")} for one in categories().values()]
    drafts = [
        sample.model_dump(include={"id", "subset", "description", "query"})
        | {"entities": [entity.model_dump() for entity in draft_of(sample)]}
        for sample in samples
    ]
    page = render_review(drafts, listed, digest=digest)
    with making_folder(out) as folder:
        write_atomically(folder / REVIEW_PAGE, page)


def require_new_place(out: Path) -> None:
    """Raise `BadInputError` unless nothing or an empty folder is at `out`: an older page may be open in a browser."""
    if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        raise BadInputError(f"{printable(out.name)} exists, and is not overwritten; give --out a new name")


def draft_of(sample: Sample) -> list[ReviewedEntity]:
    """Return what a sample marks, as a review does, by place."""
    needed = {(one.subject, one.text) for one in sample.query_related}
    entities = [
        ReviewedEntity(
            start=one.start,
            end=one.end,
            category=one.category,
            subject=subject.id,
            needed=(subject.id, one.text) in needed,
        )
        for subject in sample.subjects
        for one in subject.entities
    ]
    return sorted(entities, key=attrgetter("start"))


ReviewTask = Literal["detection", "query_related"]
REVIEW_TASKS: Final[tuple[ReviewTask, ...]] = ("detection", "query_related")
#: Samples below which kappa is not reported: over 3 to 5 samples the bootstrap's 95% interval held the true kappa in
#: 68 to 85% of simulations (three reviewers, faults clustered by sample), over 10 in 86 to 88%, over 30 and 50 in 91 to
#: 94%.
FEWEST_SAMPLES: Final = 10
#: A sample whose kappa is below goes to an expert: "substantial" begins at 0.6 (Landis and Koch 1977).
EXPERT_BELOW: Final = 0.6
_RESAMPLES: Final = 1000
_NOBODY: Final = "no sample was done by every reviewer"
_ALIKE: Final = "every reviewer gave one and the same answer throughout, so that chance cannot be told from agreement"
_TOO_FEW: Final = f"too few samples to say; at least {FEWEST_SAMPLES} are needed that every reviewer did"
_FEW_BEAR: Final = "too few samples to say: in nearly all of them every reviewer gave one and the same answer"

#: A place, or a subject and a text.
Item = tuple[int, int] | tuple[str, str]


class Agreement(Record):
    """Reviewers on one task, over the samples that all of them did."""

    samples: int
    #: Samples that somebody did, but not everybody.
    incomplete: int
    items: int
    #: The share of pairs of reviewers who give an item the same answer, mean over items.
    observed: float | None
    #: Fleiss' kappa with its 95% interval, or why there is none: percentile bootstrap over samples; where each resample
    #: gives the same, Clopper and Pearson's of the observed agreement, with chance as it is.
    kappa: Estimate


class SampleAgreement(Record):
    """One sample that an expert should see, and why."""

    id: str
    task: ReviewTask
    items: int
    observed: float
    kappa: float


class AgreementReport(Record):
    """What `clinaudit pii review --reviews` writes of the reviewers; it holds no words of a sample."""

    #: How many samples there are, and the SHA-256 of their file.
    samples: int
    digest: str
    reviewers: list[str]
    #: Samples done by each reviewer.
    done: list[int]
    agreement: dict[ReviewTask, Agreement]
    expert_below: float = EXPERT_BELOW
    #: Samples below it, the worst first.
    for_expert: list[SampleAgreement]
    #: Samples whose masked text somebody found hard to read.
    unreadable: list[str]


def measure_reviews(
    samples: Mapping[str, Sample], reviews: Sequence[Review], *, digest: str, seed: int
) -> AgreementReport:
    """Return how far two or more reviewers agree, and the samples for an expert."""
    by_sample = grouped((item for review in reviews for item in review.reviews), attrgetter("id"))
    measured: dict[ReviewTask, Agreement] = {}
    expert = []
    for at, task in enumerate(REVIEW_TASKS):
        # Whoever did the second task did the first.
        done = {key: [item for item in items if getattr(item, task)] for key, items in sorted(by_sample.items())}
        rated = {
            key: list(rate(task, samples[key], items).values())
            for key, items in done.items()
            if len(items) == len(reviews)
        }
        answers = sorted({answer for items in rated.values() for given in items for answer in given})
        #: The counts of each sample that has an item; the columns of all are the same.
        tables: dict[str, Counts] = {
            key: np.array([[given.count(answer) for answer in answers] for given in items], dtype=np.int64)
            for key, items in rated.items()
            if items
        }
        counts = np.concatenate(list(tables.values())) if tables else np.empty((0, 0), dtype=np.int64)
        measured[task] = Agreement(
            samples=len(tables),
            incomplete=sum(0 < len(items) < len(reviews) for items in done.values()),
            items=len(counts),
            observed=observed_agreement(counts) if tables else None,
            kappa=_measure_kappa(list(tables.values()), counts, np.random.default_rng((seed, at))),
        )
        expert += [
            SampleAgreement(id=key, task=task, items=len(counts), observed=observed_agreement(counts), kappa=kappa)
            for key, counts in tables.items()
            if (kappa := kappa_of(counts)) is not None and kappa < EXPERT_BELOW
        ]
    return AgreementReport(
        samples=len(samples),
        digest=digest,
        reviewers=[review.reviewer for review in reviews],
        done=[len(review.reviews) for review in reviews],
        agreement=measured,
        for_expert=sorted(expert, key=attrgetter("kappa", "id", "task")),
        unreadable=sorted(
            key for key, items in by_sample.items() if any(item.masked == "unreadable" for item in items)
        ),
    )


def write_agreement(report: AgreementReport, path: Path) -> None:
    """Write the agreement to the new file `path`, mode 0600."""
    document = round_floats(report.model_dump(mode="json"))
    write_atomically(path, json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def rate(task: ReviewTask, sample: Sample, items: Sequence[SampleReview]) -> dict[Item, list[str]]:
    """Return each reviewer's answer to each item: `city of A, B`, or `needed`; empty: it is not marked."""

    def marks(entities: Iterable[ReviewedEntity]) -> dict[Item, str]:
        if task == "query_related":
            text = sample.description
            return {(each.subject, text[each.start : each.end]): "needed" if each.needed else "" for each in entities}
        return {
            place: f"{same[0].category} of {', '.join(sorted(each.subject for each in same))}"
            for place, same in grouped(entities, attrgetter("start", "end")).items()
        }

    draft, *given = map(marks, (draft_of(sample), *(one.entities for one in items)))
    return {item: [answers.get(item, "") for answers in given] for item in sorted(set(draft).union(*given))}


def _measure_kappa(tables: Sequence[Counts], counts: Counts, rng: np.random.Generator) -> Estimate:
    """Return the kappa of the counts of all samples, which `tables` hold one by one."""
    kappa = kappa_of(counts) if tables else None
    if kappa is None:
        return Estimate(value=None, reason=_ALIKE if tables else _NOBODY)
    if len(tables) < FEWEST_SAMPLES:
        return Estimate(value=None, reason=_TOO_FEW)
    drawn = rng.integers(len(tables), size=(_RESAMPLES, len(tables)))
    resampled = [kappa_of(np.concatenate([tables[at] for at in draw])) for draw in drawn]
    ends = intervals.interval_of_resamples(values_of(resampled))
    if ends is None:
        return Estimate(value=None, reason=_FEW_BEAR)
    # But for rounding.
    if ends[1] - ends[0] <= 1e-9:
        by_chance = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())
        low, high = intervals.bounds_of_mean(observed_agreement(counts) * len(tables), len(tables))
        ends = (low - by_chance) / (1 - by_chance), (high - by_chance) / (1 - by_chance)
    return Estimate(value=kappa, low=ends[0], high=ends[1])
