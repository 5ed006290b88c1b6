"""The collapse check: a degeneration (utility) check of the model after a mitigation (docs/forgetting.md).

A model that ends at once, repeats itself or writes noise leaks nothing, but has not forgotten: it has collapsed. Owns
the five questions on the other patients, each against the generations before; and what is measured of each named
patient's texts, which must not stand out among those of patients never seen. A forgotten patient is one of these: a
model that was retrained writes of the named as of them, and not as the model before did.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.unlearning.certificate.joint_test import JointTest, Pool, run_joint_test
from clinaudit.audit.unlearning.certificate.patient_figures import WrittenText
from clinaudit.audit.unlearning.metrics.answer_collapse import (
    MORE_REPETITION,
    MORE_SHORT,
    MOST_SHORT,
    NO_LESS_THAN_HALF,
    Limit,
    at_most,
    distinct_share,
    hold,
    mean_length,
    mean_of,
)
from clinaudit.reports.schema.certificate import HealthCheck

NO_TEXT: Final = "there are no generations of them in both runs"
_SHORT: Final = "generations shorter than a match"
_LENGTH: Final = "mean length in tokens"
_DISTINCT: Final = "distinct tokens in a run as long as a match"
_PAIRS: Final = "pairs of neighbouring tokens that A wrote of others"
_LOOPS: Final = "generations stopped for repeating themselves"
#: Token ids are 32-bit: two fit into one 64-bit number.
_ID_BITS: Final = 32
Pairs = NDArray[np.int64]
Unit = Literal["generations", "tokens"]


class CheckedTexts(NamedTuple):
    """What the texts of both runs show of a collapse."""

    health: list[HealthCheck]
    #: Patients that each group of `health` rests on.
    sizes: dict[str, int]
    #: The texts of the model after on the named, beside those on patients never seen.
    named: JointTest
    #: The named of whom the model before wrote, and the model after writes no text as long as a match.
    silenced: Collection[str]


def check_texts(
    runs: Sequence[Sequence[WrittenText]],
    groups: Mapping[str, Collection[str]],
    named: Sequence[str],
    never_seen: Collection[str],
    *,
    ngram: int,
) -> CheckedTexts:
    """Check the texts of each group against those before, and those on the named against those on the never-seen.

    `ngram` is the length of a match in tokens.
    """
    before, after = (grouped(run, attrgetter("patient_id")) for run in runs)
    sizes: dict[str, int] = {}
    health: list[HealthCheck] = []
    for name, members in groups.items():
        patients = before.keys() & after.keys() & set(members)
        known = _neighbouring_pairs(_texts(before, before.keys() - patients))
        first, second = (_texts(run, patients) for run in (before, after))
        health += _check_group(name, first, second, known, ngram=ngram)
        # The three questions of a level of access rest on those who were asked at it.
        tiers = grouped({(item.tier, item.patient_id) for item in second}, itemgetter(0))
        sizes[name] = min(map(len, tiers.values()), default=0)
    others = _PairsOfOthers(before)
    figures = {patient: _figures_of_texts(texts, others.of(patient), ngram) for patient, texts in after.items()}
    silenced = [
        one
        for one in named
        if one in before and one in after and _is_silent(after[one], ngram) and not _is_silent(before[one], ngram)
    ]
    return CheckedTexts(health, sizes, run_joint_test(Pool(figures, never_seen, {}), named), silenced)


def _check_group(
    name: str, before: Sequence[WrittenText], after: Sequence[WrittenText], known: Pairs, *, ngram: int
) -> list[HealthCheck]:
    """Return the answers for one group; a question without data is unanswered, which is no pass.

    `known` are the pairs of neighbouring tokens that A wrote of other patients.
    """
    runs = [[item.token_ids for item in own] for own in (before, after)]
    by_tier = [
        {tier: [item.token_ids for item in asked] for tier, asked in grouped(own, attrgetter("tier")).items()}
        for own in (before, after)
    ]
    # Question, its unit, A's measure and B's, and the limit.
    asked: list[tuple[str, Unit, Sequence[float | None], Limit]] = [
        (_SHORT, "generations", [_short_share(own, ngram) for own in runs], at_most(MORE_SHORT, MOST_SHORT)),
        (_LENGTH, "tokens", _least_kept(mean_length, *by_tier), NO_LESS_THAN_HALF),
        (
            _DISTINCT,
            "tokens",
            _least_kept(lambda own: distinct_share(own, run=ngram), *by_tier),
            NO_LESS_THAN_HALF,
        ),
        (_PAIRS, "tokens", _least_kept(lambda own: _known_share(own, known), *by_tier), NO_LESS_THAN_HALF),
        (
            _LOOPS,
            "generations",
            [mean_of(item.finish_reason == "repetition" for item in own) for own in (before, after)],
            at_most(MORE_REPETITION),
        ),
    ]
    checks = []
    for question, unit, (a, b), limit in asked:
        held = hold(limit, a if after else None, b, nothing_before=NO_TEXT)
        checks.append(
            HealthCheck(group=name, question=question, unit=unit, allowed=limit.allowed, a=a, b=b, **held._asdict())
        )
    return checks


def _least_kept(
    measure: Callable[[Sequence[Sequence[int]]], float | None],
    before: Mapping[str, Sequence[Sequence[int]]],
    after: Mapping[str, Sequence[Sequence[int]]],
) -> tuple[float | None, float | None]:
    """Return A's measure and B's at the level of access at which B keeps the least of A's."""
    measured = [(a, measure(after.get(tier, ()))) for tier in sorted(before) if (a := measure(before[tier]))]
    return min(measured, key=lambda one: (one[1] or 0.0) / one[0], default=(None, None))


