"""Two runs compared by their published results alone, where the evidence of one was purged.

Owns the interval of a difference of two published estimates, conservative whatever the dependence of the runs
(Bonferroni; docs/methods.md, section 8). Nothing here needs suppression: it is made of what both runs publish. Knows
nothing of patients.
"""

from typing import Final

from clinaudit.audit.comparison.disclosure import PAIRED_METRICS
from clinaudit.audit.statistics.intervals import clopper_pearson_of_mean, interval_of, wider_of
from clinaudit.reports.schema.comparison import ComparedDisclosure, ComparedMemorization, ComparedMetric
from clinaudit.reports.schema.disclosure import DisclosurePair, TestedDelta
from clinaudit.reports.schema.estimate import ARMS, REASON, Arm, Estimate
from clinaudit.reports.schema.memorization import Memorization
from clinaudit.reports.schema.results import Results

#: Each mean, and the one with Clopper-Pearson bounds, which are not degenerate at 0 or 1.
_BOUNDS: Final = {
    "memorized_fraction": "memorized_fraction_bounds",
    "attributable_fraction": "attributable_fraction_bounds",
}
_NO_INTERVAL = "one of the runs published no interval of it"


def compare_published_memorization(a: Results, b: Results) -> dict[str, dict[Arm, ComparedMemorization]]:
    """Return the comparison at every tier and arm that both runs published."""
    return {
        tier: {
            arm: _compare_arm(arms[arm], b.memorization[tier][arm])
            for arm in ARMS
            if arm in arms and arm in b.memorization[tier]
        }
        for tier, arms in a.memorization.items()
        if tier in b.memorization
    }


def compare_published_disclosure(a: Results, b: Results) -> dict[str, dict[str, ComparedDisclosure]]:
    """Return the deltas of every diagnosis and tier that both runs published."""
    later = b.disclosure.by_diagnosis
    return {
        diagnosis: {
            tier: ComparedDisclosure(
                pairs=None,
                unpaired_a=None,
                unpaired_b=None,
                delta={
                    metric: _compare(_delta(pair, metric), _delta(later[diagnosis][tier], metric))
                    for metric in PAIRED_METRICS
                },
            )
            for tier, pair in tiers.items()
            if tier in later[diagnosis]
        }
        for diagnosis, tiers in a.disclosure.by_diagnosis.items()
        if diagnosis in later
    }


def _compare_arm(a: Memorization, b: Memorization) -> ComparedMemorization:
    def compare_metric(name: str) -> ComparedMetric:
        return _compare(*(_level(memorization, name) for memorization in (a, b)))

    return ComparedMemorization(
        pairs=None,
        unpaired_a=None,
        unpaired_b=None,
        memorized_fraction=compare_metric("memorized_fraction"),
        attributable_fraction=compare_metric("attributable_fraction"),
        hit_rate=compare_metric("hit_rate"),
        hits=None,
    )


def _level(memorization: Memorization, name: str) -> Estimate:
    """Return a published level, its interval in union with the Clopper-Pearson bounds; without both, no interval."""
    level: Estimate = getattr(memorization, name)
    if level.value is None:
        return level
    if name in _BOUNDS:
        bounds: Estimate = getattr(memorization, _BOUNDS[name])
    elif memorization.patients:
        bounds = clopper_pearson_of_mean(min(1.0, level.value) * memorization.patients, memorization.patients)
    else:
        return level.model_copy(update={"low": None, "high": None})
    if None in (level.low, level.high, bounds.low, bounds.high):
        return level.model_copy(update={"low": None, "high": None})
    low, high = wider_of(interval_of(level), interval_of(bounds))
    return level.model_copy(update={"low": low, "high": high})


def _delta(pair: DisclosurePair, metric: str) -> Estimate:
    delta: TestedDelta | None = None if pair.delta is None else getattr(pair.delta, metric)
    if delta is None:
        return Estimate(value=None, reason="there is no held-out arm")
    low, high = delta.low, delta.high
    if delta.value is None and delta.confidence_low is not None and delta.confidence_high is not None:
        low, high = delta.confidence_low, delta.confidence_high
    return Estimate(value=delta.value, low=low, high=high, n=delta.n, reason=delta.reason)


def _compare(a: Estimate, b: Estimate) -> ComparedMetric:
    return ComparedMetric(a=a, b=b, difference=published_difference(a, b))


def published_difference(a: Estimate, b: Estimate) -> Estimate:
    """Return B minus A of two published estimates of the same patients.

    The interval is [low B - high A, high B - low A]. It covers whenever both intervals do, however the runs depend on
    each other: at least 90% (Bonferroni). Where a value was suppressed to a range, the difference is a range, too.
    """
    reason = next((estimate.reason for estimate in (a, b) if estimate.value is None and estimate.low is None), None)
    if reason is not None:
        return Estimate(value=None, reason=reason)
    has_ends = None not in (a.low, a.high, b.low, b.high)
    if a.value is None or b.value is None:
        if not has_ends:
            return Estimate(value=None, reason=REASON)
        (a_low, a_high), (b_low, b_high) = interval_of(a), interval_of(b)
        return Estimate(value=None, low=b_low - a_high, high=b_high - a_low, reason=REASON)
    value = b.value - a.value
    if not has_ends:
        return Estimate(value=value, reason=_NO_INTERVAL)
    (a_low, a_high), (b_low, b_high) = interval_of(a), interval_of(b)
    return Estimate(value=value, low=b_low - a_high, high=b_high - a_low)
