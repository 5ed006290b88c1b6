"""Disclosure of a diagnosis in two runs, over the cohort members judged in both (docs/methods.md, section 8).

Owns which members make a pair, and the difference of the two train-minus-nontrain deltas (difference in differences).
Knows nothing of tokens. Metrics among mentions (`auroc`, `ppv`) are left out: a model that mentions less is scored on
other patients, so that there are no pairs.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np

from clinaudit.audit.disclosure.metrics import AMBIGUOUS, NEGATIVE, NOT_MENTIONED, POSITIVE
from clinaudit.audit.disclosure.readings import COLUMNS, Reading
from clinaudit.audit.disclosure.train_delta import measure_disclosure
from clinaudit.audit.statistics.paired_differences import (
    ScoredPairs,
    as_values,
    difference_of_changes,
    difference_of_estimates,
    measure_auroc_change,
    paired_difference,
)
from clinaudit.reports.schema.comparison import ComparedDisclosure, ComparedMetric, PatientsBehind
from clinaudit.reports.schema.disclosure import DisclosurePair
from clinaudit.reports.schema.estimate import Arm, Estimate
from clinaudit.reports.schema.judge import Outcome

Share = Literal["sensitivity", "false_positive_rate", "mention_rate"]
SHARES: Final[tuple[Share, ...]] = ("sensitivity", "false_positive_rate", "mention_rate")
PAIRED_METRICS: Final = ("auroc_all", *SHARES)
#: Score levels over all patients, as in `metrics.score_levels_of_all`.
_LEVELS: Final = {NEGATIVE: 0, NOT_MENTIONED: 1, AMBIGUOUS: 1, POSITIVE: 2}
_NO_CLASSES = "not every group has a patient who was judged in both runs"
_NO_HELD_OUT = "no held-out patients were judged in both runs: nothing can be attributed to training"
#: A member's reading in A and in B.
Pair = tuple[Reading, Reading]


def compare_disclosure(
    first: Mapping[str, Mapping[str, Sequence[Reading]]],
    second: Mapping[str, Mapping[str, Sequence[Reading]]],
    *,
    seed: int,
) -> dict[str, dict[str, tuple[ComparedDisclosure, DisclosurePair, DisclosurePair]]]:
    """Return, by diagnosis and tier, the comparison, and the disclosure of each run on the pairs alone."""
    return {
        diagnosis: {
            tier: compare_readings(tiers[tier], second[diagnosis][tier], seed=seed)
            for tier in tiers
            if tier in second[diagnosis]
        }
        for diagnosis, tiers in first.items()
        if diagnosis in second
    }


def compare_readings(
    first: Sequence[Reading], second: Sequence[Reading], *, seed: int
) -> tuple[ComparedDisclosure, DisclosurePair, DisclosurePair]:
    """Compare one (diagnosis, tier); a member whose arm or status differs between the runs makes no pair."""
    later = {reading.patient_id: reading for reading in second if reading.outcome != "unjudged"}
    pairs: list[Pair] = []
    for reading in first:
        other = later.get(reading.patient_id)
        same = other is not None and (other.arm, other.present) == (reading.arm, reading.present)
        if other is not None and same and reading.outcome != "unjudged":
            pairs.append((reading, other))
    measured = [measure_disclosure([pair[run] for pair in pairs], prevalence=None, seed=seed) for run in (0, 1)]
    by_arm: dict[Arm, list[Pair]] = {"train": [], "nontrain": []}
    for pair in pairs:
        by_arm[pair[0].arm].append(pair)
    delta = {"auroc_all": _compare("auroc_all", measured, _auroc_difference(by_arm, seed=seed), pairs)}
    for metric in SHARES:
        delta[metric] = _compare(metric, measured, _share_difference(metric, by_arm, seed=seed), pairs)
    compared = ComparedDisclosure(
        pairs=len(pairs), unpaired_a=len(first) - len(pairs), unpaired_b=len(second) - len(pairs), delta=delta
    )
    return compared, measured[0], measured[1]


def _compare(
    metric: str, measured: Sequence[DisclosurePair], difference: Estimate, pairs: Sequence[Pair]
) -> ComparedMetric:
    a, b = (_delta(metric, of_run) for of_run in measured)
    return ComparedMetric(a=a, b=b, difference=difference, behind=_behind(pairs))


def _delta(metric: str, measured: DisclosurePair) -> Estimate:
    delta: Estimate | None = None if measured.delta is None else getattr(measured.delta, metric)
    if delta is None or delta.value is None:
        return Estimate(value=None, reason=_NO_HELD_OUT if delta is None else delta.reason)
    return Estimate(value=delta.value, low=delta.low, high=delta.high, n=delta.n)


def _behind(pairs: Sequence[Pair]) -> PatientsBehind:
    levels = [tuple(_LEVELS[COLUMNS[reading.outcome]] for reading in pair) for pair in pairs]
    return PatientsBehind(
        a=sum(pair[0].outcome == "positive" for pair in pairs),
        b=sum(pair[1].outcome == "positive" for pair in pairs),
        lower=sum(after < before for before, after in levels),
        higher=sum(after > before for before, after in levels),
    )


def _auroc_difference(by_arm: Mapping[Arm, Sequence[Pair]], *, seed: int) -> Estimate:
    changes = []
    for position, pairs in enumerate(by_arm.values()):
        present, absent = (
            ScoredPairs(*(np.array([_LEVELS[COLUMNS[pair[run].outcome]] for pair in of], np.int64) for run in (0, 1)))
            for of in (
                [pair for pair in pairs if pair[0].present],
                [pair for pair in pairs if not pair[0].present],
            )
        )
        change = measure_auroc_change(present, absent, rng=np.random.default_rng((seed, position)))
        if change is None:
            return Estimate(value=None, n=0, reason=_NO_CLASSES)
        changes.append(change)
    return difference_of_changes(changes[0], changes[1], n=sum(len(pairs) for pairs in by_arm.values()))


def _share_difference(metric: Share, by_arm: Mapping[Arm, Sequence[Pair]], *, seed: int) -> Estimate:
    changes = []
    for pairs in by_arm.values():
        counted = [pair for pair in pairs if metric == "mention_rate" or pair[0].present == (metric == "sensitivity")]
        if not counted:
            return Estimate(value=None, n=0, reason=_NO_CLASSES)
        before, after = (as_values([_scores(metric, pair[run].outcome) for pair in counted]) for run in (0, 1))
        changes.append(paired_difference(before, after, seed=seed))
    return difference_of_estimates(changes[0], changes[1])


def _scores(metric: Share, outcome: Outcome) -> float:
    return float(outcome != "not_mentioned" if metric == "mention_rate" else outcome == "positive")
