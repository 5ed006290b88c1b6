"""Two runs compared by their published results.

Owns the range and the interval of a difference of two published figures, conservative whatever the dependence of the
runs (Bonferroni; docs/methods.md, section 8). All but the counts of pairs is a function of what both runs publish.
"""

from collections.abc import Mapping
from typing import Final

from clinaudit.audit.results.comparison.disclosure import PAIRED_METRICS
from clinaudit.reports.schema.attacks import LeakName, LeakResults
from clinaudit.reports.schema.comparison import ComparedEstimate, ComparedMemorization, ComparedRules, PairedPatients
from clinaudit.reports.schema.decision import DecidedRule
from clinaudit.reports.schema.disclosure import PairResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.names import order_tiers, short_asker
from clinaudit.reports.wording.rule_figures import RENDERING_WORDS, subject_title

_NO_CONTROLS: Final = "there are no patients the model never saw: nothing can be attributed to training"
#: Two differences of shares lie within -1 to 1.
_MOST_OF_DELTAS: Final = 2.0
_FRACTIONS: Final = (
    "memorized_fraction",
    "attributable_fraction",
    "other_patient_fraction",
    "near_verbatim_attributable_fraction",
)
_NO_FIGURE: Final = "one of the runs has no such figure"


def compare_published_memorization(
    a: RunResults, b: RunResults, pairs: Mapping[str, Mapping[Arm, PairedPatients]]
) -> dict[str, dict[Arm, ComparedMemorization]]:
    """Return the comparison at every tier and arm that both runs published; `pairs` are empty without evidence."""
    return {
        tier: {
            arm: _compare_arm(_figures(a, tier, arm), _figures(b, tier, arm), pairs.get(tier, {}).get(arm))
            for arm in ARMS
            if arm in a.memorization[tier] and arm in b.memorization[tier]
        }
        for tier in order_tiers(set(a.memorization))
        if tier in b.memorization
    }


def compare_ordinary(a: RunResults, b: RunResults) -> dict[LeakName, ComparedEstimate]:
    """Return the shares of everyday tasks answered with text of a patient's, and with an identifier, of both runs."""
    if a.ordinary is None or b.ordinary is None:
        return {}
    both: dict[LeakName, tuple[LeakResults | None, LeakResults | None]] = {
        "text": (a.ordinary.text, b.ordinary.text),
        "identifiers": (a.ordinary.identifiers, b.ordinary.identifiers),
    }
    return {
        name: compare_estimates(before.share, after.share)
        for name, (before, after) in both.items()
        if before is not None and after is not None
    }


def compare_published_disclosure(a: RunResults, b: RunResults) -> dict[str, dict[str, dict[str, ComparedEstimate]]]:
    """Return trained on minus never seen, by diagnosis, tier and metric, wherever both runs published it."""
    later = b.disclosure.by_diagnosis
    return {
        diagnosis: {
            tier: {
                metric: compare_estimates(
                    _delta(pair, metric), _delta(later[diagnosis][tier], metric), most=_MOST_OF_DELTAS
                )
                for metric in PAIRED_METRICS
            }
            for tier, pair in ((tier, tiers[tier]) for tier in order_tiers(set(tiers)))
            if tier in later[diagnosis]
        }
        for diagnosis, tiers in a.disclosure.by_diagnosis.items()
        if diagnosis in later
    }


def compare_rules(a: RunResults, b: RunResults) -> ComparedRules | None:
    """Return both verdicts, and what became of B's rules; None where neither run has a verdict."""
    if a.decision is None and b.decision is None:
        return None
    before, after = ([] if run.decision is None else run.decision.rules for run in (a, b))
    failed = {_key(rule) for rule in before if rule.status == "fail"}
    named: dict[str, list[str]] = {"mended": [], "new": [], "failing": [], "open": []}
    for rule in after:
        is_old = _key(rule) in failed
        kinds = {"pass": "mended" if is_old else "", "fail": "failing" if is_old else "new", "inconclusive": "open"}
        if kinds[rule.status]:
            named[kinds[rule.status]].append(_name(rule))
    asked = set(map(_key, after))
    named["gone"] = [_name(rule) for rule in before if rule.status == "fail" and _key(rule) not in asked]
    statuses = [None if run.decision is None else run.decision.status for run in (a, b)]
    return ComparedRules(a=statuses[0], b=statuses[1], **named)


