"""Small cells in the disclosure figures: the status × outcome table behind a (diagnosis, tier, arm).

Two rows (d-positive, d-negative) and the judge's outcomes (positive, ambiguous, negative, no mention, unjudged).
What may be published of it:

- counts, sensitivity, false-positive rate and mention rate each by its own count and complement;
- PPVs are recomputed from the two published rates, so they tell nothing that those do not;
- AUROCs and the mention rate depend on every cell: where one is hidden, they are bands (`auroc_bands`);
- ROC points are the cells themselves: all or none;
- deltas of rates follow from the published ranges; those of AUROCs get a grid cell of their own, so that a band that
  excludes zero can still be seen; p-values are rounded up to 0.05 or 1.

Where matched sets were dropped or verdicts are missing in small number, shown totals would give these away: every `n`
is hidden, `generations` where sets were dropped, and rates are ranges over all numbers that may be missing
(`unjudged`).
"""

import math

from clinaudit.reports.schema.disclosure import Disclosure, DisclosureDelta, DisclosurePair, TestedDelta
from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.suppression.auroc_bands import auroc_bands, auroc_delta, least_class_size, mention_band
from clinaudit.reports.suppression.outcome_table import OutcomeTable, read_table
from clinaudit.reports.suppression.small_cells import (
    GRID_STEP,
    LARGEST_HIDDEN,
    band,
    blur,
    bound_of_none,
    hidden_range,
    is_small,
    is_withheld,
    published_range,
    suppress_breakdown,
    suppress_count,
    suppress_rate,
    withhold,
    without_numbers,
)
from clinaudit.reports.suppression.tier_sizes import has_few_dropped, has_few_unjudged
from clinaudit.reports.suppression.unjudged import (
    JudgedRange,
    count_range,
    judged_of_both,
    judged_of_class,
    rate_over_judged,
)

DELTA_METRICS = tuple(DisclosureDelta.model_fields)
_AUROCS = ("auroc", "auroc_all")
#: Half a 95% interval over `detectable_delta`: t(.975) / (t(.95) + t(.80)), largest at the 10 degrees of freedom that
#: the smallest classes shown (11 patients) leave at least; 0.79 with many.
_INTERVAL_TO_DETECTABLE = 0.83
#: Adjusted p-values of suppressed deltas of `auroc_all` are rounded up to one of these: which side of the policies' 5%
#: they lie on is the rule's own verdict.
_P_STEPS = (0.05, 1.0)
#: Of so many patients of a status asked, 11 or more judged, a reader who knows that few are missing knows how many.
_FEWEST_ASKED = LARGEST_HIDDEN + 3


def suppress_pair(pair: DisclosurePair, *, set_count: int | None, prevalence: Estimate | None) -> DisclosurePair:
    """Return the publishable copy of one (diagnosis, tier).

    `set_count` is the cohort's number of matched sets (its cell size), `prevalence` as published.
    """
    if set_count is None:
        set_count = (pair.train.generations or 0) // 2 + sum(count or 0 for count in pair.dropped_sets.values())
    few_dropped = has_few_dropped(pair)

    def suppress_one(arm: Disclosure) -> Disclosure:
        return suppress_arm(arm, set_count=set_count, prevalence=prevalence, few_dropped=few_dropped)

    train = suppress_one(pair.train)
    nontrain = None if pair.nontrain is None else suppress_one(pair.nontrain)
    delta = None
    if pair.delta is not None and pair.nontrain is not None and nontrain is not None:
        delta = DisclosureDelta.model_validate(
            {
                metric: _suppress_delta(metric, getattr(pair.delta, metric), pair, (train, nontrain), set_count)
                for metric in DELTA_METRICS
            }
        )
    detectable = _suppress_detectable(pair, delta)
    if delta is not None:
        delta = delta.model_copy(update={"auroc_all": _with_confidence(delta.auroc_all, detectable)})
    return DisclosurePair(
        train=train,
        nontrain=nontrain,
        delta=delta,
        dropped_sets=suppress_breakdown(pair.dropped_sets),
        detectable_delta=detectable,
    )


def _with_confidence(delta: TestedDelta, detectable: float | None) -> TestedDelta:
    """Give a band the reach of chance, from published numbers alone, so that it tells nothing that they do not."""
    if delta.value is not None or delta.low is None or delta.high is None or detectable is None:
        return delta
    reach = _INTERVAL_TO_DETECTABLE * detectable
    low, high = max(-1.0, delta.low - reach), min(1.0, delta.high + reach)
    return delta.model_copy(update={"confidence_low": low, "confidence_high": high})


