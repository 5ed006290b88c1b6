"""Small cells in the matched cohorts, and in the deltas on a second matcher's cohorts.

The four cells of a cohort are equal: one that is hidden hides all, and the balance computed on them. Two differences of
shown counts are counts of patients as well:

- split less candidates: how many were excluded. The reasons are a breakdown with that total. Where it cannot hide
  enough (one reason only, 10 patients or fewer in all, or in one arm), candidates are not counted: no bins of the
  overlap, and the prevalence to two decimals without its `n`;
- candidates less cell: how many of a status were not matched. Where they are few, there are no bins, and the
  prevalence in train is given as the range that 1 to 10 of them allow. Where they are few in nontrain, both statuses
  together, the prevalence has no `n`: all others that were not excluded are nontrain's candidates. The second matcher's
  sets are such a cell, too.

A second cohort shares most patients with the first, so that an exact figure of it would tell of the few that it does
not share: its deltas are given to two decimals, without `n`. Not guarded: a cohort that takes all but few patients of a
split, since the sizes of both are shown.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from clinaudit.reports.schema.cohorts import BalanceRow, CohortSummary
from clinaudit.reports.schema.disclosure import COMPARED_METRICS, DisclosurePair, SecondMatcher, SecondMatching
from clinaudit.reports.schema.estimate import ARMS, Arm, Estimate
from clinaudit.reports.schema.groups import OverlapBin
from clinaudit.reports.suppression.disclosure import suppress_pair
from clinaudit.reports.suppression.small_cells import (
    LARGEST_HIDDEN,
    band,
    blur,
    counted,
    is_small,
    suppress_breakdown,
    suppress_count,
    suppress_rate,
    withhold,
)

#: Of the overlap: with the diagnosis, and without.
_STATUSES = ("positive", "negative")


def has_small_cell(cohort: CohortSummary) -> bool:
    """Whether a cell of the cohort is hidden."""
    return any(is_small(count) for count in cohort.cells.values())


def suppress_cohort(
    cohort: CohortSummary,
    *,
    splits: Mapping[Arm, int | None],
    second_sets: int | None = None,
    hides_split: bool = False,
) -> CohortSummary:
    """Return the publishable copy of a cohort's summary.

    `splits` counts the patients of each split, `second_sets` the matched sets of the second matcher's cohort.
    `hides_split`: the size of a split is hidden; with the excluded, candidates would count it.
    """
    hides_cells = has_small_cell(cohort)
    excluded = suppress_breakdown(cohort.excluded)
    cells = {cohort.cells.get("train_positive"), second_sets}
    matched = sorted(cell for cell in cells if cell is not None and cell > LARGEST_HIDDEN)
    hides_candidates = (
        hides_split or _tells_excluded(cohort, excluded, splits) or _tells_unmatched(cohort, matched, splits)
    )
    return cohort.model_copy(
        update={
            "prevalence": _suppress_prevalence(cohort.prevalence, matched, is_blurred=hides_candidates),
            "cells": {cell: None if hides_cells else count for cell, count in cohort.cells.items()},
            "balance": [_without_smd(row) for row in cohort.balance] if hides_cells else cohort.balance,
            "excluded": excluded,
            "overlap": [] if hides_cells or hides_candidates else suppress_overlap(cohort.overlap, matched=matched),
        }
    )


def _tells_excluded(
    cohort: CohortSummary, published: Mapping[str, int | None], splits: Mapping[Arm, int | None]
) -> bool:
    """Whether the number of candidates would give back a hidden count of excluded patients."""
    total = sum(count or 0 for count in cohort.excluded.values())
    hidden = [cohort.excluded[reason] or 0 for reason, count in published.items() if count is None]
    train = splits.get("train")
    in_train = 0 if train is None else train - (cohort.prevalence.n or 0)
    lone = len(hidden) == 1 or (bool(hidden) and sum(hidden) <= LARGEST_HIDDEN)
    return lone or is_small(in_train) or is_small(total - in_train)


def _tells_unmatched(cohort: CohortSummary, matched: Iterable[int], splits: Mapping[Arm, int | None]) -> bool:
    """Whether all patients, less the excluded and the candidates in train, leave few more than nontrain's two cells."""
    of_nontrain = (
        sum(size or 0 for size in splits.values())
        - sum(count or 0 for count in cohort.excluded.values())
        - (cohort.prevalence.n or 0)
    )
    return any(is_small(of_nontrain - 2 * cell) for cell in matched)


