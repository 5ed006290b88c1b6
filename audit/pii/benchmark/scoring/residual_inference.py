"""Residual inference: how often a masked entity can be guessed from what is left (the limitation PII-Bench states).

Privacy P counts strings; this counts what the text still reveals. The adversary has no model: he guesses the most
common value among those who are alike, knows the subjects of all other samples, and never one of the same sample.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.pii.benchmark.sample import Domain, Sample, comparable_text
from clinaudit.audit.pii.benchmark.scoring.bench_figures import bench_estimate
from clinaudit.audit.pii.benchmark.scoring.sample_means import (
    Counts,
    Values,
    difference_over_samples,
    share_over_samples,
)
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.statistics.grouping import grouped
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.pii_bench import ResidualInference

#: Guesses that are looked at (PII-Bench names none; a served model is asked for as many).
TOP: Final = 5
#: Fewest others by whom the adversary judges **[choice]**: of fewer, the most common value is chance.
FEWEST_ALIKE: Final = 5
#: Where a subject has nothing of a category.
_NONE: Final = -1
Rows = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class HiddenEntity:
    """A masked entity, and what is still seen of its subject."""

    sample: str
    category: str
    #: As `folded_value` gives it.
    value: str
    #: Quasi-identifiers that were left: (category, value).
    visible: tuple[tuple[str, str], ...]


def folded_value(text: str) -> str:
    """Return a value as guesses are compared: Unicode NFKC, trimmed, case folded."""
    return comparable_text(text).casefold()


class PriorAdversary:
    """Knows the values of every subject, by category; of several in one category the first **[choice]**."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        owners: list[str] = []
        subjects: list[dict[str, str]] = []
        for sample in samples:
            for subject in sample.subjects:
                values: dict[str, str] = {}
                for entity in subject.entities:
                    values.setdefault(entity.category, folded_value(entity.text))
                owners.append(sample.id)
                subjects.append(values)
        self._count = len(owners)
        self._rows: dict[str, list[int]] = {}
        for row, owner in enumerate(owners):
            self._rows.setdefault(owner, []).append(row)
        self._values: dict[str, list[str]] = {}
        self._code_of: dict[tuple[str, str], int] = {}
        self._codes: dict[str, NDArray[np.int64]] = {}
        for category in sorted({category for values in subjects for category in values}):
            # In alphabetical order, so that a tie of counts does not depend on who came first.
            held = sorted({values[category] for values in subjects if category in values})
            self._values[category] = held
            self._code_of.update({(category, value): place for place, value in enumerate(held)})
            self._codes[category] = np.array(
                [self._code_of[category, values[category]] if category in values else _NONE for values in subjects]
            )

    def guess_unseeing(self, hidden: HiddenEntity) -> list[str]:
        """Return the most common values of the category, the commonest first, at most five: the prior."""
        known = self._known(hidden)
        return [] if known is None else self._commonest(hidden.category, known)

    def guess(self, hidden: HiddenEntity) -> list[str]:
        """Return the most common values among those who share what is visible, the commonest first, at most five.

        He narrows the others down by one visible value after the other: each time by the one that makes the commonest
        answer most certain, as long as it becomes more certain and at least five are left. Where those who are left
        show fewer than five values, the wider circles fill up.
        """
        known = self._known(hidden)
        if known is None:
            return []
        circles = [known]
        # Another value of the same category shows what this one is not.
        unused = {visible for visible in hidden.visible if visible[0] != hidden.category}
        while (best := self._most_telling(hidden.category, circles[-1], unused)) is not None:
            unused.discard(best)
            circles.append(circles[-1] & self._holders(*best))
        guesses = [guess for circle in reversed(circles) for guess in self._commonest(hidden.category, circle)]
        return list(dict.fromkeys(guesses))[:TOP]

    def count_alike(self, hidden: HiddenEntity) -> int:
        """Return k: how many subjects fit all that is visible, this one and those of other samples."""
        alike = self._others(hidden.sample)
        for category, value in hidden.visible:
            alike &= self._holders(category, value)
        return 1 + int(alike.sum())

    def _others(self, sample: str) -> Rows:
        others = np.ones(self._count, dtype=np.bool_)
        others[self._rows.get(sample, [])] = False
        return others

    def _known(self, hidden: HiddenEntity) -> Rows | None:
        """Return the subjects of other samples with a value of the category; None without any."""
        if hidden.category not in self._codes:
            return None
        known: Rows = self._others(hidden.sample) & (self._codes[hidden.category] != _NONE)
        return known if known.any() else None

    def _holders(self, category: str, value: str) -> Rows:
        code = self._code_of.get((category, value))
        if code is None:
            return np.zeros(self._count, dtype=np.bool_)
        holders: Rows = self._codes[category] == code
        return holders

    def _most_telling(self, category: str, circle: Rows, unused: set[tuple[str, str]]) -> tuple[str, str] | None:
        best, best_key = None, (self._certainty(category, circle), 0)
        for visible in sorted(unused):
            narrowed = circle & self._holders(*visible)
            left = int(narrowed.sum())
            if left >= FEWEST_ALIKE:
                certainty = self._certainty(category, narrowed)
                # Of two equally telling values the one that more others share.
                if certainty > best_key[0] or (best is not None and (certainty, left) > best_key):
                    best, best_key = visible, (certainty, left)
        return best

    def _certainty(self, category: str, circle: Rows) -> float:
        codes = self._codes[category][circle]
        return float(np.bincount(codes).max() / codes.size)

    def _commonest(self, category: str, circle: Rows) -> list[str]:
        counts = np.bincount(self._codes[category][circle])
        order = np.argsort(-counts, kind="stable")[:TOP]
        return [self._values[category][place] for place in order if counts[place]]


