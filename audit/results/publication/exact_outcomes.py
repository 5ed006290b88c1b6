"""What the test of each comparison shows on the exact numbers, so that its word gives no count away (docs/policy.md).

Owns Holm's step-down over all comparisons, at levels that are safe for the classes of each. Everything else of a
verdict is decided on what is published.
"""

import math

from clinaudit.audit.results.gate.evaluation import Comparison, Outcome
from clinaudit.audit.results.gate.policy import ALPHA, LIMITS
from clinaudit.audit.results.ranges.safe_limits import DrawnTables, draw_tables, safe_level, safe_limits
from clinaudit.audit.results.ranges.tests import find_test_ranges
from clinaudit.reports.schema.disclosure import TestedDelta
from clinaudit.reports.schema.results import RunResults, view_rendering


def find_outcomes(exact: RunResults, published: RunResults) -> dict[Comparison, Outcome]:
    """Return the outcome of every comparison that was tested; `exact` and `published` are results of one run."""
    measured: dict[Comparison, TestedDelta] = {
        (diagnosis, tier, rendering): pair.evidence.delta.auroc_all
        for rendering in (None, *exact.renderings)
        for diagnosis, tiers in view_rendering(exact, rendering).disclosure.by_diagnosis.items()
        for tier, pair in tiers.items()
        if pair.evidence is not None and pair.evidence.delta is not None
    }
    ends = find_test_ranges(published)
    tested = {}
    for compared, delta in measured.items():
        if delta.p_value is None:
            continue
        diagnosis, tier, rendering = compared
        shown = view_rendering(published, rendering).disclosure.by_diagnosis[diagnosis][tier]
        tested[compared] = delta, draw_tables(shown, ends[compared])
    levels = _find_levels(tested)
    return {
        compared: Outcome(
            shows_excess=(delta.p_value or 0.0) <= levels[compared],
            is_within={
                limit: max(_upper(delta.high), delta.worst_high or -1.0) <= turn
                for limit, turn in safe_limits(drawn, levels[compared], LIMITS).items()
            },
        )
        for compared, (delta, drawn) in tested.items()
    }


def _upper(end: float | None) -> float:
    """Return the upper end of an interval; without one nothing can be ruled out."""
    return math.inf if end is None else end


def _find_levels(tested: dict[Comparison, tuple[TestedDelta, DrawnTables]]) -> dict[Comparison, float]:
    """Return the level at which each comparison is tested after Holm's step-down (1979).

    A comparison counts as rejected for the others where its own word says so: they tell no more of it.
    """
    rejected: set[Comparison] = set()
    while True:
        levels = {
            compared: safe_level(drawn, ALPHA / (len(tested) - len(rejected - {compared})))
            for compared, (_, drawn) in tested.items()
        }
        found = {key for key, (delta, _) in tested.items() if (delta.p_value or 0.0) <= levels[key]}
        if found <= rejected:
            return levels
        rejected |= found