def _figures_of_texts(generations: Sequence[WrittenText], known: Pairs, ngram: int) -> dict[str, float | None]:
    """Return how far one patient's texts are from being any, larger where farther; None where they hold too little."""
    own = [item.token_ids for item in generations]
    kept = {
        _LENGTH: mean_length(own),
        _DISTINCT: distinct_share(own, run=ngram),
        _PAIRS: _known_share(own, known),
    }
    less = {name: None if value is None else -value for name, value in kept.items()}
    return {_SHORT: _short_share(own, ngram), **less}


def _is_silent(generations: Sequence[WrittenText], ngram: int) -> bool:
    return all(len(item.token_ids) < ngram for item in generations)


def _short_share(runs: Sequence[Sequence[int]], ngram: int) -> float | None:
    return mean_of(len(ids) < ngram for ids in runs)


def _texts(generations: Mapping[str, Sequence[WrittenText]], patients: Collection[str]) -> list[WrittenText]:
    return [generation for patient in sorted(patients) for generation in generations[patient]]


def _known_share(runs: Sequence[Sequence[int]], known: Pairs) -> float | None:
    pairs = np.concatenate([_pairs_of(ids) for ids in runs]) if known.size and runs else np.zeros(0, dtype=np.int64)
    return float(np.isin(pairs, known).mean()) if pairs.size else None


def _neighbouring_pairs(generations: Iterable[WrittenText]) -> Pairs:
    """Return the distinct pairs of neighbouring token ids (bigrams), each as one number, ascending: `(pairs,)`."""
    found = [_pairs_of(generation.token_ids) for generation in generations]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _pairs_of(token_ids: Sequence[int]) -> Pairs:
    ids = np.asarray(token_ids, dtype=np.int64)
    pairs: Pairs = (ids[:-1] << _ID_BITS) | ids[1:]
    return pairs


class _PairsOfOthers:
    """The pairs of neighbouring tokens (bigrams) that A wrote of all patients but one."""

    def __init__(self, generations: Mapping[str, Sequence[WrittenText]]) -> None:
        self._owners = {patient: place for place, patient in enumerate(sorted(generations))}
        own = [_neighbouring_pairs(generations[patient]) for patient in self._owners]
        every = np.concatenate(own) if own else np.zeros(0, dtype=np.int64)
        owners = np.repeat(np.arange(len(own)), [pairs.size for pairs in own])
        self._pairs, first, self._patients = np.unique(every, return_index=True, return_counts=True)
        self._first_owners = owners[first]

    def of(self, patient_id: str) -> Pairs:
        """Return the pairs that stand in the generations of any other patient."""
        owner = self._owners.get(patient_id, -1)
        pairs: Pairs = self._pairs[(self._patients > 1) | (self._first_owners != owner)]
        return pairs
