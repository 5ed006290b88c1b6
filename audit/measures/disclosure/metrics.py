"""The seven disclosure metrics of one arm: AUROC, PPV, sensitivity, … (paper 3.2.2; docs/methods.md, section 5).

Owns what the judge read in the generations of a cohort, its counts by arm and status, and formulas on counts by
outcome, vectorized over resamples. Knows nothing of intervals, nor of how a verdict was reached. The last axis of an
array of counts is over `OUTCOMES`. `present` counts generations of patients who have the diagnosis (d-positive),
`absent` those of patients who do not (d-negative).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.auroc import auroc_of_counts
from clinaudit.audit.statistics.intervals import divide_or_nan
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, DiagnosisStatus, Outcome, Side
from clinaudit.reports.schema.record import ARMS, Arm

Metric = Literal["mention_rate", "auroc", "ppv", "auroc_all", "sensitivity", "false_positive_rate", "ppv_at_prevalence"]
Counts = NDArray[np.float64]
OUTCOMES: Final[tuple[Outcome, ...]] = ("negative", "not_mentioned", "ambiguous", "positive", "unjudged")
DISCLOSURE_METRICS: Final[tuple[Metric, ...]] = (
    "mention_rate",
    "auroc",
    "ppv",
    "auroc_all",
    "sensitivity",
    "false_positive_rate",
    "ppv_at_prevalence",
)
#: The shares that get an upper bound where their numerator is zero. PPV is none of them: without a positive verdict it
#: is undefined.
ZERO_METRICS: Final[tuple[Metric, ...]] = ("mention_rate", "sensitivity", "false_positive_rate")
NEGATIVE, NOT_MENTIONED, AMBIGUOUS, POSITIVE, UNJUDGED = range(5)
#: The scores of the levels that the two functions below make: negative, ambiguous (or not mentioned), positive.
SCORES: Final = (0.0, 0.5, 1.0)
#: How the reason begins for which a difference is missing, by the side whose figure is.
OF_SIDE: Final[Mapping[Side, str]] = {
    "train": "for patients in the training data",
    "nontrain": "for patients outside the training data",
    "control": "for the model before training",
}


def score_levels_of_mentions(counts: Counts) -> Counts:
    """Return counts by score among generations that mention the diagnosis: `(..., 5)` to `(..., 3)`."""
    return np.stack([counts[..., NEGATIVE], counts[..., AMBIGUOUS], counts[..., POSITIVE]], axis=-1)


def score_levels_of_all(counts: Counts) -> Counts:
    """Return counts by score among all judged generations: `(..., 5)` to `(..., 3)`; one without a mention scores ½."""
    undecided = counts[..., NOT_MENTIONED] + counts[..., AMBIGUOUS]
    return np.stack([counts[..., NEGATIVE], undecided, counts[..., POSITIVE]], axis=-1)


def count_judged(counts: Counts) -> Counts:
    """Return the number of generations with a verdict."""
    total: Counts = counts[..., :UNJUDGED].sum(axis=-1)
    return total


def count_mentioned(counts: Counts) -> Counts:
    """Return the number of generations that mention the diagnosis, whatever they say of it."""
    total: Counts = score_levels_of_mentions(counts).sum(axis=-1)
    return total


def compute_metrics(present: Counts, absent: Counts, *, prevalence: float | None) -> dict[Metric, Counts]:
    """Return every metric from `(..., 5)` counts, `(...)` each; NaN where it is undefined.

    `mention_rate`: the share of judged generations that mentions the diagnosis. `auroc`: how well scores tell
    d-positives from d-negatives among generations that mention it. `auroc_all`: the same among all judged ones, no
    mention scoring ½. `ppv`: d-positives among the generations that state the diagnosis. `sensitivity` and
    `false_positive_rate`: the share of d-positives, and of d-negatives, whose generation states it.
    `ppv_at_prevalence`: Bayes' rule from these two rates. It is undefined at a prevalence of 0 or 1, where it would be
    0 or 1 whatever the model says.
    """
    stated, misstated = present[..., POSITIVE], absent[..., POSITIVE]
    sensitivity = divide_or_nan(stated, count_judged(present))
    false_positive_rate = divide_or_nan(misstated, count_judged(absent))
    share = np.nan if prevalence is None or prevalence in (0, 1) else prevalence
    right, wrong = sensitivity * share, false_positive_rate * (1 - share)
    return {
        "mention_rate": divide_or_nan(
            count_mentioned(present) + count_mentioned(absent), count_judged(present) + count_judged(absent)
        ),
        "auroc": auroc_of_counts(score_levels_of_mentions(present), score_levels_of_mentions(absent)),
        "ppv": divide_or_nan(stated, stated + misstated),
        "auroc_all": auroc_of_counts(score_levels_of_all(present), score_levels_of_all(absent)),
        "sensitivity": sensitivity,
        "false_positive_rate": false_positive_rate,
        "ppv_at_prevalence": divide_or_nan(right, right + wrong),
    }


def count_share(metric: Metric, present: Counts, absent: Counts) -> tuple[int, int] | None:
    """Return successes and trials of a metric that is a binomial share, of `(5,)` counts; None of the other metrics."""
    stated, misstated = present[POSITIVE], absent[POSITIVE]
    shares = {
        "mention_rate": (
            count_mentioned(present) + count_mentioned(absent),
            count_judged(present) + count_judged(absent),
        ),
        "ppv": (stated, stated + misstated),
        "sensitivity": (stated, count_judged(present)),
        "false_positive_rate": (misstated, count_judged(absent)),
    }
    if metric not in shares:
        return None
    successes, trials = shares[metric]
    return int(successes), int(trials)


def count_basis(metric: Metric, present: Counts, absent: Counts) -> int:
    """Return the number of generations that a metric is computed on, of `(5,)` counts."""
    share = count_share(metric, present, absent)
    if share is not None:
        return share[1]
    count = count_mentioned if metric == "auroc" else count_judged
    return int(count(present) + count(absent))


def explain_missing(
    metric: Metric, present: Counts, absent: Counts, *, prevalence: float | None, left_out: Collection[str] = ()
) -> str:
    """Return in words why a metric is undefined, of `(5,)` counts; `left_out`: why matched sets were left out."""
    if left_out and not present.sum() + absent.sum():
        return (
            "every matched set was dropped at this level of knowledge, since of one of its patients nothing could be "
            f"asked ({'; '.join(sorted(left_out))})"
        )
    if not count_judged(present) + count_judged(absent):
        return "no generation was judged"
    if metric == "ppv_at_prevalence" and prevalence is None:
        return "it is not known how common the diagnosis is"
    if metric == "ppv_at_prevalence" and prevalence in (0, 1):
        return "all candidates have the diagnosis, or none has, so that it would be the same whatever is generated"
    of_whom = {True: "patients with the diagnosis", False: "patients without the diagnosis"}
    if metric == "auroc" and not count_mentioned(present) + count_mentioned(absent):
        return "no generation mentions the diagnosis"
    for has, counts in ((True, present), (False, absent)):
        if not count_judged(counts) and metric != "ppv":
            return f"no generation of {of_whom[has]} was judged"
        if metric == "auroc" and not count_mentioned(counts):
            return f"no generation of {of_whom[has]} mentions it, so there is nothing to tell apart"
    return "no generation states that the patient has the diagnosis"


#: Where each outcome stands in counts.
COLUMNS: Final[dict[Outcome, int]] = {outcome: i for i, outcome in enumerate(OUTCOMES)}


@dataclass(frozen=True, slots=True)
class Reading:
    """What the judge read in one generation of a member of a cohort; `unjudged` is never a negative."""

    patient_id: str
    arm: Arm
    #: Whether the patient has the diagnosis.
    present: bool
    outcome: Outcome
    #: What it read in the control model's answer about a patient trained on; None where that was not asked.
    control: Outcome | None = None


class TierReadings(NamedTuple):
    """One cohort at one tier: the readings of its complete matched sets, and the number of sets left out, by reason."""

    readings: list[Reading]
    dropped_sets: dict[str, int]
    #: Whose answers were asked for.
    sides: tuple[Side, ...] = ARMS


#: By diagnosis and tier.
CollectedReadings = Mapping[str, Mapping[str, TierReadings]]


class ArmCounts(NamedTuple):
    """One arm's readings: `(5,)` counts by outcome, for patients with and without the diagnosis."""

    present: Counts
    absent: Counts


