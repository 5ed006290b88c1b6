"""Figures of identifiers over the generations of one tier, or of one of HIPAA's identifiers, and arm.

Owns counts, shares, rates and their intervals (docs/methods.md, section 2b). Knows nothing of how a
value was found or whose it is.
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.pii.owners import OwnedValue
from clinaudit.audit.statistics.intervals import (
    RESAMPLES,
    bounds_of_bins,
    interval_of,
    percentile_interval,
    resample_means,
    wider_of,
)
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.identifiers import (
    IDENTIFIER_OWNERS,
    QUERIES,
    DetectorRecall,
    IdentifierBin,
    IdentifierEvidence,
)
from clinaudit.reports.schema.numbers import NO_POOLS, Estimate
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.tally.classes import ARM_STEP, Interval
from clinaudit.reports.tally.leaves import Alone, Count, Inside, Rate
from clinaudit.reports.tally.tally import IdentifierTally

#: Upper ends of the bins of patients by verified values a query, above those with none.
BIN_ENDS: Final = (0.25, 0.5, 1.0, 2.0, 5.0, 20.0)
_NEVER_FOUND: Final = "of some kind of identifier that was found nothing that was planted was found again"
#: Half a find and half a miss (Jeffreys).
_PRIOR: Final = 0.5
_CHUNK_CELLS: Final = 2_000_000
Rates = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Which = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class IdentifiedGeneration:
    """The distinct values of one generation, each with its owner."""

    patient_id: str
    arm: Arm
    tier: str
    #: None where refusals were not looked for.
    refused: bool | None
    values: Sequence[OwnedValue]

    @property
    def is_answer(self) -> bool:
        """Whether figures count it: it is no refusal, or gives a value that somebody holds after all."""
        return not self.refused or any(item.owner in ("own", "other_train", "other_nontrain") for item in self.values)


@dataclass(frozen=True, slots=True)
class Answers:
    """Some answers with their values, in columns. A patient is a number, in the order of the first answers."""

    #: Answers of each patient, shape (patients,).
    generations: Ints
    #: Of each value, by patient and answer: whose answer has it, its number, and what is said of it; shape (values,).
    patient: Ints
    value: Ints
    hipaa: npt.NDArray[np.str_]
    owner: npt.NDArray[np.str_]
    verified: Which
    sampled: Which
    chance: Which

    def where(self, chosen: Which) -> "Answers":
        """Return the same answers with some of their values."""
        columns = {field.name: getattr(self, field.name)[chosen] for field in fields(self)[1:]}
        return replace(self, **columns)

    def count(self, chosen: Which) -> Ints:
        """Return how many of some values each patient's answers have, shape (patients,)."""
        return np.bincount(self.patient[chosen], minlength=len(self.generations))

    def count_once(self, chosen: Which) -> Ints:
        """Return the same, each value in the first answer that has it.

        Whether somebody trained on or somebody never seen holds a date is one draw, in however many answers it stands:
        a model that writes one date to everybody would else be found out, or cleared, by luck.
        """
        _, first = np.unique(self.value[chosen], return_index=True)
        return np.bincount(self.patient[chosen][first], minlength=len(self.generations))


class IdentifiedAnswers:
    """The answers among some generations, a few bytes a value: there can be a million of them."""

    def __init__(self, generations: Iterable[IdentifiedGeneration] = ()) -> None:
        #: Tier and arm of each group of answers -> its number.
        self.groups: dict[tuple[str, Arm], int] = {}
        self._patients: dict[str, int] = {}
        #: What can be said of a value, as `OwnedValue` has it after the value itself; one at least, of which no value
        #: need be, so that the columns have their types.
        self._said: dict[tuple[Any, ...], int] = {OwnedValue(0, "A", "nobody", verified=False)[1:]: 0}
        self._patient, self._group, self._ends = array("I"), array("H"), array("q", [0])
        self._value, self._what = array("I"), array("H")
        for item in generations:
            self.add(item)

    def add(self, item: IdentifiedGeneration) -> None:
        """Take a generation; a refusal is left out."""
        if not item.is_answer:
            return
        self._patient.append(self._patients.setdefault(item.patient_id, len(self._patients)))
        self._group.append(self.groups.setdefault((item.tier, item.arm), len(self.groups)))
        for own in item.values:
            self._value.append(own.value)
            self._what.append(self._said.setdefault(own[1:], len(self._said)))
        self._ends.append(len(self._value))

    def of(self, arm: Arm, tier: str | None = None) -> Answers:
        """Return the answers of an arm, at one tier or at all."""
        groups = [number for group, number in self.groups.items() if group[1] == arm and tier in (None, group[0])]
        answers = np.flatnonzero(np.isin(np.asarray(self._group), groups))
        _, first, patient = np.unique(np.asarray(self._patient)[answers], return_index=True, return_inverse=True)
        patient = first.argsort().argsort()[patient]
        order = patient.argsort(kind="stable")
        answers, patient = answers[order], patient[order]
        ends = np.asarray(self._ends)
        lengths = np.diff(ends)[answers]
        places = np.repeat(ends[answers] - lengths.cumsum() + lengths, lengths) + np.arange(lengths.sum())
        what = np.asarray(self._what)[places]
        hipaa, owner, *whether = (np.array(column)[what] for column in zip(*self._said, strict=True))
        values = np.asarray(self._value)[places]
        return Answers(np.bincount(patient), np.repeat(patient, lengths), values, hipaa, owner, *whether)


