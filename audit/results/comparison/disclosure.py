"""Disclosure of a diagnosis in two runs, over the cohort members judged in both (docs/methods.md, section 8).

Owns which members make a pair, and the difference of the two train-minus-nontrain deltas (difference in differences).
Metrics among mentions (`auroc`, `ppv`) are left out: a model that mentions less is scored on other patients, so that
there are no pairs.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np

from clinaudit.audit.measures.disclosure.metrics import (
    AMBIGUOUS,
    COLUMNS,
    NEGATIVE,
    NOT_MENTIONED,
    POSITIVE,
    Reading,
    split_sides,
)
from clinaudit.audit.measures.disclosure.train_delta import measure_disclosure
from clinaudit.audit.statistics.paired_differences import (
    ScoredPairs,
    as_values,
    difference_of_changes,
    difference_of_estimates,
    measure_auroc_change,
    paired_difference,
)
from clinaudit.reports.schema.comparison import ComparedEstimate, PairedMembers, exact_change
from clinaudit.reports.schema.disclosure import SIDES, MeasuredPair, Outcome, Side, compared_sides
from clinaudit.reports.schema.numbers import Estimate

Share = Literal["sensitivity", "false_positive_rate", "mention_rate"]
SHARES: Final[tuple[Share, ...]] = ("sensitivity", "false_positive_rate", "mention_rate")
PAIRED_METRICS: Final = ("auroc_all", *SHARES)
#: Score levels over all patients, as in `metrics.score_levels_of_all`.
_LEVELS: Final = {NEGATIVE: 0, NOT_MENTIONED: 1, AMBIGUOUS: 1, POSITIVE: 2}
_NO_CLASSES = "not every group has a patient who was judged in both runs"
_NO_HELD_OUT = "no patients never seen were judged in both runs: nothing can be attributed to training"
#: A member's reading in A and in B.
Pair = tuple[Reading, Reading]
#: Who made pairs, and each metric: trained on minus never seen, or minus the control.
Compared = tuple[PairedMembers, dict[str, ComparedEstimate]]


def compare_disclosure(
    first: Mapping[str, Mapping[str, Sequence[Reading]]],
    second: Mapping[str, Mapping[str, Sequence[Reading]]],
    *,
    seed: int,
) -> dict[str, dict[str, Compared]]:
    """Return the comparison by diagnosis and tier."""
    return {
        diagnosis: {
            tier: compare_readings(tiers[tier], second[diagnosis][tier], seed=seed)
            for tier in tiers
            if tier in second[diagnosis]
        }
        for diagnosis, tiers in first.items()
        if diagnosis in second
    }


def compare_readings(first: Sequence[Reading], second: Sequence[Reading], *, seed: int) -> Compared:
    """Compare one (diagnosis, tier); a member whose arm or status differs between the runs makes no pair."""
    later = {reading.patient_id: reading for reading in second if reading.outcome != "unjudged"}
    pairs: list[Pair] = []
    for reading in first:
        other = later.get(reading.patient_id)
        same = other is not None and (other.arm, other.present) == (reading.arm, reading.present)
        if other is not None and same and reading.outcome != "unjudged":
            pairs.append((reading, other))
    before, after = (split_sides(pair[run] for pair in pairs) for run in (0, 1))
    # Where nobody was held out, less the control's: of the same patients, in both runs.
    sides = (*compared_sides([side for side in SIDES if before[side] and after[side]]), "nontrain")[:2]
    measured = [
        measure_disclosure([pair[run] for pair in pairs], prevalence=None, seed=seed, sides=sides) for run in (0, 1)
    ]
    by_arm = {side: list(zip(before[side], after[side], strict=True)) for side in sides}
    delta = {"auroc_all": _compare("auroc_all", measured, _auroc_difference(by_arm))}
    for metric in SHARES:
        delta[metric] = _compare(metric, measured, _share_difference(metric, by_arm))
    members = PairedMembers(pairs=len(pairs), unpaired_a=len(first) - len(pairs), unpaired_b=len(second) - len(pairs))
    return members, delta


def _compare(metric: str, measured: Sequence[MeasuredPair], difference: Estimate) -> ComparedEstimate:
    a, b = (_delta(metric, of_run) for of_run in measured)
    return exact_change(a, b, difference)


def _delta(metric: str, measured: MeasuredPair) -> Estimate:
    delta: Estimate | None = None if measured.delta is None else getattr(measured.delta, metric)
    if delta is None or delta.value is None:
        return Estimate(value=None, reason=_NO_HELD_OUT if delta is None else delta.reason)
    return Estimate(value=delta.value, low=delta.low, high=delta.high, n=delta.n)


def _auroc_difference(by_arm: Mapping[Side, Sequence[Pair]]) -> Estimate:
    changes = []
    for pairs in by_arm.values():
        present, absent = (
            ScoredPairs(*(np.array([_LEVELS[COLUMNS[pair[run].outcome]] for pair in of], np.int64) for run in (0, 1)))
            for of in (
                [pair for pair in pairs if pair[0].present],
                [pair for pair in pairs if not pair[0].present],
            )
        )
        change = measure_auroc_change(present, absent)
        if change is None:
            return Estimate(value=None, n=0, reason=_NO_CLASSES)
        changes.append(change)
    return difference_of_changes(changes[0], changes[1], n=sum(len(pairs) for pairs in by_arm.values()))


def _share_difference(metric: Share, by_arm: Mapping[Side, Sequence[Pair]]) -> Estimate:
    changes = []
    for pairs in by_arm.values():
        counted = [pair for pair in pairs if metric == "mention_rate" or pair[0].present == (metric == "sensitivity")]
        if not counted:
            return Estimate(value=None, n=0, reason=_NO_CLASSES)
        before, after = (as_values([_scores(metric, pair[run].outcome) for pair in counted]) for run in (0, 1))
        changes.append(paired_difference(before, after))
    return difference_of_estimates(changes[0], changes[1])


def _scores(metric: Share, outcome: Outcome) -> float:
    return float(outcome != "not_mentioned" if metric == "mention_rate" else outcome == "positive")
