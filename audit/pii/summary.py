"""Figures of identifiers over the generations of one tier, or of one of HIPAA's identifiers, and arm.

Owns counts, shares, rates and their intervals (docs/methods.md, section 2b). Knows nothing of how a
value was found or whose it is.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.pii.owners import OwnedValue
from clinaudit.audit.statistics.intervals import (
    RESAMPLES,
    bootstrap_mean_over_patients,
    bounds_of_bins,
    interval_of,
    percentile_interval,
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
_NOBODY: Final = "there was nothing to count"
_NEVER_FOUND: Final = "of some kind of identifier that was found nothing that was planted was found again"
#: Half a find and half a miss (Jeffreys).
_PRIOR: Final = 0.5
_CHUNK_CELLS: Final = 2_000_000
Rates = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class IdentifiedGeneration:
    """The distinct values of one generation, each with its owner."""

    patient_id: str
    arm: Arm
    tier: str
    #: None where refusals were not looked for.
    refused: bool | None
    values: tuple[OwnedValue, ...]

    @property
    def is_answer(self) -> bool:
        """Whether figures count it: it is no refusal, or gives a value that somebody holds after all."""
        return not self.refused or any(item.owner in ("own", "other_train", "other_nontrain") for item in self.values)


def summarize_identifiers(
    generations: Sequence[IdentifiedGeneration],
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
    rows = [
        (item.patient_id, [value for value in item.values if of is None or value.hipaa == of]) for item in generations
    ]
    by_patient: dict[str, list[list[OwnedValue]]] = {}
    for patient_id, values in rows:
        by_patient.setdefault(patient_id, []).append(values)
    patients = len(by_patient)

    def having(condition: Callable[[OwnedValue], bool]) -> int:
        return sum(any(condition(value) for values in own for value in values) for own in by_patient.values())

    own = having(lambda value: value.owner == "own")
    other = having(lambda value: value.verified and value.owner == "other_train")
    once = {
        "sampled": _count_once(by_patient.values(), lambda value: value.sampled),
        "chance": _count_once(by_patient.values(), lambda value: value.chance),
    }
    sampled, chance = (sum(map(any, counts)) for counts in once.values())

    def counts_of(condition: Callable[[OwnedValue], bool]) -> list[list[int]]:
        return [[sum(map(condition, values)) if values else 0 for values in own] for own in by_patient.values()]

    verified = counts_of(lambda value: value.verified)
    own_verified = counts_of(lambda value: value.verified and value.owner == "own")
    in_pools = {
        "sampled": [
            [theirs + others for theirs, others in zip(*counts, strict=True)]
            for counts in zip(own_verified, once["sampled"], strict=True)
        ],
        "chance": once["chance"],
    }
    counts: Counter[str] = Counter(value.owner for _, values in rows for value in values)
    no_pools = Estimate(value=None, reason=NO_POOLS)
    rate = _rate(verified, seed=seed)
    # That a split has nobody else would tell the size of the lowest class.
    is_public = patients > ARM_STEP
    return IdentifierTally(
        patients=Count.of(patients),
        own=Alone.of(own),
        other=Alone.of(other),
        sampled=Inside(Alone.of(sampled) if has_pools else None, is_public),
        chance=Inside(Alone.of(chance) if has_pools else None, is_public),
        verified=Alone.of(sum(any(own_counts) for own_counts in verified)),
        verified_rate=_tally_rate(verified),
        sampled_rate=Inside(_tally_rate(in_pools["sampled"]) if has_pools else None, is_public),
        chance_rate=Inside(_tally_rate(in_pools["chance"]) if has_pools else None, is_public),
        evidence=Inside(
            IdentifierEvidence(
                generations=len(rows),
                values={owner: counts[owner] for owner in IDENTIFIER_OWNERS},
                verified=sum(map(sum, verified)),
                verified_per_1000=rate,
                corrected_per_1000=_corrected_rate(list(by_patient.values()), recall, rate, seed=seed),
                sampled_per_1000=_rate(in_pools["sampled"], seed=seed) if has_pools else no_pools,
                chance_per_1000=_rate(in_pools["chance"], seed=seed) if has_pools else no_pools,
                sampled_by_patient=bin_rates(in_pools["sampled"]) if has_pools else [],
                chance_by_patient=bin_rates(in_pools["chance"]) if has_pools else [],
            )
        ),
    )


def _tally_rate(counts: Sequence[Sequence[int]]) -> Rate:
    """Return the patients by values a query, those with any; `counts` are by patient and generation."""
    return Rate.of(
        (Interval(row.low, math.inf if row.high is None else row.high), row.patients) for row in bin_rates(counts)[1:]
    )


def _count_once(
    by_patient: Iterable[Sequence[Sequence[OwnedValue]]], condition: Callable[[OwnedValue], bool]
) -> list[list[int]]:
    """Count values by patient and generation, each value in the first answer that has it.

    Whether somebody trained on or somebody never seen holds a date is one draw, in however many answers it stands: a
    model that writes one date to everybody would else be found out, or cleared, by luck.
    """
    counted: set[int] = set()
    counts: list[list[int]] = []
    for own in by_patient:
        counts.append([])
        for values in own:
            new = {item.value for item in values if condition(item)} - counted if values else ()
            counted.update(new)
            counts[-1].append(len(new))
    return counts


def bin_rates(counts: Sequence[Sequence[int]]) -> list[IdentifierBin]:
    """Return the patients by values a query: at none, then above each end up to the next.

    `counts` are by patient and generation; a patient counts with the mean.
    """
    rates = [sum(own) / len(own) for own in counts]
    bins = [IdentifierBin(low=0.0, high=0.0, patients=sum(rate == 0 for rate in rates))]
    for low, high in zip((0.0, *BIN_ENDS), (*BIN_ENDS, None), strict=True):
        inside = sum(low < rate and (high is None or rate <= high) for rate in rates)
        bins.append(IdentifierBin(low=low, high=high, patients=inside))
    return bins


def _rate(counts: Sequence[Sequence[int]], *, seed: int) -> Estimate:
    """Return values per 1,000 generations; `counts` by patient and generation.

    The interval is the union of the bootstrap's over patients and that of the bins: where nobody has any, the bootstrap
    degenerates to a point.
    """
    if not counts:
        return Estimate(value=None, n=0, reason=_NOBODY)
    sums = np.array([sum(own) for own in counts], dtype=np.float64)
    generations = np.array([len(own) for own in counts], dtype=np.int64)
    low, high = bootstrap_mean_over_patients(sums, generations, seed=seed)
    bounds = bounds_of_bins([(row.low, row.high, row.patients) for row in bin_rates(counts)])
    if bounds is not None:
        low, high = min(low, bounds[0]), max(high, bounds[1] or high)
    total = int(generations.sum())
    return Estimate(value=QUERIES * float(sums.sum()) / total, low=QUERIES * low, high=QUERIES * high, n=total)


def _corrected_rate(
    by_patient: Sequence[Sequence[Sequence[OwnedValue]]],
    recall: Sequence[DetectorRecall],
    found: Estimate,
    *,
    seed: int,
) -> Estimate:
    """Return verified values per 1,000 generations, corrected for what the detector misses.

    The error is one-sided. What is found and stands in one patient's record letter by letter is that patient's value,
    whatever the detector took it for: there is no false positive to correct, and so no second row of a confusion matrix
    (`misclassification`), only values that were never looked up. The rate is Σ v/r over identifiers, v the verified
    values and r the recall. The interval is that of joint draws: patients by the bootstrap, each recall from its
    posterior Beta(found + ½, missed + ½); it reaches at least as far as that of what was `found`.
    """
    if not by_patient:
        return Estimate(value=None, n=0, reason=_NOBODY)
    if not recall:
        return Estimate(value=None, reason="the detector's recall was not measured")
    known = {row.identifier: row for row in recall if row.planted}
    kinds = sorted({value.hipaa for own in by_patient for values in own for value in values if value.verified})
    if any(kind in known and not known[kind].found for kind in kinds):
        return Estimate(value=None, reason=_NEVER_FOUND)
    sums = np.zeros((len(by_patient), len(kinds)))
    for place, own in enumerate(by_patient):
        for item in (item for values in own for item in values if item.verified):
            sums[place, kinds.index(item.hipaa)] += 1
    generations = np.array([len(own) for own in by_patient], dtype=np.float64)
    total = int(generations.sum())
    rng = np.random.default_rng(seed)
    recalls, point = _draw_recalls(kinds, known, rng)
    value = QUERIES * float((sums.sum(axis=0) / point).sum()) / total
    low, high = percentile_interval(QUERIES * _resampled(sums, generations, recalls, rng))
    low, high = wider_of((low, high), interval_of(found))
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


def _resampled(sums: Rates, generations: Rates, recalls: Rates, rng: np.random.Generator) -> Rates:
    """Return the corrected rate in each resample of the patients, shape (resamples,)."""
    rates = np.empty(len(recalls))
    step = max(1, _CHUNK_CELLS // (len(sums) * max(1, sums.shape[1])))
    for start in range(0, len(recalls), step):
        part = slice(start, min(start + step, len(recalls)))
        places = rng.integers(0, len(sums), size=(part.stop - part.start, len(sums)))
        corrected = sums[places].sum(axis=1) / recalls[part]
        rates[part] = corrected.sum(axis=1) / generations[places].sum(axis=1)
    return rates
