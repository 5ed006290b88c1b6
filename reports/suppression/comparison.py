"""Small cells in a comparison of two runs (docs/comparing-runs.md, "What is written, and what is hidden").

Two runs of nearly the same patients tell more than either: two counts of ten thousand that differ by three tell of
three patients. Hence, beside what each run hides by itself:

- levels (A and B on the pairs) are withheld where the pairs differ from a run's own patients by 1 to 10, or by more of
  whom 1 to 10 have, or lack, a figure above 0: the run's published level minus that of the pairs would be theirs;
- how many came and went between the runs is shown whole or not at all, and the p-value only as an upper step;
- where few patients changed, or few stand behind one of the levels, the difference is a band, or its interval lies on
  a grid of 0.05: the ends of a fine interval could be solved for how many changed.

Not hidden: the difference of two levels that both runs publish. Who has both reports has it anyway, and it is a net
change, of which any number may have come and gone.
"""

import math

from clinaudit.reports.schema.comparison import (
    ComparedDisclosure,
    ComparedMemorization,
    ComparedMetric,
    Forgetting,
    HealthCheck,
    HitChanges,
    PatientsBehind,
)
from clinaudit.reports.schema.disclosure import Disclosure, DisclosurePair
from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.suppression.disclosure import suppress_pair
from clinaudit.reports.suppression.outcome_table import read_table
from clinaudit.reports.suppression.small_cells import (
    GRID_STEP,
    LARGEST_HIDDEN,
    band,
    blur,
    bound_of_few,
    bound_of_nearly_all,
    grid_cell,
    grid_width,
    is_small,
    suppress_breakdown,
    suppress_count,
    suppress_rate,
    withhold,
)

#: p-values of suppressed tables are rounded up to one of these.
_P_STEPS = (0.001, 0.01, 0.05, 1.0)
_FIGURES = ("memorized_fraction", "attributable_fraction", "hit_rate")


def suppress_compared_memorization(figures: ComparedMemorization) -> ComparedMemorization:
    """Return the publishable copy of one tier and arm; `pairs` is set and every figure knows who is behind it."""
    pairs = figures.pairs or 0
    unpaired = (figures.unpaired_a or 0, figures.unpaired_b or 0)
    hides_counts = is_small(pairs) or any(map(is_small, unpaired))
    published = {name: _suppress_figure(getattr(figures, name), pairs, unpaired) for name in _FIGURES}
    return ComparedMemorization(
        pairs=None if hides_counts else pairs,
        unpaired_a=None if hides_counts else unpaired[0],
        unpaired_b=None if hides_counts else unpaired[1],
        hits=None if figures.hits is None else _suppress_hits(figures.hits, hides=hides_counts),
        **published,
    )


def _suppress_figure(figure: ComparedMetric, pairs: int, unpaired: tuple[int, int]) -> ComparedMetric:
    behind = figure.behind
    if behind is None or is_small(pairs):
        return _withhold(figure)
    if _rest_tells(behind, unpaired):
        return ComparedMetric(a=withhold(figure.a), b=withhold(figure.b), difference=_on_grid(figure.difference, pairs))
    a, b = _suppress_level(figure.a, behind.a, pairs), _suppress_level(figure.b, behind.b, pairs)
    return ComparedMetric(a=a, b=b, difference=_suppress_difference(figure.difference, a, b, behind))


def _rest_tells(behind: PatientsBehind, unpaired: tuple[int, int]) -> bool:
    """Whether a run's level minus that of the pairs would tell of few."""
    return any(
        is_small(rest) or is_small(with_it) or is_small(rest - with_it)
        for rest, with_it in zip(unpaired, (behind.unpaired_a, behind.unpaired_b), strict=True)
    )


def _suppress_level(level: Estimate, behind: int, pairs: int) -> Estimate:
    if level.value is None or behind == 0:
        return level
    if is_small(behind):
        return bound_of_few(pairs)
    # As in `memorization`: a mean well below one does not tell how many are at zero.
    if is_small(pairs - behind) and pairs * (1 - level.value) < LARGEST_HIDDEN:
        return bound_of_nearly_all(pairs)
    return level


def _suppress_difference(difference: Estimate, a: Estimate, b: Estimate, behind: PatientsBehind) -> Estimate:
    if difference.value is None:
        return difference
    if a.value is None or b.value is None:
        return _difference_of_ranges(a, b)
    if is_small(behind.lower) or is_small(behind.higher):
        return _coarsen(difference)
    return difference


def _difference_of_ranges(a: Estimate, b: Estimate) -> Estimate:
    ranges = [_range(level) for level in (a, b)]
    if ranges[0] is None or ranges[1] is None:
        return Estimate(value=None, reason=REASON)
    return band(ranges[1][0] - ranges[0][1], ranges[1][1] - ranges[0][0])


def _range(estimate: Estimate) -> tuple[float, float] | None:
    if estimate.value is not None:
        return estimate.value, estimate.value
    return None if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)


def _coarsen(difference: Estimate) -> Estimate:
    """Give the interval outwards on a grid of 0.05; the value is that of two published levels."""
    if difference.low is None or difference.high is None:
        return difference
    return Estimate(
        value=difference.value,
        low=math.floor(difference.low / GRID_STEP + 1e-9) * GRID_STEP,
        high=math.ceil(difference.high / GRID_STEP - 1e-9) * GRID_STEP,
        n=difference.n,
    )


