"""Residual inference: how often a masked entity can be guessed from what is left (the limitation PII-Bench states).

Owns the question put to an adversary, and the count of what he recovers above the prior. Privacy P counts strings; this
counts what the text still tells. Two adversaries: prior_adversary.py, by rule; and any function that answers a
question, such as a served model asked for five guesses.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clinaudit.audit.pii.benchmark.privacy.masked_text import mask_texts, numbered_tags
from clinaudit.audit.pii.benchmark.privacy.prior_adversary import TOP, HiddenEntity, PriorAdversary, folded_value
from clinaudit.audit.pii.benchmark.samples.sample import Sample
from clinaudit.audit.pii.benchmark.scoring.matching import comparable_text
from clinaudit.audit.pii.benchmark.scoring.sample_means import (
    Counts,
    Values,
    difference_over_samples,
    share_over_samples,
)
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.reports.schema.numbers import Estimate


@dataclass(frozen=True, slots=True)
class InferenceQuestion:
    """What an adversary is asked: which value of `category` does `tag` stand for in `text`."""

    #: The masked description: every masked text is replaced by a tag of its own.
    text: str
    tag: str
    #: The category by its name, such as "City or region".
    category: str


#: Answers a question with guesses, the best first; those beyond the fifth do not count.
Guesser = Callable[[InferenceQuestion], Sequence[str]]


@dataclass(frozen=True, slots=True)
class InferenceOutcome:
    """What an adversary recovered of one masked entity."""

    sample: str
    #: An id of the taxonomy.
    category: str
    #: Whether his first guess, and one of his first five, is the value.
    recovered: bool
    recovered_in_five: bool
    #: The same of guesses made by category alone, without the text.
    prior: bool
    prior_in_five: bool
    #: Subjects who fit all that is visible of this one, itself included: k of k-anonymity.
    alike: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredShare:
    """How much is recovered of the masked entities of one category, or of all."""

    #: An id of the taxonomy; None: all.
    category: str | None
    masked: int
    #: The share whose value is the first guess; without the text; and the first less the second.
    recovered: Estimate
    prior: Estimate
    above_prior: Estimate
    #: The same of the first five guesses.
    recovered_in_five: Estimate
    prior_in_five: Estimate
    above_prior_in_five: Estimate
    #: The share that nobody else fits, by what is visible (k = 1).
    unique: Estimate


def infer_masked(
    samples: Sequence[Sample], masked: Mapping[str, Collection[str]], *, guess: Guesser | None = None
) -> list[InferenceOutcome]:
    """Return what is recovered of each masked entity; `masked` holds the texts masked in a sample, by its id.

    The adversary by rule knows all `samples` but the one he guesses in; `guess` replaces him, and the prior stays his.
    A sample that `masked` does not hold is known, and nothing is guessed in it.
    """
    adversary = PriorAdversary(samples)
    return [
        _measure(hidden, adversary, question, guess)
        for sample in samples
        for hidden, question in _questions(sample, masked.get(sample.id, ()))
    ]


def _questions(sample: Sample, masked: Collection[str]) -> Iterator[tuple[HiddenEntity, InferenceQuestion]]:
    texts = {comparable_text(text) for text in masked}
    is_masked = {
        entity.text
        for subject in sample.subjects
        for entity in subject.entities
        if comparable_text(entity.text) in texts
    }
    tags = numbered_tags(sample, is_masked)
    text = mask_texts(sample.description, tags) if tags else ""
    for subject in sample.subjects:
        visible = {
            (entity.category, folded_value(entity.text))
            for entity in subject.entities
            if entity.text not in is_masked and not categories()[entity.category].direct
        }
        hidden = {(entity.category, entity.text): None for entity in subject.entities if entity.text in is_masked}
        for category, value in hidden:
            yield (
                HiddenEntity(sample.id, category, folded_value(value), tuple(sorted(visible))),
                InferenceQuestion(text, tags[value], categories()[category].name),
            )


def _measure(
    hidden: HiddenEntity, adversary: PriorAdversary, question: InferenceQuestion, guess: Guesser | None
) -> InferenceOutcome:
    prior = adversary.guess_unseeing(hidden)
    guesses = adversary.guess(hidden) if guess is None else [folded_value(text) for text in guess(question)][:TOP]
    return InferenceOutcome(
        sample=hidden.sample,
        category=hidden.category,
        recovered=guesses[:1] == [hidden.value],
        recovered_in_five=hidden.value in guesses,
        prior=prior[:1] == [hidden.value],
        prior_in_five=hidden.value in prior,
        alike=adversary.count_alike(hidden),
    )


def summarize_inference(outcomes: Sequence[InferenceOutcome], *, seed: int) -> list[RecoveredShare]:
    """Return the shares of all outcomes together, then of each category, by its id; intervals are over samples."""
    by_category: dict[str, list[InferenceOutcome]] = {}
    for outcome in outcomes:
        by_category.setdefault(outcome.category, []).append(outcome)
    return [
        _share(None, outcomes, seed=seed),
        *(_share(category, by_category[category], seed=seed) for category in sorted(by_category)),
    ]


def _share(category: str | None, outcomes: Sequence[InferenceOutcome], *, seed: int) -> RecoveredShare:
    samples = {sample: place for place, sample in enumerate(dict.fromkeys(outcome.sample for outcome in outcomes))}
    places = np.array([samples[outcome.sample] for outcome in outcomes], dtype=np.int64)
    counts: Counts = np.bincount(places, minlength=len(samples))

    def sums(hits: Iterable[bool]) -> Values:
        hit = np.array([*hits], dtype=np.float64)
        return np.bincount(places, weights=hit, minlength=len(samples)).astype(np.float64)

    first, first_prior = sums(o.recovered for o in outcomes), sums(o.prior for o in outcomes)
    five, five_prior = sums(o.recovered_in_five for o in outcomes), sums(o.prior_in_five for o in outcomes)
    return RecoveredShare(
        category=category,
        masked=len(outcomes),
        recovered=share_over_samples(first, counts, seed=seed),
        prior=share_over_samples(first_prior, counts, seed=seed),
        above_prior=difference_over_samples(first, first_prior, counts, seed=seed),
        recovered_in_five=share_over_samples(five, counts, seed=seed),
        prior_in_five=share_over_samples(five_prior, counts, seed=seed),
        above_prior_in_five=difference_over_samples(five, five_prior, counts, seed=seed),
        unique=share_over_samples(sums(o.alike == 1 for o in outcomes), counts, seed=seed),
    )
