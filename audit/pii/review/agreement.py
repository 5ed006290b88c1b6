"""How far reviewers agree: observed agreement and Fleiss' kappa (PII-Bench, G.5 and Table 22).

Owns what is rated, by whom, and which samples an expert should see. What is rated, since the
paper does not say:

- detection: each place that the draft or any reviewer marks. A reviewer's answer is its category and its subject (or
  subjects, where several share it), or that nothing stands there.
- query-related: each entity, by subject and text, that the draft or any reviewer marks. The answer is needed or not.

Kappa of fewer than all reviewers cannot be pooled, so a sample counts once all of them have done the task.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Final, Literal

import numpy as np

from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.review.review_file import Review, ReviewedEntity, SampleReview, draft_of
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.statistics.agreement import Counts, kappa_of, observed_agreement
from clinaudit.audit.statistics.grouping import grouped
from clinaudit.audit.statistics.intervals import bounds_of_mean, interval_of_resamples
from clinaudit.audit.statistics.patient_means import values_of
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import Record, round_floats

ReviewTask = Literal["detection", "query_related"]
REVIEW_TASKS: Final[tuple[ReviewTask, ...]] = ("detection", "query_related")
#: Samples below which kappa is not reported: over 3 to 5 samples the bootstrap's 95% interval held the true kappa in
#: 68 to 85% of simulations (three reviewers, faults clustered by sample), over 10 in 86 to 88%, over 30 and 50 in 91 to
#: 94%.
FEWEST_SAMPLES: Final = 10
#: A sample whose kappa is below goes to an expert: "substantial" begins at 0.6 (Landis and Koch 1977).
EXPERT_BELOW: Final = 0.6
RESAMPLES: Final = 1000
#: Kappas that differ by less are one, but for rounding.
_SAME: Final = 1e-9
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
    #: Of each reviewer: samples done, and those of them left as they were.
    done: list[int]
    left_as_they_were: list[int]
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
        tables = _tabulate(
            {
                key: list(rate(task, samples[key], items).values())
                for key, items in done.items()
                if len(items) == len(reviews)
            }
        )
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
    decisions = [[(item.detection, item.query_related) for item in review.reviews] for review in reviews]
    return AgreementReport(
        samples=len(samples),
        digest=digest,
        reviewers=[review.reviewer for review in reviews],
        done=[len(made) for made in decisions],
        left_as_they_were=[sum("corrected" not in each for each in made) for made in decisions],
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
    """Return the answer of each reviewer to each item, in order.

    Of a place `city of A`, `city of A, B` where both share it; of an entity `needed`; empty of what is not marked.
    """

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


def _tabulate(rated: Mapping[str, list[list[str]]]) -> dict[str, Counts]:
    """Return the counts of each sample that has an item; the columns of all are the same."""
    answers = sorted({answer for items in rated.values() for given in items for answer in given})
    return {
        key: np.array([[given.count(answer) for answer in answers] for given in items], dtype=np.int64)
        for key, items in rated.items()
        if items
    }


def _measure_kappa(tables: Sequence[Counts], counts: Counts, rng: np.random.Generator) -> Estimate:
    """Return the kappa of the counts of all samples, which `tables` hold one by one."""
    kappa = kappa_of(counts) if tables else None
    if kappa is None:
        return Estimate(value=None, reason=_ALIKE if tables else _NOBODY)
    if len(tables) < FEWEST_SAMPLES:
        return Estimate(value=None, reason=_TOO_FEW)
    drawn = rng.integers(len(tables), size=(RESAMPLES, len(tables)))
    resampled = [kappa_of(np.concatenate([tables[at] for at in draw])) for draw in drawn]
    ends = interval_of_resamples(values_of(resampled))
    if ends is None:
        return Estimate(value=None, reason=_FEW_BEAR)
    if ends[1] - ends[0] <= _SAME:
        by_chance = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())
        low, high = bounds_of_mean(observed_agreement(counts) * len(tables), len(tables))
        ends = (low - by_chance) / (1 - by_chance), (high - by_chance) / (1 - by_chance)
    return Estimate(value=kappa, low=ends[0], high=ends[1])