def summarize_identifiers(
    answers: Answers,
    *,
    recall: Sequence[DetectorRecall],
    has_pools: bool,
    seed: int,
    of: HipaaIdentifier | None = None,
) -> IdentifierTally:
    """Return the figures of one arm's answers at one tier, or with `of` those of one identifier.

    `has_pools`: both splits hold somebody besides the target. `seed` is that of the bootstrap over patients and of the
    drawn recalls.
    """
    if of is not None:
        answers = answers.where(answers.hipaa == of)
    generations, is_own = answers.generations, answers.owner == "own"
    verified = answers.count(answers.verified)
    sampled, chance = answers.count_once(answers.sampled), answers.count_once(answers.chance)
    in_pools = [answers.count(answers.verified & is_own) + sampled, chance] if has_pools else []
    rate, *pool_rates = _rates([verified, *in_pools], generations, seed=seed)
    bins, *pool_bins = (bin_rates(counts, generations) for counts in (verified, *in_pools))
    no_pools = Estimate(value=None, reason=NO_POOLS)
    sampled_rate, chance_rate = pool_rates or (no_pools, no_pools)
    sampled_bins, chance_bins = pool_bins or ([], [])
    # That a split has nobody else would tell the size of the lowest class.
    is_public = len(generations) > ARM_STEP

    def patients(counts: Ints) -> Alone:
        return Alone.of(int(np.count_nonzero(counts)))

    return IdentifierTally(
        patients=Count.of(len(generations)),
        own=patients(answers.count(is_own)),
        other=patients(answers.count(answers.verified & (answers.owner == "other_train"))),
        sampled=Inside(patients(sampled) if has_pools else None, is_public),
        chance=Inside(patients(chance) if has_pools else None, is_public),
        verified=patients(verified),
        verified_rate=_tally_rate(bins),
        sampled_rate=Inside(_tally_rate(sampled_bins) if has_pools else None, is_public),
        chance_rate=Inside(_tally_rate(chance_bins) if has_pools else None, is_public),
        evidence=Inside(
            IdentifierEvidence(
                generations=int(generations.sum()),
                values={owner: int(np.count_nonzero(answers.owner == owner)) for owner in IDENTIFIER_OWNERS},
                verified=int(verified.sum()),
                verified_per_1000=rate,
                corrected_per_1000=_corrected_rate(answers, recall, rate, seed=seed),
                sampled_per_1000=sampled_rate,
                chance_per_1000=chance_rate,
                sampled_by_patient=sampled_bins,
                chance_by_patient=chance_bins,
            )
        ),
    )


def _tally_rate(bins: Sequence[IdentifierBin]) -> Rate:
    """Return the patients by values a query, those with any."""
    return Rate.of((Interval(row.low, math.inf if row.high is None else row.high), row.patients) for row in bins[1:])


def bin_rates(counts: Ints, generations: Ints) -> list[IdentifierBin]:
    """Return the patients by values a query: at none, then above each end up to the next.

    Both are by patient, shape (patients,): values, and the answers that have them; a patient counts with the mean.
    """
    rates = counts / generations
    bins = [IdentifierBin(low=0.0, high=0.0, patients=int(np.count_nonzero(rates == 0)))]
    for low, high in zip((0.0, *BIN_ENDS), (*BIN_ENDS, None), strict=True):
        inside = (rates > low) & (rates <= (math.inf if high is None else high))
        bins.append(IdentifierBin(low=low, high=high, patients=int(np.count_nonzero(inside))))
    return bins