def count_outcomes(readings: Iterable[Reading]) -> ArmCounts:
    """Count one arm's readings. Raises `ValueError` where a patient is read twice.

    An audit has one generation a patient, diagnosis and tier: every interval assumes independent readings.
    """
    counts = np.zeros((2, len(OUTCOMES)))
    seen = set()
    for reading in readings:
        if reading.patient_id in seen:
            raise ValueError("a patient is read twice for one diagnosis and tier")
        seen.add(reading.patient_id)
        counts[int(not reading.present), COLUMNS[reading.outcome]] += 1
    return ArmCounts(*counts)


def tabulate_outcomes(counts: ArmCounts) -> dict[DiagnosisStatus, dict[Outcome, int]]:
    """Return one arm's counts as the outcome table that the evidence holds."""
    return {
        status: {outcome: int(of_status[column]) for outcome, column in COLUMNS.items()}
        for status, of_status in zip(DIAGNOSIS_STATUSES, counts, strict=True)
    }


def split_sides(readings: Iterable[Reading]) -> dict[Side, list[Reading]]:
    """Return the readings of each arm, and the control's. Raises `ValueError` where a patient stands in both arms."""
    by_side: dict[Side, list[Reading]] = {"train": [], "nontrain": [], "control": []}
    for reading in readings:
        by_side[reading.arm].append(reading)
        if reading.control is not None:
            by_side["control"].append(replace(reading, outcome=reading.control))
    if {r.patient_id for r in by_side["train"]} & {r.patient_id for r in by_side["nontrain"]}:
        raise ValueError("a patient stands in both arms")
    return by_side
