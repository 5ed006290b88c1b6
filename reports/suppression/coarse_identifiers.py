"""Identifiers in the coarse table: patients of whom any of their own is given, or another's, and how many are.

Owns which counts of patients are published. Each stands alone: how many have none is not published. How many values a
query they have is told in larger steps, since lower ends add up. Values are not counted here: where each patient has
one, a count of values is a count of patients. Knows nothing of how an identifier is found.
"""

import math
from collections.abc import Mapping, Sequence

from clinaudit.reports.exact.estimate import Estimate, exact_estimate
from clinaudit.reports.exact.identifiers import IdentifierBin, IdentifierFigures, Identifiers
from clinaudit.reports.schema.identifiers import PublishedRecall
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.suppression.classes import ARM_STEP, MOST_SUB_CELLS, Interval
from clinaudit.reports.suppression.coarse_table import CoarseIdentifierFigures, CoarseIdentifiers, CoarseRate
from clinaudit.reports.suppression.rules import Rules


def coarsen_identifiers(identifiers: Identifiers, rules: Rules) -> CoarseIdentifiers:
    """Return the classes of a run's identifiers."""

    def of_arms(arms: Mapping[Arm, IdentifierFigures]) -> dict[Arm, CoarseIdentifierFigures]:
        return {arm: _coarsen_figures(figures, rules) for arm, figures in arms.items()}

    return CoarseIdentifiers(
        tiers={tier: of_arms(arms) for tier, arms in identifiers.tiers.items()},
        categories={name: of_arms(arms) for name, arms in identifiers.categories.items()},
        # Of planted text, which is nobody's.
        recall=tuple(
            PublishedRecall(
                identifier=row.identifier, planted=row.planted, found=row.found, recall=exact_estimate(row.recall)
            )
            for row in identifiers.recall
        ),
        not_tested=dict(identifiers.not_tested),
    )


def _coarsen_figures(figures: IdentifierFigures, rules: Rules) -> CoarseIdentifierFigures:
    def alone(count: int | None) -> CountRange | None:
        # That a split has nobody else would tell the size of the lowest class.
        return None if count is None or not (rules.exact or figures.patients > ARM_STEP) else rules.alone(count)

    def rate(bins: Sequence[IdentifierBin], per_1000: Estimate) -> CoarseRate:
        # The first bin holds those without any.
        shown = bins[1:] if rules.exact else merge_bins(bins[1:])
        return CoarseRate(
            edges=tuple(Interval(row.low, math.inf if row.high is None else row.high) for row in shown),
            bins=tuple(rules.count(row.patients, step=ARM_STEP) for row in shown),
            any=rules.alone(sum(row.patients for row in bins[1:])),
            exact=exact_estimate(per_1000) if rules.exact else None,
        )

    sampled, chance = alone(figures.sampled_patients), alone(figures.chance_patients)
    return CoarseIdentifierFigures(
        patients=rules.count(figures.patients, step=ARM_STEP),
        own=rules.alone(figures.own_patients),
        other=rules.alone(figures.other_patients),
        sampled=sampled,
        chance=chance,
        verified=rules.alone(figures.verified_patients),
        verified_rate=rate(figures.by_patient, figures.verified_per_1000),
        sampled_rate=None if sampled is None else rate(figures.sampled_by_patient, figures.sampled_per_1000),
        chance_rate=None if chance is None else rate(figures.chance_by_patient, figures.chance_per_1000),
        exact_corrected=exact_estimate(figures.corrected_per_1000) if rules.exact else None,
    )


def merge_bins(bins: Sequence[IdentifierBin]) -> list[IdentifierBin]:
    """Return at most as many bins with somebody as a count that stands alone may have: the uppermost are one."""
    used = [place for place, row in enumerate(bins) if row.patients]
    if len(used) <= MOST_SUB_CELLS:
        return list(bins)
    first, last = used[MOST_SUB_CELLS - 1], used[-1]
    inside = bins[first : last + 1]
    merged = IdentifierBin(low=inside[0].low, high=inside[-1].high, patients=sum(row.patients for row in inside))
    return [*bins[:first], merged, *bins[last + 1 :]]
