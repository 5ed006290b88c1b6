"""Identifiers in the coarse table: patients by whether any of their own is given, or another's, and by how many.

Owns which partitions of patients are published. Values are not counted here: where each patient has one, a count of
values is a count of patients. Knows nothing of how an identifier is found.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from clinaudit.reports.exact.estimate import Estimate, exact_estimate
from clinaudit.reports.exact.identifiers import IdentifierBin, IdentifierFigures, Identifiers
from clinaudit.reports.schema.identifiers import PublishedRecall
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.suppression.classes import ARM_STEP, MOST_CELLS, Interval
from clinaudit.reports.suppression.coarse_table import Cells, CoarseIdentifierFigures, CoarseIdentifiers, CoarseRate
from clinaudit.reports.suppression.rules import Rules

#: How much is known of a figure that was not measured.
_NOTHING: Final[Cells] = {}


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
    patients = figures.patients

    def cells(any_: int) -> Cells:
        return rules.cells({"any": any_, "none": patients - any_}, step=ARM_STEP)

    def rate(bins: Sequence[IdentifierBin], per_1000: Estimate) -> CoarseRate:
        shown = bins if rules.exact else merge_bins(bins)
        return CoarseRate(
            edges=tuple(Interval(row.low, math.inf if row.high is None else row.high) for row in shown),
            bins=tuple(rules.count(row.patients, step=ARM_STEP) for row in shown),
            exact=exact_estimate(per_1000) if rules.exact else None,
        )

    # That a split has nobody else would tell the size of the lowest class.
    has_pools = rules.exact or patients > ARM_STEP
    sampled, chance = (count if has_pools else None for count in (figures.sampled_patients, figures.chance_patients))
    return CoarseIdentifierFigures(
        own=cells(figures.own_patients),
        other=cells(figures.other_patients),
        sampled=_NOTHING if sampled is None else cells(sampled),
        chance=_NOTHING if chance is None else cells(chance),
        verified=cells(figures.verified_patients),
        verified_rate=rate(figures.by_patient, figures.verified_per_1000),
        # Bins of chance are of few patients, and a rule's verdict turns on them: the shares above are enough.
        sampled_rate=rate(figures.sampled_by_patient, figures.sampled_per_1000)
        if rules.exact and sampled is not None
        else None,
        chance_rate=rate(figures.chance_by_patient, figures.chance_per_1000)
        if rules.exact and chance is not None
        else None,
        exact_corrected=exact_estimate(figures.corrected_per_1000) if rules.exact else None,
    )


def merge_bins(bins: Sequence[IdentifierBin]) -> list[IdentifierBin]:
    """Return at most as many bins with somebody as a partition may have: the uppermost become one."""
    used = [place for place, row in enumerate(bins) if row.patients]
    if len(used) <= MOST_CELLS:
        return list(bins)
    first = used[MOST_CELLS - 1]
    merged = IdentifierBin(low=bins[first].low, high=bins[-1].high, patients=sum(row.patients for row in bins[first:]))
    return [*bins[:first], merged]