def _suppress_prevalence(prevalence: Estimate, matched: Iterable[int], *, is_blurred: bool) -> Estimate:
    """Give the prevalence, or the range of it where all candidates of a status but 1 to 10 were matched."""
    positives, size = counted(prevalence), prevalence.n
    if positives is None or size is None:
        return suppress_rate(prevalence)
    for cell in matched:
        low, high = 0, size
        if is_small(positives - cell):
            low, high = cell + 1, cell + LARGEST_HIDDEN
        if is_small(size - positives - cell):
            low, high = max(low, size - cell - LARGEST_HIDDEN), min(high, size - cell - 1)
        if (low, high) != (0, size):
            # To two decimals: less both cells, an exact size would count those unmatched of either status.
            return blur(band(low / size, min(high, size) / size))
    published = suppress_rate(prevalence)
    return blur(published) if is_blurred else published


def suppress_second_matcher(second: SecondMatcher) -> SecondMatcher:
    """Return the publishable copy of the deltas under the second matcher."""
    return second.model_copy(
        update={
            "diagnoses": {diagnosis: _suppress_matching(matching) for diagnosis, matching in second.diagnoses.items()}
        }
    )


def _suppress_matching(matching: SecondMatching) -> SecondMatching:
    hides_cells = is_small(matching.sets)
    return matching.model_copy(
        update={
            "sets": suppress_count(matching.sets),
            "largest_smd": None if hides_cells or matching.largest_smd is None else round(matching.largest_smd, 2),
            "delta": {tier: _suppress_deltas(pair, matching.sets) for tier, pair in matching.pairs.items()},
            "pairs": {},
        }
    )


def _suppress_deltas(pair: DisclosurePair, sets: int | None) -> dict[str, Estimate]:
    delta = suppress_pair(pair, set_count=sets, prevalence=None).delta
    if delta is None:
        return {metric: Estimate(value=None, reason="there is no nontrain arm") for metric in COMPARED_METRICS}
    shown = {metric: getattr(delta, metric) for metric in COMPARED_METRICS}
    return {metric: withhold(figure) if is_small(sets) else blur(figure) for metric, figure in shown.items()}


def _without_smd(row: BalanceRow) -> BalanceRow:
    return row.model_copy(update={"smd": None, "smd_before": None})


def suppress_overlap(bins: Sequence[OverlapBin], *, matched: Collection[int] = ()) -> list[OverlapBin]:
    """Return the bins, joined with their neighbours until no group has 1 to 10 patients in one; none where that fails.

    Candidates who were not matched are such a group. Where 1 to 10 of an arm were not in all, no bins are given: their
    sum less a cell of the cohort would count them, and all patients less the other arm's candidates leave few more.
    `matched` are the sizes of cells that are shown elsewhere.
    """
    by_arm = [[item for item in bins if item.arm == arm] for arm in ARMS]
    unmatched = {
        _total(own, f"{status}_candidates") - cell
        for own in by_arm
        for status in _STATUSES
        for cell in (_total(own, f"{status}_matched"), *matched)
    }
    return [] if any(map(is_small, unmatched)) else [item for own in by_arm for item in _join_bins(own)]


def _total(bins: Sequence[OverlapBin], name: str) -> int:
    return sum(getattr(item, name) or 0 for item in bins)


def _join_bins(bins: Sequence[OverlapBin]) -> list[OverlapBin]:
    joined: list[OverlapBin] = []
    pending: OverlapBin | None = None
    for item in bins:
        pending = item if pending is None else _join(pending, item)
        if not _has_small_count(pending):
            joined.append(pending)
            pending = None
    while pending is not None and joined:
        # What is left at the end is too small to stand alone.
        pending = _join(joined.pop(), pending)
        if not _has_small_count(pending):
            joined.append(pending)
            pending = None
    return joined


def _join(first: OverlapBin, second: OverlapBin) -> OverlapBin:
    counts = {}
    for name in (f"{status}_{kind}" for status in _STATUSES for kind in ("candidates", "matched")):
        one, other = getattr(first, name), getattr(second, name)
        counts[name] = None if one is None or other is None else one + other
    return first.model_copy(update={"high": second.high, **counts})


def _has_small_count(item: OverlapBin) -> bool:
    for status in _STATUSES:
        candidates, matched = getattr(item, f"{status}_candidates"), getattr(item, f"{status}_matched")
        if is_small(candidates) or is_small(matched) or (matched is not None and is_small(candidates - matched)):
            return True
    return False
