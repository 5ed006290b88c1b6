"""What the test of each comparison shows on the exact numbers, so that its word gives no count away (docs/policy.md).

Owns Holm's step-down over all comparisons, at levels that are safe for the classes of each. Everything else of a
verdict is decided on what is published.
"""

import math
from collections.abc import Iterable, Mapping

from clinaudit.audit.gate.evaluation import Comparison, Outcome
from clinaudit.audit.gate.policy import ALPHA, LIMITS
from clinaudit.audit.ranges.safe_limits import DrawnTables, draw_tables, safe_level, safe_limits
from clinaudit.audit.ranges.tests import find_test_ranges
from clinaudit.reports.schema.disclosure import MeasuredPair, TestedDelta
from clinaudit.reports.schema.results import PublishedResults, view_rendering
from clinaudit.reports.tally.tally import DisclosureTally, Tally


def tested_of(tally: Tally) -> dict[Comparison, TestedDelta]:
    """Return the measured excess of every comparison that was tested."""
    forms: dict[str | None, DisclosureTally] = {
        None: tally.disclosure,
        **{name: of.disclosure for name, of in tally.renderings.items()},
    }
    return _tested(
        (diagnosis, tier, rendering, pair.evidence.value)
        for rendering, disclosure in forms.items()
        for diagnosis, tiers in disclosure.by_diagnosis.items()
        for tier, pair in tiers.items()
    )


def tested_in(exact: PublishedResults) -> dict[Comparison, TestedDelta]:
    """Return the same of exact results."""
    return _tested(
        (diagnosis, tier, rendering, pair.evidence)
        for rendering in (None, *exact.renderings)
        for diagnosis, tiers in view_rendering(exact, rendering).disclosure.by_diagnosis.items()
        for tier, pair in tiers.items()
    )


def _tested(pairs: Iterable[tuple[str, str, str | None, MeasuredPair | None]]) -> dict[Comparison, TestedDelta]:
    deltas = {
        (diagnosis, tier, rendering): pair.delta.auroc_all
        for diagnosis, tier, rendering, pair in pairs
        if pair is not None and pair.delta is not None
    }
    return {compared: delta for compared, delta in deltas.items() if delta.p_value is not None}


def find_outcomes(measured: Mapping[Comparison, TestedDelta], published: PublishedResults) -> dict[Comparison, Outcome]:
    """Return the outcome of every comparison that was tested, with what was `measured`."""
    ends = find_test_ranges(published)
    tested = {}
    for compared, delta in measured.items():
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