def _key(rule: DecidedRule) -> tuple[str, float | None]:
    # Under two policies a rule of one id may have two limits: that one was not mended.
    return rule.id, rule.limit.max


def _name(rule: DecidedRule) -> str:
    form = "" if rule.rendering is None else f", {RENDERING_WORDS.get(rule.rendering, rule.rendering)}"
    return f"{subject_title(rule)} · {short_asker(rule.tier or 'anyone')}{form}"


def _figures(run: RunResults, tier: str, arm: Arm) -> dict[str, EstimateRange | None]:
    """Return the figures that are compared, by field of `ComparedMemorization`."""
    summary, identifiers = run.memorization[tier][arm], None if run.identifiers is None else run.identifiers.tiers
    own, queries = (identifiers or {}).get(tier, {}).get(arm), run.queries.get(tier, {}).get(arm)
    return {
        **{name: summary.estimate(name) for name in _FRACTIONS},
        "hit_patients_share": summary.hit_patients_share,
        "own_identifiers": None if own is None else own.own,
        "within_1000_queries": None if queries is None else queries.within.get("1000"),
    }


def _compare_arm(
    a: Mapping[str, EstimateRange | None], b: Mapping[str, EstimateRange | None], patients: PairedPatients | None
) -> ComparedMemorization:
    both = ((name, before, b[name]) for name, before in a.items())
    compared = {
        name: None if before is None or after is None else compare_estimates(before, after)
        for name, before, after in both
    }
    return ComparedMemorization.model_validate({"patients": patients, **compared})


def _delta(pair: PairResults, metric: str) -> EstimateRange:
    if pair.delta is None:
        return EstimateRange(reason=_NO_CONTROLS)
    return pair.delta.get(metric, EstimateRange(reason=_NO_FIGURE))


def compare_estimates(a: EstimateRange, b: EstimateRange, *, most: float = 1.0) -> ComparedEstimate:
    """Return two published figures of the same patients and B minus A.

    The range is [low B - high A, high B - low A]: over all tables within the classes of both runs. So is the interval,
    [confidence_low B - confidence_high A, confidence_high B - confidence_low A]. It covers whenever both intervals do,
    however the runs depend on each other: at least 90% (Bonferroni). `most` is the largest difference there can be.
    """
    return ComparedEstimate(a=a, b=b, difference=_difference(a, b, most=most))


def _difference(a: EstimateRange, b: EstimateRange, *, most: float) -> EstimateRange:
    ends = [_range(estimate) for estimate in (a, b)]
    if ends[0] is None or ends[1] is None:
        missing = a if ends[0] is None else b
        return EstimateRange(reason=missing.reason or _NO_FIGURE)
    (a_low, a_high), (b_low, b_high) = ends[0], ends[1]
    confidence_low = confidence_high = None
    if b.confidence_low is not None and a.confidence_high is not None:
        confidence_low = max(-most, b.confidence_low - a.confidence_high)
    if b.confidence_high is not None and a.confidence_low is not None:
        confidence_high = min(most, b.confidence_high - a.confidence_low)
    return EstimateRange(
        # Means are rounded to whole percents: of two of them only the range is known.
        value=b_low - a_high if a_low == a_high and b_low == b_high else None,
        low=b_low - a_high,
        high=b_high - a_low,
        confidence_low=confidence_low,
        confidence_high=confidence_high,
    )


def _range(estimate: EstimateRange) -> tuple[float, float] | None:
    if estimate.low is not None and estimate.high is not None:
        return estimate.low, estimate.high
    return None if estimate.value is None else (estimate.value, estimate.value)