@dataclass(frozen=True, slots=True)
class InferenceOutcome:
    """What the adversary recovered of one masked entity."""

    sample: str
    #: An id of the taxonomy.
    category: str
    #: Whether the first guess, and one of the first five, is the value.
    recovered: bool
    recovered_in_five: bool
    #: The same of guesses made by category alone, without the text.
    prior: bool
    prior_in_five: bool
    #: Subjects who fit all that is visible of this one, itself included: k of k-anonymity.
    alike: int


def infer_masked(samples: Sequence[Sample], masked: Mapping[str, Collection[str]]) -> list[InferenceOutcome]:
    """Return what is recovered of each masked entity; `masked` holds the texts masked in a sample, by its id.

    A sample that `masked` does not hold is known, and nothing is guessed in it.
    """
    adversary = PriorAdversary(samples)
    return [
        _measure(hidden, adversary) for sample in samples for hidden in _hidden_in(sample, masked.get(sample.id, ()))
    ]


def _hidden_in(sample: Sample, masked: Collection[str]) -> Iterator[HiddenEntity]:
    texts = set(map(comparable_text, masked))
    is_masked = {entity.text for entity in sample.entities() if comparable_text(entity.text) in texts}
    for subject in sample.subjects:
        visible = {
            (entity.category, folded_value(entity.text))
            for entity in subject.entities
            if entity.text not in is_masked and not categories()[entity.category].direct
        }
        hidden = {(entity.category, entity.text): None for entity in subject.entities if entity.text in is_masked}
        for category, value in hidden:
            yield HiddenEntity(sample.id, category, folded_value(value), tuple(sorted(visible)))


def _measure(hidden: HiddenEntity, adversary: PriorAdversary) -> InferenceOutcome:
    prior, guesses = adversary.guess_unseeing(hidden), adversary.guess(hidden)
    return InferenceOutcome(
        sample=hidden.sample,
        category=hidden.category,
        recovered=guesses[:1] == [hidden.value],
        recovered_in_five=hidden.value in guesses,
        prior=prior[:1] == [hidden.value],
        prior_in_five=hidden.value in prior,
        alike=adversary.count_alike(hidden),
    )


def summarize_inference(
    outcomes: Sequence[InferenceOutcome], *, system: str | None, domain: Domain, seed: int
) -> Iterator[ResidualInference]:
    """Yield the shares of all outcomes together, then of each category, by its id; intervals are over samples."""
    ordered = sorted(outcomes, key=attrgetter("category"))
    by_category: dict[str | None, Sequence[InferenceOutcome]] = {
        None: outcomes,
        **grouped(ordered, attrgetter("category")),
    }
    for category, chosen in by_category.items():
        name = None if category is None else categories()[category].name
        shares = {part: bench_estimate(share) for part, share in _shares(chosen, seed=seed).items()}
        yield ResidualInference(system=system, domain=domain, category=name, masked=len(chosen), **shares)


def _shares(outcomes: Sequence[InferenceOutcome], *, seed: int) -> dict[str, Estimate]:
    samples = {sample: place for place, sample in enumerate(dict.fromkeys(outcome.sample for outcome in outcomes))}
    places = np.array([samples[outcome.sample] for outcome in outcomes], dtype=np.int64)
    counts: Counts = np.bincount(places, minlength=len(samples))

    def sums(hits: Iterable[bool]) -> Values:
        hit = np.array([*hits], dtype=np.float64)
        return np.bincount(places, weights=hit, minlength=len(samples)).astype(np.float64)

    first, prior = sums(o.recovered for o in outcomes), sums(o.prior for o in outcomes)
    five, prior_in_five = sums(o.recovered_in_five for o in outcomes), sums(o.prior_in_five for o in outcomes)
    return {
        "recovered": share_over_samples(first, counts, seed=seed),
        "prior": share_over_samples(prior, counts, seed=seed),
        "above_prior": difference_over_samples(first, prior, counts, seed=seed),
        "recovered_in_five": share_over_samples(five, counts, seed=seed),
        "above_prior_in_five": difference_over_samples(five, prior_in_five, counts, seed=seed),
        "unique": share_over_samples(sums(o.alike == 1 for o in outcomes), counts, seed=seed),
    }