def _suppress_detectable(pair: DisclosurePair, published: DisclosureDelta | None) -> float | None:
    """Give the detectable delta; to the next multiple of 0.05 above where it would tell of hidden counts."""
    if pair.detectable_delta is None or pair.delta is None or published is None:
        return None
    if published.auroc_all == pair.delta.auroc_all:
        return pair.detectable_delta
    if published.auroc_all.value is None and published.auroc_all.low is None:
        return None
    return math.ceil(pair.detectable_delta / GRID_STEP - 1e-9) * GRID_STEP


def suppress_arm(
    arm: Disclosure, *, set_count: int, prevalence: Estimate | None, few_dropped: bool = False
) -> Disclosure:
    """Return the publishable copy of one (diagnosis, tier, arm) of a cohort of `set_count` matched sets.

    `few_dropped`: for some reason few of them were dropped.
    """
    if arm.generations == 0:
        return arm
    table = read_table(arm)
    if table is None or any(map(is_small, (table.positives, table.negatives, table.generations))):
        told = (set_count, set_count - (arm.generations or 0) // 2)
        return _withhold_arm(arm, hides_size=few_dropped or any(map(is_small, told)))
    # A matched set has one d-positive and one d-negative in each arm.
    few_dropped = few_dropped or is_small(set_count - table.generations // 2)
    hides_n = few_dropped or has_few_unjudged(arm, table)
    of_class = judged_of_class(table, sets=set_count, few_dropped=few_dropped)
    if hides_n and of_class.asked <= _FEWEST_ASKED:
        return _withhold_arm(arm, hides_size=few_dropped)
    class_size = least_class_size(arm, table, set_count=set_count, few_dropped=few_dropped)
    judged = table.generations - table.unjudged
    mention_range = hidden_range(table.mentioned, judged)
    of_both = judged_of_both(table, sets=set_count, few_dropped=few_dropped)
    if hides_n:
        rates = _rates_over_judged(arm, table, of_class, of_both)
        zero_bounds = {
            "sensitivity": bound_of_none(of_class.least),
            "false_positive_rate": bound_of_none(of_class.least),
            "mention_rate": bound_of_none(of_both.least),
        }
    else:
        rates = _rates(arm, table)
        zero_bounds = arm.zero_bounds
    if table.mention_tells and (hides_n or mention_range is None):
        rates["mention_rate"] = mention_band(arm.mention_rate, table, of_both.least if hides_n else judged)
    has_small_cell = table.has_small_cell or hides_n
    figures = {
        **rates,
        **(
            auroc_bands(arm, table, class_size)
            if has_small_cell
            else {metric: getattr(arm, metric) for metric in _AUROCS}
        ),
        "ppv_at_prevalence": _suppress_ppv_at_prevalence(
            arm.ppv_at_prevalence, rates["sensitivity"], rates["false_positive_rate"], prevalence
        ),
    }
    if has_small_cell:
        figures = {metric: _without_cause(figure, table) for metric, figure in figures.items()}
    if hides_n:
        figures = {metric: blur(figure) for metric, figure in figures.items()}
    # Where the judged may not be counted, a rate of one would tell that they are those who mention it.
    hides_mentioned = table.mention_tells or mention_range is not None or (hides_n and table.mentioned == judged)
    return Disclosure(
        generations=None if few_dropped else arm.generations,
        mentioned=None if hides_mentioned else suppress_count(arm.mentioned, total=arm.generations),
        # Where all are unjudged, their number is the size.
        unjudged=None if few_dropped and judged == 0 else suppress_count(arm.unjudged, total=arm.generations),
        # The share of d-positives among the judged tells how many of either status are unjudged.
        base_rate=None if hides_n and table.unjudged else arm.base_rate,
        roc=None if has_small_cell else arm.roc,
        # Zero tells of nobody; the bound tells how many there were.
        zero_bounds={metric: bound for metric, bound in zero_bounds.items() if figures[metric].value == 0},
        # A known function of the counts, as the ROC points are.
        undefined_resamples={} if has_small_cell else arm.undefined_resamples,
        **figures,
    )


def _rates(arm: Disclosure, table: OutcomeTable) -> dict[str, Estimate]:
    sensitivity, false_positive_rate = suppress_rate(arm.sensitivity), suppress_rate(arm.false_positive_rate)
    return {
        "mention_rate": suppress_rate(arm.mention_rate),
        "sensitivity": sensitivity,
        "false_positive_rate": false_positive_rate,
        "ppv": _suppress_ppv(arm.ppv, table, sensitivity, false_positive_rate),
    }


def _rates_over_judged(
    arm: Disclosure, table: OutcomeTable, of_class: JudgedRange, of_both: JudgedRange
) -> dict[str, Estimate]:
    judged = table.generations - table.unjudged
    return {
        "mention_rate": rate_over_judged(arm.mention_rate, table.mentioned, judged, of_both),
        "sensitivity": rate_over_judged(arm.sensitivity, table.exposed, table.positives, of_class),
        "false_positive_rate": rate_over_judged(arm.false_positive_rate, table.false_alarms, table.negatives, of_class),
        "ppv": withhold(arm.ppv) if arm.ppv.value is None else _ppv_over_judged(arm.ppv, table, of_class),
    }


def _ppv_over_judged(ppv: Estimate, table: OutcomeTable, of_class: JudgedRange) -> Estimate:
    exposed = count_range(table.exposed, table.positives, of_class)
    false_alarms = count_range(table.false_alarms, table.negatives, of_class)
    range_ = _ratio(exposed, false_alarms)
    # Where it follows from what is shown, so may what chance makes of it.
    return blur(ppv) if range_.low == range_.high else range_


def _withhold_arm(arm: Disclosure, *, hides_size: bool) -> Disclosure:
    """Return an arm without any figure; its size stays where the cohort and the sets dropped tell it."""
    return Disclosure(
        generations=None if hides_size else suppress_count(arm.generations),
        mentioned=None,
        unjudged=None,
        base_rate=None,
        roc=None,
        **{metric: withhold(getattr(arm, metric)) for metric in DELTA_METRICS},
    )


def _without_cause(figure: Estimate, table: OutcomeTable) -> Estimate:
    """Withhold why there is no figure where it would tell of hidden counts: which of them are zero."""
    is_null = figure.value is None and figure.low is None
    return Estimate(value=None, reason=REASON) if is_null and table.mentioned else figure


def _suppress_ppv(ppv: Estimate, table: OutcomeTable, sensitivity: Estimate, false_positive_rate: Estimate) -> Estimate:
    if ppv.value is None:
        return withhold(ppv)
    if sensitivity.value is not None and false_positive_rate.value is not None:
        return withhold(ppv) if is_small(ppv.n) else ppv
    exposed, false_alarms = published_range(sensitivity), published_range(false_positive_rate)
    if exposed is None or false_alarms is None:
        return withhold(ppv)
    return _ratio(
        (exposed[0] * table.positives, exposed[1] * table.positives),
        (false_alarms[0] * table.negatives, false_alarms[1] * table.negatives),
    )


def _suppress_ppv_at_prevalence(
    ppv: Estimate, sensitivity: Estimate, false_positive_rate: Estimate, prevalence: Estimate | None
) -> Estimate:
    exposed, false_alarms, share = (
        published_range(sensitivity),
        published_range(false_positive_rate),
        published_range(prevalence),
    )
    if ppv.value is None or exposed is None or false_alarms is None or share is None:
        return withhold(ppv)
    if sensitivity.value is not None and false_positive_rate.value is not None and share[0] == share[1]:
        # With exact rates the figure can be solved for the prevalence, and an exact prevalence tells its n.
        return ppv if prevalence is not None and prevalence.n is not None else blur(ppv)
    return _ratio(
        (exposed[0] * share[0], exposed[1] * share[1]),
        (false_alarms[0] * (1 - share[1]), false_alarms[1] * (1 - share[0])),
    )


def _ratio(true: tuple[float, float], false: tuple[float, float]) -> Estimate:
    """Return the range of true / (true + false) over the two ranges."""
    if true[0] + false[1] == 0 or true[1] + false[0] == 0:
        return band(0.0, 1.0)
    return band(true[0] / (true[0] + false[1]), true[1] / (true[1] + false[0]))


def _suppress_delta(
    metric: str,
    delta: TestedDelta,
    pair: DisclosurePair,
    published: tuple[Disclosure, Disclosure],
    set_count: int,
) -> TestedDelta:
    arms = (getattr(published[0], metric), getattr(published[1], metric))
    if any(is_withheld(arm) for arm in arms):
        return TestedDelta(value=None, reason=REASON)
    if delta.value is None:
        return TestedDelta(value=None, reason=without_numbers(delta.reason))
    if arms == (getattr(pair.train, metric), getattr(pair.nontrain, metric)):
        return delta
    if all(arm.value is not None for arm in arms):
        figure = blur(Estimate(value=delta.value, low=delta.low, high=delta.high))
    elif metric in _AUROCS:
        figure = auroc_delta(delta, metric, pair, arms, set_count)
    else:
        figure = _difference(delta, arms)
    return TestedDelta(
        value=figure.value,
        low=figure.low,
        high=figure.high,
        reason=figure.reason,
        p_holm=_coarse_p(delta.p_holm) if metric == "auroc_all" else None,
    )


def _difference(delta: TestedDelta, arms: tuple[Estimate, Estimate]) -> Estimate:
    train, nontrain = published_range(arms[0]), published_range(arms[1])
    if train is None or nontrain is None:
        return withhold(delta)
    return band(train[0] - nontrain[1], train[1] - nontrain[0])


def _coarse_p(p_value: float | None) -> float | None:
    return None if p_value is None else next(step for step in _P_STEPS if p_value <= step)
