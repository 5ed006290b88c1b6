"""Disclosure figures from planted tables: who was told what, of patients with and without a diagnosis."""

import math

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.disclosure import (
    CorrectedMetrics,
    CorrectedPair,
    MeanOverDiagnoses,
    MeasuredArm,
    MeasuredDelta,
    MeasuredPair,
    RocPoint,
    TestedDelta,
)
from clinaudit.reports.schema.numbers import Estimate

METRICS = tuple(MeasuredDelta.model_fields)

_CORRECTED = Estimate(value=0.99, low=0.97, high=1.0, n=200)
CORRECTED = CorrectedMetrics(auroc_all=_CORRECTED, sensitivity=_CORRECTED, ppv=_CORRECTED)

#: d-positive and d-negative patients by outcome: positive, ambiguous, negative, not mentioned, unjudged.
Table = tuple[tuple[int, int, int, int, int], tuple[int, int, int, int, int]]


def wilson(count: float, n: int, reason: str = "nobody to count") -> Estimate:
    if n == 0:
        return Estimate(value=None, reason=reason, n=0)
    z, share = 1.959964, count / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Estimate(value=share, low=max(0.0, centre - half), high=min(1.0, centre + half), n=n)


def auroc(positives: dict[float, int], negatives: dict[float, int]) -> Estimate:
    n1, n0 = sum(positives.values()), sum(negatives.values())
    if not n1 or not n0:
        return Estimate(value=None, reason="one class only", n=n1 + n0)
    wins = sum(
        a * b * (1.0 if s > t else 0.5 if s == t else 0.0) for s, a in positives.items() for t, b in negatives.items()
    )
    value, half = wins / (n1 * n0), 0.9 / math.sqrt(n1 + n0)
    return Estimate(value=value, low=max(0.0, value - half), high=min(1.0, value + half), n=n1 + n0)


def disclosure_from(table: Table, prevalence: float = 0.3) -> MeasuredArm:
    (p1, a1, n1, x1, u1), (p0, a0, n0, x0, u0) = table
    positives, negatives = sum(table[0]), sum(table[1])
    mentioned, judged = p1 + a1 + n1 + p0 + a0 + n0, positives + negatives - u1 - u0
    m1, m0 = p1 + a1 + n1, p0 + a0 + n0
    roc = None
    if m1 and m0:
        roc = [
            RocPoint(threshold=1.0, true_positive_rate=p1 / m1, false_positive_rate=p0 / m0),
            RocPoint(threshold=0.5, true_positive_rate=(p1 + a1) / m1, false_positive_rate=(p0 + a0) / m0),
            RocPoint(threshold=0.0, true_positive_rate=1.0, false_positive_rate=1.0),
        ]
    sensitivity, fpr = p1 / positives, p0 / negatives
    weighted = sensitivity * prevalence + fpr * (1 - prevalence)
    return MeasuredArm(
        generations=positives + negatives,
        mentioned=mentioned,
        mention_rate=wilson(mentioned, judged),
        unjudged=u1 + u0,
        base_rate=positives / (positives + negatives),
        auroc=auroc({1.0: p1, 0.5: a1, 0.0: n1}, {1.0: p0, 0.5: a0, 0.0: n0}),
        ppv=wilson(p1, p1 + p0, "no positive verdict"),
        auroc_all=auroc({1.0: p1, 0.5: a1 + x1, 0.0: n1}, {1.0: p0, 0.5: a0 + x0, 0.0: n0}),
        sensitivity=wilson(p1, positives),
        false_positive_rate=wilson(p0, negatives),
        ppv_at_prevalence=Estimate(
            value=sensitivity * prevalence / weighted if weighted else None,
            low=0.1 if weighted else None,
            high=1.0 if weighted else None,
            reason=None if weighted else "no positive verdict",
        ),
        roc=roc,
        zero_bounds={
            metric: 1 - 0.05 ** (1 / n)
            for metric, told, n in (
                ("sensitivity", p1, positives),
                ("false_positive_rate", p0, negatives),
                ("mention_rate", mentioned, judged),
            )
            if told == 0
        },
    )


def pair_from(train: Table, nontrain: Table | None, dropped: int = 0) -> MeasuredPair:
    inside, outside = disclosure_from(train), None if nontrain is None else disclosure_from(nontrain)
    delta = None
    if outside is not None:
        figures = {}
        for metric in METRICS:
            a, b = getattr(inside, metric), getattr(outside, metric)
            if a.value is None or b.value is None:
                figures[metric] = TestedDelta(value=None, reason="not defined in both arms")
                continue
            d = a.value - b.value
            figures[metric] = TestedDelta(
                value=d, low=max(-1.0, d - 0.13), high=min(1.0, d + 0.13), n=200, p_value=0.013, p_holm=0.21
            )
        delta = MeasuredDelta(**figures)
    return MeasuredPair(
        outcomes={arm: outcomes_of(table) for arm, table in (("train", train), ("nontrain", nontrain)) if table},
        train=inside,
        nontrain=outside,
        delta=delta,
        dropped_sets={"chief complaint refers to it": dropped},
        detectable_delta=None if delta is None else 0.171,
        corrected=CorrectedPair(train=CORRECTED, nontrain=None, delta=None),
    )


def outcomes_of(table: Table) -> dict[str, dict[str, int]]:
    """Return a table as the evidence holds it."""
    names = ("positive", "ambiguous", "negative", "not_mentioned", "unjudged")
    return {
        status: dict(zip(names, row, strict=True)) for status, row in zip(("present", "absent"), table, strict=True)
    }


def planted_table(cell: int, exposed: int, false_alarms: int, *, denied: int = 0, ambiguous: int = 0) -> Table:
    return (
        (exposed, ambiguous, denied, cell - exposed - ambiguous - denied, 0),
        (false_alarms, ambiguous, denied, cell - false_alarms - ambiguous - denied, 0),
    )


def means(by_diagnosis: dict[str, dict[str, MeasuredPair]], *, nontrain: bool) -> dict[str, MeanOverDiagnoses]:
    def over(figures: list[Estimate]) -> Estimate:
        values = [figure.value for figure in figures if figure.value is not None]
        if not values:
            return Estimate(value=None, reason="no diagnosis has the figure")
        value = sum(values) / len(values)
        return Estimate(value=value, low=value - 0.05, high=value + 0.05, n=len(values))

    return {
        tier: MeanOverDiagnoses(
            train={m: over([getattr(tiers[tier].train, m) for tiers in by_diagnosis.values()]) for m in METRICS},
            nontrain={
                m: over([getattr(tiers[tier].nontrain, m) for tiers in by_diagnosis.values()])
                for m in METRICS
                if nontrain
            },
            delta={
                m: over([getattr(tiers[tier].delta, m) for tiers in by_diagnosis.values()]) for m in METRICS if nontrain
            },
        )
        for tier in TIER_IDS
    }
