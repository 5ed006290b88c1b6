"""The samples of a benchmark, and those that a system is trained on: other seeds, so that no sample is in both.

Owns how many of each subset are drawn. Values are composed of closed vocabularies, so that single values do recur in
both; which ones do is told (`seen_texts`), and figures are given apart for them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, get_args

from clinaudit.audit.pii.benchmark.answers.system_answers import gold_spans
from clinaudit.audit.pii.benchmark.generator.generation import PAPER_COUNTS, generate_samples
from clinaudit.audit.pii.benchmark.samples.sample import Domain, Sample, Subset
from clinaudit.audit.pii.benchmark.scoring.matching import comparable_text
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.systems.labelled_text import LabelledText

SUBSETS: Final[tuple[Subset, ...]] = get_args(Subset)
DOMAINS: Final[tuple[Domain, ...]] = get_args(Domain)
#: Samples to train on, of both domains together.
TRAINING_SAMPLES: Final = 2000
#: Of the training samples: long ones teach as much as several short ones, and take as long.
_TRAINING_SHARES: Final[Mapping[Subset, float]] = {"single": 0.46, "multi": 0.46, "hard": 0.04, "distract": 0.04}
#: Added to the seed of the samples that a system is trained on; no user's seed is likely to differ from another by it.
_TRAINING_SEED: Final = 7_919_000_003


def draw_samples(*, each: int | None, subsets: Iterable[Subset], domains: Iterable[Domain], seed: int) -> list[Sample]:
    """Return `each` samples of each subset and domain; None: as many as the paper has."""
    wanted = [subset for subset in SUBSETS if subset in set(subsets)]
    counts = {subset: PAPER_COUNTS[subset] if each is None else each for subset in wanted}
    return [
        sample
        for domain in DOMAINS
        if domain in set(domains)
        for sample in generate_samples(counts=counts, domain=domain, seed=seed)
    ]


def draw_training_samples(*, number: int, domains: Sequence[Domain], seed: int) -> list[Sample]:
    """Return samples to train on, about `number` in all domains together."""
    counts = {subset: max(1, round(number / len(domains) * share)) for subset, share in _TRAINING_SHARES.items()}
    return [
        sample
        for domain in domains
        for sample in generate_samples(counts=counts, domain=domain, seed=seed + _TRAINING_SEED)
    ]


def labelled(samples: Iterable[Sample]) -> list[LabelledText]:
    """Return samples as texts with spans."""
    return [LabelledText(sample.description, tuple(_apart(sample))) for sample in samples]


def seen_texts(samples: Iterable[Sample]) -> frozenset[str]:
    """Return the texts of all entities, as scores compare them."""
    return frozenset(
        comparable_text(entity.text) for sample in samples for subject in sample.subjects for entity in subject.entities
    )


def _apart(sample: Sample) -> Iterator[EntitySpan]:
    end = 0
    for span in gold_spans(sample):
        if span.start >= end:
            end = span.end
            yield span
