"""The collapse check: a degeneration (utility) check of the model after a mitigation (docs/forgetting.md).

A model that ends at once, repeats itself or writes noise leaks nothing, but has not forgotten: it has collapsed.
Others' texts are held against those before; texts on the named must not stand out among those on patients never seen,
of whom a forgotten patient is one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.unlearning.certificate.joint_test import JointTest, Pool, run_joint_test
from clinaudit.audit.unlearning.certificate.patient_figures import WrittenText
from clinaudit.audit.unlearning.metrics.answer_collapse import (
    FEW_LOOPS,
    FEW_SHORT,
    HALF,
    distinct_share,
    mean_length,
    mean_of,
)
from clinaudit.reports.schema.certificate import AnswerCheck

_SHORT: Final = "generations shorter than a match"
_LENGTH: Final = "mean length in tokens"
_DISTINCT: Final = "distinct tokens in a run as long as a match"
_PAIRS: Final = "pairs of neighbouring tokens that A wrote of others"
_LOOPS: Final = "generations stopped for repeating themselves"
#: Token ids are 32-bit: two fit into one 64-bit number.
_ID_BITS: Final = 32
#: Pairs of neighbouring token ids (bigrams), each as one number: a large run has tens of millions.
_Pairs = NDArray[np.int64]
#: Texts as token ids.
_Runs = Sequence[Sequence[int]]


class CheckedTexts(NamedTuple):
    """What the texts of both runs show of a collapse."""

    health: list[AnswerCheck]
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
    pairs = {one: np.unique(_pairs_of(item.token_ids for item in written)) for one, written in before.items()}
    health: list[AnswerCheck] = []
    for name, members in groups.items():
        patients = sorted(before.keys() & after.keys() & set(members))
        known = np.concatenate([_NO_PAIRS, *(pairs[one] for one in pairs.keys() - patients)])
        sides = [[text for one in patients for text in run[one]] for run in (before, after)]
        health += _check_group(name, sides, known, ngram=ngram)
    # What A wrote, and of how many patients.
    every, holders = np.unique(np.concatenate([_NO_PAIRS, *pairs.values()]), return_counts=True)

    def share_of_others(patient: str, written: _Pairs) -> float | None:
        own = pairs.get(patient, _NO_PAIRS)
        if not written.size or holders.sum() == own.size:
            return None
        at = np.minimum(np.searchsorted(every, written), every.size - 1)
        held = np.where(every[at] == written, holders[at], 0)
        return float((held > np.isin(written, own)).mean())

    figures: dict[str, dict[str, float | None]] = {}
    for patient, written in after.items():
        runs_of = [item.token_ids for item in written]
        # How far the texts are from being any, larger where farther.
        kept = {
            _LENGTH: mean_length(runs_of),
            _DISTINCT: distinct_share(runs_of, run=ngram),
            _PAIRS: share_of_others(patient, _pairs_of(runs_of)),
        }
        less = {question: None if value is None else -value for question, value in kept.items()}
        figures[patient] = {_SHORT: mean_of(len(ids) < ngram for ids in runs_of), **less}

    def is_silent(written: Sequence[WrittenText]) -> bool:
        return all(len(item.token_ids) < ngram for item in written)

    asked = [one for one in named if one in before and one in after]
    silenced = [one for one in asked if is_silent(after[one]) and not is_silent(before[one])]
    return CheckedTexts(health, run_joint_test(Pool(figures, never_seen, {}), named), silenced)


_NO_PAIRS: Final[_Pairs] = np.zeros(0, dtype=np.int64)


def _pairs_of(runs: Iterable[Sequence[int]]) -> _Pairs:
    """Return the pairs of some texts, one after the other."""
    texts = (np.asarray(ids, dtype=np.int64) for ids in runs)
    return np.concatenate([_NO_PAIRS, *((ids[:-1] << _ID_BITS) | ids[1:] for ids in texts)])


def _known_share(runs: _Runs, known: _Pairs) -> float | None:
    pairs = _pairs_of(runs)
    return float(np.isin(pairs, known).mean()) if pairs.size and known.size else None


def _check_group(
    name: str, sides: Sequence[Sequence[WrittenText]], known: _Pairs, *, ngram: int
) -> Iterator[AnswerCheck]:
    """Yield the answers for a group's texts before and after; `known` are the pairs that A wrote of other patients."""
    before, after = (
        {tier: [item.token_ids for item in asked] for tier, asked in grouped(own, attrgetter("tier")).items()}
        for own in sides
    )

    def least_kept(measure: Callable[[_Runs], float | None]) -> tuple[float | None, float | None]:
        # At the level of access at which B keeps the least of A's.
        measured = [(a, measure(after.get(tier, ()))) for tier in sorted(before) if (a := measure(before[tier]))]
        return min(measured, key=lambda one: (one[1] or 0.0) / one[0], default=(None, None))

    def shares(is_so: Callable[[WrittenText], bool]) -> tuple[float | None, float | None]:
        return mean_of(map(is_so, sides[0])), mean_of(map(is_so, sides[1]))

    # Question: A's measure and B's, and the limit.
    asked = {
        _SHORT: (shares(lambda item: len(item.token_ids) < ngram), FEW_SHORT),
        _LENGTH: (least_kept(mean_length), HALF),
        _DISTINCT: (least_kept(lambda own: distinct_share(own, run=ngram)), HALF),
        _PAIRS: (least_kept(lambda own: _known_share(own, known)), HALF),
        _LOOPS: (shares(lambda item: item.finish_reason == "repetition"), FEW_LOOPS),
    }
    for question, ((a, b), limit) in asked.items():
        held = limit.hold(a if sides[1] else None, b, nothing_before="there are no generations of them in both runs")
        yield AnswerCheck(group=name, question=question, a=a, b=b, **held)