def _on_grid(difference: Estimate, smallest: int, *, largest: float = 1.0) -> Estimate:
    width = grid_width(smallest)
    if difference.value is None or width is None:
        return withhold(difference)
    return grid_cell(difference.value, width=width, centre=0.0, floor=-largest, ceiling=largest)


def _suppress_hits(hits: HitChanges, *, hides: bool) -> HitChanges:
    cells = (hits.both, hits.a_only, hits.b_only, hits.neither)
    if not hides and not any(map(is_small, cells)):
        return hits
    p_value = None if hits.p_value is None else next(step for step in _P_STEPS if hits.p_value <= step)
    return HitChanges(both=None, a_only=None, b_only=None, neither=None, p_value=p_value)


def _withhold(figure: ComparedMetric) -> ComparedMetric:
    return ComparedMetric(a=withhold(figure.a), b=withhold(figure.b), difference=withhold(figure.difference))


def suppress_compared_disclosure(
    compared: ComparedDisclosure, first: DisclosurePair, second: DisclosurePair
) -> ComparedDisclosure:
    """Return the publishable copy; `first` and `second` are the runs' figures on the pairs, unsuppressed."""
    unpaired = (compared.unpaired_a or 0, compared.unpaired_b or 0)
    hides_counts = is_small(compared.pairs) or any(map(is_small, unpaired))
    published = [suppress_pair(pair, set_count=None, prevalence=None) for pair in (first, second)]
    delta = {
        metric: _suppress_delta(metric, figure, (first, second), published, has_rest=any(unpaired))
        for metric, figure in compared.delta.items()
    }
    return ComparedDisclosure(
        pairs=None if hides_counts else compared.pairs,
        unpaired_a=None if hides_counts else compared.unpaired_a,
        unpaired_b=None if hides_counts else compared.unpaired_b,
        delta=delta,
    )


def _suppress_delta(
    metric: str,
    figure: ComparedMetric,
    originals: tuple[DisclosurePair, DisclosurePair],
    published: list[DisclosurePair],
    *,
    has_rest: bool,
) -> ComparedMetric:
    smallest = min(_smallest_class(pair) for pair in originals)
    if is_small(smallest) or figure.difference.value is None or figure.behind is None:
        return _withhold(figure)
    if has_rest:
        # Of those without a counterpart any count may be small, and the run's own figures minus these would be theirs.
        grid = _on_grid(figure.difference, smallest, largest=2.0)
        return ComparedMetric(a=withhold(figure.a), b=withhold(figure.b), difference=grid)
    a, b = (_as_published(metric, pair) for pair in published)
    if a.value is None or b.value is None:
        return ComparedMetric(a=a, b=b, difference=_difference_of_ranges(a, b))
    # The joint table of both runs has many cells: the interval is never given finely enough to solve for them.
    coarse = blur(figure.difference)
    if is_small(figure.behind.lower) or is_small(figure.behind.higher):
        coarse = _coarsen(coarse)
    return ComparedMetric(a=a, b=b, difference=coarse)


def _as_published(metric: str, pair: DisclosurePair) -> Estimate:
    delta = None if pair.delta is None else getattr(pair.delta, metric)
    if delta is None:
        return Estimate(value=None, reason="there is no held-out arm")
    return Estimate(value=delta.value, low=delta.low, high=delta.high, n=delta.n, reason=delta.reason)


def _smallest_class(pair: DisclosurePair) -> int:
    sizes = [_classes(arm) for arm in (pair.train, pair.nontrain) if arm is not None]
    return min((size for of_arm in sizes for size in of_arm), default=0)


def _classes(arm: Disclosure) -> tuple[int, int]:
    table = read_table(arm)
    return (0, 0) if table is None else (table.positives, table.negatives)


def suppress_forgetting(forgetting: Forgetting, *, group_sizes: dict[str, int]) -> Forgetting:
    """Return the certificate's aggregate without small counts; `group_sizes` are the patients that checks rest on."""
    named = forgetting.named or 0
    hides = is_small(named)
    patients: dict[str, int | None] = dict(forgetting.patients.items())
    patients = dict.fromkeys(patients) if hides else suppress_breakdown(patients)
    return forgetting.model_copy(
        update={
            "named": suppress_count(named),
            "patients": patients,
            "leaked_before": None if hides else suppress_count(forgetting.leaked_before, total=named),
            "controls": {tier: suppress_count(count) for tier, count in forgetting.controls.items()},
            "controls_above_level": suppress_rate(forgetting.controls_above_level),
            "health": [_suppress_check(check, group_sizes.get(check.group, 0)) for check in forgetting.health],
        }
    )


def _suppress_check(check: HealthCheck, patients: int) -> HealthCheck:
    if patients <= LARGEST_HIDDEN:
        return check.model_copy(update={"a": None, "b": None, "limit": None, "reason": check.reason or REASON})
    # Two decimals: all patients minus the retained are the named.
    rounded = {name: _hundredths(getattr(check, name)) for name in ("a", "b", "limit")}
    return check.model_copy(update=rounded)


def _hundredths(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