def _rates(columns: Sequence[Ints], generations: Ints, *, seed: int) -> list[Estimate]:
    """Return values per 1,000 generations, of each column of values by patient.

    The interval is the union of the bootstrap's over patients and that of the bins: where nobody has any, the bootstrap
    degenerates to a point.
    """
    total = int(generations.sum())
    counts = np.stack(columns, axis=1).astype(np.float64)
    # Of nothing but noughts every resample's mean is nought.
    answers = np.broadcast_to(generations[:, None].astype(np.float64), counts.shape)
    means = resample_means(counts, answers, seed=seed) if counts.any() else counts
    found: list[Estimate] = []
    for sums, drawn in zip(columns, means.T, strict=True):
        low, high = percentile_interval(drawn)
        bounds = bounds_of_bins([(row.low, row.high, row.patients) for row in bin_rates(sums, generations)])
        if bounds is not None:
            low, high = min(low, bounds[0]), max(high, bounds[1] or high)
        value = QUERIES * float(sums.sum()) / total
        found.append(Estimate(value=value, low=QUERIES * low, high=QUERIES * high, n=total))
    return found


def _corrected_rate(answers: Answers, recall: Sequence[DetectorRecall], found: Estimate, *, seed: int) -> Estimate:
    """Return verified values per 1,000 generations, corrected for what the detector misses.

    The error is one-sided. What is found and stands in one patient's record letter by letter is that patient's value,
    whatever the detector took it for: there is no false positive to correct, and so no second row of a confusion matrix
    (`misclassification`), only values that were never looked up. The rate is Σ v/r over identifiers, v the verified
    values and r the recall. The interval is that of joint draws: patients by the bootstrap, each recall from its
    posterior Beta(found + ½, missed + ½); it reaches at least as far as that of what was `found`.
    """
    if not recall:
        return Estimate(value=None, reason="the detector's recall was not measured")
    known = {row.identifier: row for row in recall if row.planted}
    kinds: list[HipaaIdentifier] = np.unique(answers.hipaa[answers.verified]).tolist()
    if any(kind in known and not known[kind].found for kind in kinds):
        return Estimate(value=None, reason=_NEVER_FOUND)
    generations = answers.generations
    total = int(generations.sum())
    sums = np.array([answers.count(answers.verified & (answers.hipaa == kind)) for kind in kinds], dtype=np.float64)
    rng = np.random.default_rng(seed)
    recalls, point = _draw_recalls(kinds, known, rng)
    value = QUERIES * float((sums.sum(axis=-1) / point).sum()) / total
    # Of nothing that was found the correction is nothing in every resample.
    drawn = percentile_interval(QUERIES * _resampled(sums, generations, recalls, rng)) if kinds else (0.0, 0.0)
    low, high = wider_of(drawn, interval_of(found))
    return Estimate(value=value, low=min(low, value), high=max(high, value), n=total)


def _draw_recalls(
    kinds: Sequence[HipaaIdentifier], known: Mapping[HipaaIdentifier, DetectorRecall], rng: np.random.Generator
) -> tuple[Rates, Rates]:
    """Return drawn recalls, shape (resamples, kinds), and measured ones; 1 where nothing was planted."""
    drawn, point = np.ones((RESAMPLES, len(kinds))), np.ones(len(kinds))
    for place, row in ((place, known[kind]) for place, kind in enumerate(kinds) if kind in known):
        point[place] = row.found / row.planted
        drawn[:, place] = rng.beta(row.found + _PRIOR, row.planted - row.found + _PRIOR, RESAMPLES)
    return drawn, point


def _resampled(sums: Rates, generations: Ints, recalls: Rates, rng: np.random.Generator) -> Rates:
    """Return the corrected rate in each resample of the patients, shape (resamples,); `sums` are (kinds, patients)."""
    kinds, patients = sums.shape
    rates = np.empty(len(recalls))
    step = max(1, _CHUNK_CELLS // (patients * kinds))
    for start in range(0, len(recalls), step):
        part = slice(start, min(start + step, len(recalls)))
        places = rng.integers(0, patients, size=(part.stop - part.start, patients))
        drawn = np.stack([of_kind[places].sum(axis=1) for of_kind in sums], axis=1)
        rates[part] = (drawn / recalls[part]).sum(axis=1) / generations[places].sum(axis=1)
    return rates
