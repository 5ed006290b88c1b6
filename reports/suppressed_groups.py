"""Small cells in the figures by subgroup and in the distribution over patients.

The groups of a partition make up an arm whose size and means are published, so what is hidden of one group would follow
from the others. Therefore, within each partition:

- sizes: groups of 1 to 10 patients are hidden, and others beside them until at least two groups and 11 patients are;
- figures: a group is hidden where its size is, where fewer than 11 of its patients make the figure up, or where fewer
  than 11 keep it below one; others beside it until at least two groups and 11 patients who make it up are. The first
  kind is published as a bound that depends on the group's size alone, one hidden for another's sake is withheld;
- where a group has 1 to 10 patients fewer at a tier than at another or in its split, or the sizes of a tier are hidden
  (`tier_sizes`), no size of the partition is shown there in either arm and figures are given to two decimals, those of
  two groups as ranges: the difference would tell of these few.

Of the distribution the bins are such a breakdown, and a share above a threshold is given where no bin on either side is
hidden, else as the range that the hidden ones allow. Deciles and the worst tenth rest on at least 11 patients.
Two partitions are not guarded against each other, nor one tier's figures against another's.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple, TypeVar

from clinaudit.reports.estimate import Estimate
from clinaudit.reports.patient_groups import (
    ARMS,
    PARTITIONS,
    Arm,
    FractionBin,
    GroupExposure,
    GroupMemorization,
    PatientDistribution,
    ShareAbove,
    Subgroups,
)
from clinaudit.reports.small_cells import (
    LARGEST_HIDDEN,
    band,
    blur,
    bound_of_few,
    bound_of_nearly_all,
    grid_cell,
    grid_width,
    is_small,
    publish_breakdown,
    publish_count,
    withhold,
)

#: Patients by group, by arm and partition.
Sizes = Mapping[tuple[Arm, str], Mapping[str, int | None]]
#: Groups whose size is hidden, by arm and partition.
Hidden = Mapping[tuple[Arm, str], Collection[str]]

_Row = TypeVar("_Row", GroupMemorization, GroupExposure)

#: Each figure with the field that counts the patients who make it up.
_MEMORIZATION = {"memorized_fraction": "memorized_patients", "attributable_fraction": "attributable_patients"}
_EXPOSURE = {"sensitivity": "exposed_patients"}


class _Group(NamedTuple):
    """One figure of one group, as it stands."""

    estimate: Estimate
    patients: int
    #: How many of them make the figure up.
    contributing: int
    #: Whether the size is published.
    is_sized: bool

    @property
    def is_few(self) -> bool:
        """Whether 1 to 10 patients make the figure up."""
        return is_small(self.contributing)

    @property
    def is_nearly_all(self) -> bool:
        """Whether all patients but 1 to 10 do, and so much that the figure tells of these."""
        missing = self.patients * (1 - (self.estimate.value or 0.0))
        return is_small(self.patients - self.contributing) and missing <= LARGEST_HIDDEN + 1e-9


def publish_subgroups(
    subgroups: Subgroups,
    *,
    splits: Sizes,
    hidden: Hidden,
    hidden_sizes: Collection[tuple[str, Arm]] = (),
    hidden_judged: Collection[tuple[str, Arm]] = (),
) -> Subgroups:
    """Return the publishable copy of the block.

    `splits`: sizes of the groups of all patients of an arm. `hidden`: groups whose size is hidden anywhere.
    `hidden_sizes`: tiers and arms whose sizes are hidden; `hidden_judged`: where the judged may not be counted.
    """
    memorization, disclosure = subgroups.memorization, subgroups.disclosure
    few_missing = _find_few_missing(memorization, splits)
    few_asked = _find_few_missing(disclosure, {})
    return Subgroups(
        memorization=_publish_tiers(memorization, _MEMORIZATION, hidden, few_missing, hidden_sizes, splits),
        disclosure=_publish_tiers(disclosure, _EXPOSURE, _find_hidden(disclosure, {}), few_asked, hidden_judged, {}),
    )


def find_partitions_with_few_missing(subgroups: Subgroups | None, splits: Sizes) -> frozenset[tuple[Arm, str]]:
    """Return the arms and partitions of which some group has 1 to 10 patients fewer at some tier than elsewhere.

    Left out are those of which a tier has the whole split: who is in a cohort then tells nothing of other tiers.
    """
    if subgroups is None:
        return frozenset()
    whole = {
        (arm, partition)
        for arms in subgroups.memorization.values()
        for arm, rows in arms.items()
        for partition in PARTITIONS
        if _is_split([row for row in rows if row.partition == partition], splits.get((arm, partition), {}))
    }
    return _find_few_missing(subgroups.memorization, splits) - whole


def find_target_groups(subgroups: Subgroups | None) -> dict[tuple[Arm, str], frozenset[str]]:
    """Return by arm and partition the groups that a target is in."""
    tiers = {} if subgroups is None else subgroups.memorization
    return {
        (arm, partition): frozenset(
            row.group for arms in tiers.values() for row in arms.get(arm, ()) if row.partition == partition
        )
        for arm in ARMS
        for partition in PARTITIONS
    }


def _is_split(rows: Sequence[GroupMemorization] | Sequence[GroupExposure], split: Mapping[str, int | None]) -> bool:
    """Whether nobody of the split is missing: its groups are shown there."""
    return bool(rows) and {row.group: row.patients for row in rows} == {g: size for g, size in split.items() if size}


def _breakdowns(
    tiers: Mapping[str, Mapping[Arm, Sequence[_Row]]], splits: Sizes
) -> dict[tuple[Arm, str], list[dict[str, int | None]]]:
    """Return by arm and partition the sizes of its groups: in the split, and at each tier."""
    found: dict[tuple[Arm, str], list[dict[str, int | None]]] = {
        place: [dict(sizes)] for place, sizes in splits.items()
    }
    for arms in tiers.values():
        for arm, rows in arms.items():
            for partition in PARTITIONS:
                sizes = {row.group: row.patients for row in rows if row.partition == partition}
                found.setdefault((arm, partition), []).append(sizes)
    return found


def _find_few_missing(tiers: Mapping[str, Mapping[Arm, Sequence[_Row]]], splits: Sizes) -> frozenset[tuple[Arm, str]]:
    return frozenset(
        place
        for place, breakdowns in _breakdowns(tiers, splits).items()
        if any(
            is_small((sizes.get(group) or 0) - (others.get(group) or 0))
            for sizes, others in permutations(breakdowns, 2)
            for group in sizes
        )
    )


def find_hidden_groups(subgroups: Subgroups | None, splits: Sizes) -> Hidden:
    """Return the groups whose size is hidden in a split or at any tier: they must be hidden at all of them.

    The targets of a tier are nearly those of another, and may be the whole split: what is hidden at one of them would
    follow from the others.
    """
    return _find_hidden({} if subgroups is None else subgroups.memorization, splits)


def _find_hidden(tiers: Mapping[str, Mapping[Arm, Sequence[_Row]]], splits: Sizes) -> Hidden:
    return {
        place: {group for sizes in breakdowns for group, size in publish_breakdown(sizes).items() if size is None}
        for place, breakdowns in _breakdowns(tiers, splits).items()
    }


def tells_bin(distribution: PatientDistribution, total: float) -> bool:
    """Whether so small a `total` of the patients' fractions leaves a bin of few patients fewer than three counts.

    What each of them has is not known here: a quarter above the lower end of the bin is taken, or the upper end of the
    lowest.
    """
    room = total - sum((1.25 * item.low or item.high) * (item.patients or 0) for item in distribution.bins)
    return any(
        is_small(item.patients) and item.low * (3 - (item.patients or 0)) > max(0.0, room) for item in distribution.bins
    )


def publish_distribution(
    distribution: PatientDistribution, *, patients: int, total: float, hides_patients: bool
) -> PatientDistribution:
    """Return the publishable copy of the distribution over more than ten `patients`.

    `total` is the sum of their fractions. `hides_patients`: their number is hidden, and so is all that it could be
    solved from.
    """
    touched = patients - (distribution.bins[0].patients or 0)
    if is_small(touched) or tells_bin(distribution, total):
        # Not even which bins they are in.
        bins = [item.model_copy(update={"patients": None}) for item in distribution.bins]
        above = [
            item.model_copy(update={"share": bound_of_few(patients) if is_small(touched) else withhold(item.share)})
            for item in distribution.above
        ]
    else:
        bins = _publish_bins(distribution.bins, patients)
        above = [_publish_share(item, distribution.bins, bins, patients) for item in distribution.above]
    deciles = [
        # Round off: the figure of a decile is one patient's, or two patients'.
        item.model_copy(update={"fraction": None if item.fraction is None else round(item.fraction, 2)})
        if min(item.share, 1 - item.share) * patients > LARGEST_HIDDEN
        else item.model_copy(update={"fraction": None})
        for item in distribution.deciles
    ]
    worst = distribution.worst_tenth
    if worst.n is None or worst.n <= LARGEST_HIDDEN or is_small(touched):
        worst = withhold(worst)
    if hides_patients:
        bins = [item.model_copy(update={"patients": None}) for item in bins]
        above = [item.model_copy(update={"share": blur(item.share, patients=patients)}) for item in above]
        worst = blur(worst, patients=patients)
    return PatientDistribution(bins=bins, above=above, deciles=deciles, worst_tenth=worst)


def _publish_bins(bins: Sequence[FractionBin], patients: int) -> list[FractionBin]:
    """Hide small bins and others beside them, the highest first; who have any are a shown total where they can be."""
    counts = {str(len(bins) - place): item.patients for place, item in enumerate(bins)}
    first = str(len(bins))
    none = counts[first] or 0
    if none in (0, patients) or publish_count(patients - none, total=patients) is None:
        published = publish_breakdown(counts)
    else:
        touched = {place: count for place, count in counts.items() if place != first}
        published = {first: none, **publish_breakdown(touched)}
    return [item.model_copy(update={"patients": published[str(len(bins) - place)]}) for place, item in enumerate(bins)]


def _publish_share(
    above: ShareAbove, bins: Sequence[FractionBin], published: Sequence[FractionBin], patients: int
) -> ShareAbove:
    """Give the share, or the range of it that the hidden bins allow: each of them holds a patient or more."""
    hidden = [place for place, item in enumerate(published) if item.patients is None]
    inside = [place for place in hidden if bins[place].low >= above.threshold and place > 0]
    if not inside or len(inside) == len(hidden):
        return above
    together = sum(bins[place].patients or 0 for place in hidden)
    shown = sum(item.patients or 0 for item in published[1:] if item.low >= above.threshold)
    low = (shown + len(inside)) / patients
    high = (shown + together - (len(hidden) - len(inside))) / patients
    return above.model_copy(update={"share": band(low, high)})


def _publish_tiers(
    tiers: Mapping[str, Mapping[Arm, list[_Row]]],
    figures: Mapping[str, str],
    hidden: Hidden,
    few_missing: Collection[tuple[Arm, str]],
    hidden_sizes: Collection[tuple[str, Arm]],
    splits: Sizes,
) -> dict[str, dict[Arm, list[_Row]]]:
    def publish(tier: str, arm: Arm, partition: str, rows: Sequence[_Row]) -> list[_Row]:
        place = (arm, partition)
        return _publish_partition(
            rows,
            figures,
            hidden.get(place, ()),
            hides_sizes=place in few_missing and not _is_split(rows, splits.get(place, {})),
            hides_total=(tier, arm) in hidden_sizes,
        )

    return {
        tier: {
            arm: [
                row
                for partition in PARTITIONS
                for row in publish(tier, arm, partition, [row for row in rows if row.partition == partition])
            ]
            for arm, rows in arms.items()
        }
        for tier, arms in tiers.items()
    }


def _publish_partition(
    rows: Sequence[_Row],
    figures: Mapping[str, str],
    hidden: Collection[str],
    *,
    hides_sizes: bool,
    hides_total: bool,
) -> list[_Row]:
    """Publish the groups of one partition of one tier and arm, whose size in all may be hidden."""
    sizes = {row.group: row.patients for row in rows}
    if not hides_total and len(rows) == 1:
        # One group alone is the arm, whose size is shown.
        hides_sizes, hidden = False, ()
    hides_sizes = hides_sizes or hides_total
    published = publish_breakdown(sizes, hidden_elsewhere=hidden)
    updates: list[dict[str, object]] = [
        {"patients": None if hides_sizes else published[row.group], **dict.fromkeys(figures.values())} for row in rows
    ]
    for name, count_name in figures.items():
        groups = [
            _Group(
                getattr(row, name),
                row.patients or 0,
                # Where it is not known how many make a figure up, it is taken for few.
                _contributing(getattr(row, name), getattr(row, count_name)),
                published[row.group] is not None,
            )
            for row in rows
        ]
        shown = _publish_figures(groups, shows_sizes=not hides_sizes)
        if hides_sizes:
            shown = _without_solution(shown, groups)
        for update, estimate in zip(updates, shown, strict=True):
            update[name] = estimate
    return [row.model_copy(update=update) for row, update in zip(rows, updates, strict=True)]


def _without_solution(figures: Sequence[Estimate], groups: Sequence[_Group]) -> list[Estimate]:
    """Give the figures of groups whose sizes are hidden so that the arm's figure is no equation to solve for them.

    One group is the arm, whose figure may be a range. Two make up its size and figure: to two decimals, both sizes
    follow where their figures differ. The grid is so wide that four patients may change sides.
    """
    width = grid_width(sum(group.patients for group in groups), per_patient=4 / LARGEST_HIDDEN)
    published = []
    for figure, group in zip(figures, groups, strict=True):
        if len(groups) > 2 or figure.value is None or figure.value == 0:
            published.append(blur(figure, patients=group.patients))
        elif len(groups) == 1 or width is None:
            published.append(withhold(figure))
        else:
            published.append(grid_cell(figure.value, width=width, centre=0.0, floor=0.0, ceiling=1.0))
    return published


def _contributing(estimate: Estimate, known: int | None) -> int:
    if known is not None:
        return known
    return 0 if estimate.value == 0 else 1


def _publish_figures(groups: Sequence[_Group], *, shows_sizes: bool) -> list[Estimate]:
    own = {place for place, group in enumerate(groups) if not group.is_sized or group.is_few or group.is_nearly_all}
    hidden = set(own)
    if any(groups[place].contributing for place in own):
        rest = sorted((group.contributing, place) for place, group in enumerate(groups) if place not in own)
        for contributing, place in rest:
            together = [groups[at].contributing for at in hidden if groups[at].contributing]
            if len(together) >= 2 and sum(together) > LARGEST_HIDDEN:
                break
            if contributing:
                hidden.add(place)
    published = []
    for place, group in enumerate(groups):
        if place not in hidden:
            published.append(group.estimate)
        elif not (group.is_sized and shows_sizes) or place not in own:
            # A bound would tell a hidden size.
            published.append(withhold(group.estimate))
        elif group.is_few:
            published.append(bound_of_few(group.patients))
        else:
            published.append(bound_of_nearly_all(group.patients))
    return published
