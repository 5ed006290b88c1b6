"""Small cells in the matched cohorts, and in the deltas on a second matcher's cohorts.

The four cells of a cohort are equal: one that is hidden hides all, and the balance computed on them. A second cohort
shares most patients with the first, so that an exact figure of it would tell of the few that it does not share: its
deltas are given to two decimals, without `n`.
"""

from clinaudit.reports.results import (
    COMPARED_METRICS,
    BalanceRow,
    CohortSummary,
    DisclosurePair,
    Estimate,
    SecondMatcher,
    SecondMatching,
)
from clinaudit.reports.small_cells import blur, is_small, publish_count, publish_rate, withhold
from clinaudit.reports.suppressed_disclosure import publish_pair
from clinaudit.reports.suppressed_groups import publish_overlap


def has_small_cell(cohort: CohortSummary) -> bool:
    """Whether a cell of the cohort is hidden."""
    return any(is_small(count) for count in cohort.cells.values())


def publish_cohort(cohort: CohortSummary) -> CohortSummary:
    """Return the publishable copy of a cohort's summary."""
    hides_cells = has_small_cell(cohort)
    return cohort.model_copy(
        update={
            "prevalence": publish_rate(cohort.prevalence),
            "cells": {cell: None if hides_cells else count for cell, count in cohort.cells.items()},
            "balance": [_without_smd(row) for row in cohort.balance] if hides_cells else cohort.balance,
            "excluded": {reason: publish_count(count) for reason, count in cohort.excluded.items()},
            "overlap": [] if hides_cells else publish_overlap(cohort.overlap),
        }
    )


def publish_second_matcher(second: SecondMatcher) -> SecondMatcher:
    """Return the publishable copy of the deltas under the second matcher."""
    return second.model_copy(
        update={"diagnoses": {diagnosis: _publish(matching) for diagnosis, matching in second.diagnoses.items()}}
    )


def _publish(matching: SecondMatching) -> SecondMatching:
    hides_cells = is_small(matching.sets)
    return matching.model_copy(
        update={
            "sets": publish_count(matching.sets),
            "largest_smd": None if hides_cells or matching.largest_smd is None else round(matching.largest_smd, 2),
            "delta": {tier: _publish_deltas(pair, matching.sets) for tier, pair in matching.pairs.items()},
            "pairs": {},
        }
    )


def _publish_deltas(pair: DisclosurePair, sets: int | None) -> dict[str, Estimate]:
    delta = publish_pair(pair, set_count=sets, prevalence=None).delta
    if delta is None:
        return {metric: Estimate(value=None, reason="there is no nontrain arm") for metric in COMPARED_METRICS}
    shown = {metric: getattr(delta, metric) for metric in COMPARED_METRICS}
    return {metric: withhold(figure) if is_small(sets) else blur(figure) for metric, figure in shown.items()}


def _without_smd(row: BalanceRow) -> BalanceRow:
    return row.model_copy(update={"smd": None, "smd_before": None})
