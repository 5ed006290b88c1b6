"""The collapse check: a degeneration (utility) check of the model after a mitigation (docs/forgetting.md).

A model that ends at once, repeats itself or writes noise leaks nothing, but has not forgotten: it has collapsed.
Others' texts are held against those before; texts on the named must not stand out among those on patients never seen,
of whom a forgotten patient is one.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.unlearning.certificate.joint_test import JointTest, Pool, run_joint_test
from clinaudit.audit.unlearning.certificate.patient_figures import WrittenText
from clinaudit.audit.unlearning.metrics import answer_collapse as limits
from clinaudit.audit.unlearning.metrics.answer_collapse import distinct_share, mean_length, mean_of
from clinaudit.reports.schema.certificate import HealthCheck

NO_TEXT: Final = "there are no generations of them in both runs"
_SHORT: Final = "generations shorter than a match"
_LENGTH: Final = "mean length in tokens"
_DISTINCT: Final = "distinct tokens in a run as long as a match"
_PAIRS: Final = "pairs of neighbouring tokens that A wrote of others"
_LOOPS: Final = "generations stopped for repeating themselves"
#: Token ids are 32-bit: two fit into one 64-bit number.
_ID_BITS: Final = 32
#: Pairs of neighbouring token ids (bigrams), each as one number.
Pairs = NDArray[np.int64]
#: Texts as token ids.
_Runs = Sequence[Sequence[int]]


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
    """Check each group's texts against those before, and those on the named against those on the never-seen.

    `ngram` is the length of a match in tokens.
    """
    before, after = (grouped(run, attrgetter("patient_id")) for run in runs)
    sizes: dict[str, int] = {}
    health: list[HealthCheck] = []
    for name, members in groups.items():
        patients = sorted(before.keys() & after.keys() & set(members))
        others = before.keys() - patients
        known = _neighbouring_pairs(text.token_ids for one in others for text in before[one])
        sides = [[text for one in patients for text in run[one]] for run in (before, after)]
        health += _check_group(name, sides, known, ngram=ngram)
        # The three questions of a level of access rest on those who were asked at it.
        tiers = grouped({(item.tier, item.patient_id) for item in sides[1]}, itemgetter(0))
        sizes[name] = min(map(len, tiers.values()), default=0)
    pairs_of_others = _read_pairs_of_others(before)
    figures: dict[str, dict[str, float | None]] = {}
    for patient, written in after.items():
        own = [item.token_ids for item in written]
        # How far the texts are from being any, larger where farther.
        kept = {
            _LENGTH: mean_length(own),
            _DISTINCT: distinct_share(own, run=ngram),
            _PAIRS: _known_share(own, pairs_of_others(patient)),
        }
        less = {question: None if value is None else -value for question, value in kept.items()}
        figures[patient] = {_SHORT: mean_of(len(ids) < ngram for ids in own), **less}

    def is_silent(written: Sequence[WrittenText]) -> bool:
        return all(len(item.token_ids) < ngram for item in written)

    asked = [one for one in named if one in before and one in after]
    silenced = [one for one in asked if is_silent(after[one]) and not is_silent(before[one])]
    return CheckedTexts(health, sizes, run_joint_test(Pool(figures, never_seen, {}), named), silenced)


def _check_group(
    name: str, sides: Sequence[Sequence[WrittenText]], known: Pairs, *, ngram: int
) -> Iterable[HealthCheck]:
    """Yield the answers for a group's texts before and after; `known` are the pairs that A wrote of other patients."""
    by_tier = [
        {tier: [item.token_ids for item in asked] for tier, asked in grouped(own, attrgetter("tier")).items()}
        for own in sides
    ]

    def least_kept(measure: Callable[[_Runs], float | None]) -> tuple[float | None, float | None]:
        # At the level of access at which B keeps the least of A's.
        before, after = by_tier
        measured = [(a, measure(after.get(tier, ()))) for tier in sorted(before) if (a := measure(before[tier]))]
        return min(measured, key=lambda one: (one[1] or 0.0) / one[0], default=(None, None))

    half = limits.NO_LESS_THAN_HALF
    # Question: A's measure and B's, and the limit.
    of_tokens = {
        _LENGTH: (least_kept(mean_length), half),
        _DISTINCT: (least_kept(lambda own: distinct_share(own, run=ngram)), half),
        _PAIRS: (least_kept(lambda own: _known_share(own, known)), half),
    }
    short, loops = (
        [mean_of(map(is_so, own)) for own in sides]
        for is_so in (lambda item: len(item.token_ids) < ngram, lambda item: item.finish_reason == "repetition")
    )
    asked = {
        _SHORT: (short, limits.at_most(limits.MORE_SHORT, limits.MOST_SHORT)),
        **of_tokens,
        _LOOPS: (loops, limits.at_most(limits.MORE_REPETITION)),
    }
    for question, ((a, b), limit) in asked.items():
        held = limits.hold(limit, a if sides[1] else None, b, nothing_before=NO_TEXT)
        yield HealthCheck(
            group=name,
            question=question,
            unit="tokens" if question in of_tokens else "generations",
            allowed=limit.allowed,
            a=a,
            b=b,
            **held._asdict(),
        )


def _known_share(runs: _Runs, known: Pairs) -> float | None:
    pairs = np.concatenate([_pairs_of(ids) for ids in runs]) if known.size and runs else np.zeros(0, dtype=np.int64)
    return float(np.isin(pairs, known).mean()) if pairs.size else None


def _neighbouring_pairs(runs: Iterable[Sequence[int]]) -> Pairs:
    """Return the distinct pairs of neighbouring token ids of some texts, ascending: `(pairs,)`."""
    found = list(map(_pairs_of, runs))
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _pairs_of(token_ids: Sequence[int]) -> Pairs:
    ids = np.asarray(token_ids, dtype=np.int64)
    pairs: Pairs = (ids[:-1] << _ID_BITS) | ids[1:]
    return pairs


def _read_pairs_of_others(generations: Mapping[str, Sequence[WrittenText]]) -> Callable[[str], Pairs]:
    """Return what gives the pairs that A wrote of any patient but one."""
    places = {patient: place for place, patient in enumerate(sorted(generations))}
    own = [_neighbouring_pairs(text.token_ids for text in generations[patient]) for patient in places]
    every = np.concatenate(own) if own else np.zeros(0, dtype=np.int64)
    owners = np.repeat(np.arange(len(own)), [pairs.size for pairs in own])
    pairs, first, patients = np.unique(every, return_index=True, return_counts=True)

    def of(patient: str) -> Pairs:
        others: Pairs = pairs[(patients > 1) | (owners[first] != places.get(patient, -1))]
        return others

    return of
