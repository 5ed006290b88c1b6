"""What the test of each comparison shows on the exact numbers, so that its word gives no count away (docs/policy.md).

Owns Holm's step-down over all comparisons, at levels that are safe for the classes of each. Everything else of a
verdict is decided on what is published.
"""

import math

from clinaudit.audit.gate.evaluation import Comparison, Outcome
from clinaudit.audit.gate.policy import ALPHA, LIMITS
from clinaudit.audit.ranges.safe_limits import DrawnTables, draw_tables, safe_level, safe_limits
from clinaudit.audit.ranges.tests import find_test_ranges
from clinaudit.reports.exact.disclosure import TestedDelta
from clinaudit.reports.exact.results import Results
from clinaudit.reports.schema.results import PublishedResults, view_rendering


def find_outcomes(results: Results, published: PublishedResults) -> dict[Comparison, Outcome]:
    """Return the outcome of every comparison that was tested; `published` was made of `results`."""
    tested: dict[Comparison, tuple[TestedDelta, DrawnTables]] = {}
    ends = find_test_ranges(published)
    for rendering in (None, *results.renderings):
        pairs = view_rendering(results, rendering).disclosure.by_diagnosis
        shown = view_rendering(published, rendering).disclosure.by_diagnosis
        for diagnosis, tiers in pairs.items():
            for tier, pair in tiers.items():
                delta = None if pair.delta is None else pair.delta.auroc_all
                if delta is not None and delta.p_value is not None:
                    compared = diagnosis, tier, rendering
                    tested[compared] = delta, draw_tables(shown[diagnosis][tier], ends[compared])
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
