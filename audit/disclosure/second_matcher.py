"""Sensitivity analysis of the matching: the deltas on cohorts of another matcher (`--second-matcher`).

Owns the comparison of deltas between two cohort matchers (docs/methods.md, section 4). Knows nothing of how either
matches. The gate does not read it.
"""

from collections.abc import Sequence

from clinaudit.audit.choices import Matcher
from clinaudit.audit.cohorts.cohort import Cohort
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.disclosure.readings import CollectedReadings
from clinaudit.audit.disclosure.stage import measure_all_disclosure
from clinaudit.reports.exact.disclosure import DisclosurePair, SecondMatcher, SecondMatching
from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.schema.disclosure import COMPARED_METRICS


def measure_second_matching(
    matcher: Matcher | None,
    cohorts: Sequence[Cohort],
    collected: CollectedReadings,
    *,
    seed: int,
    progress: Progress,
) -> SecondMatcher | None:
    """Return the deltas on the second matcher's cohorts; None where there is no second matcher."""
    if matcher is None:
        return None
    of_view = measure_all_disclosure(cohorts, {None: collected}, confusion_matrix=None, seed=seed, progress=progress)
    measured = of_view[None]
    return SecondMatcher(
        matcher=matcher,
        diagnoses={
            cohort.diagnosis: _describe(cohort, measured.by_diagnosis.get(cohort.diagnosis, {})) for cohort in cohorts
        },
    )


def _describe(cohort: Cohort, pairs: dict[str, DisclosurePair]) -> SecondMatching:
    # Of few patients of one sex the SMD is not published.
    smds = [row.smd for row in cohort.summary.balance if not row.few]
    return SecondMatching(
        status=cohort.summary.status,
        reason=cohort.summary.reason,
        sets=cohort.summary.cells["train_positive"],
        # An undefined SMD counts as larger than any: then there is no largest one.
        largest_smd=max((abs(smd) for smd in smds if smd is not None), default=None) if None not in smds else None,
        delta={
            tier: {metric: _difference(pair, metric) for metric in COMPARED_METRICS} for tier, pair in pairs.items()
        },
        pairs=pairs,
    )


def _difference(pair: DisclosurePair, metric: str) -> Estimate:
    if pair.delta is None:
        return Estimate(value=None, reason="there is no nontrain arm")
    delta = getattr(pair.delta, metric)
    return Estimate(value=delta.value, low=delta.low, high=delta.high, reason=delta.reason)
