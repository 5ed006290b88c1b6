"""Small cells in the figures by subgroup.

The groups of a partition make up an arm whose size and means are published, so what is hidden of one group would follow
from the others. Therefore, within each partition:

- sizes: groups of 1 to 10 patients are hidden, and others beside them until at least two groups and 11 patients are;
- figures: a group is hidden where its size is, where fewer than 11 of its patients make the figure up, or where fewer
  than 11 keep it below one; others beside it until at least two groups and 11 patients who make it up are. The first
  kind is published as a bound that depends on the group's size alone, one hidden for another's sake is withheld;
- where a group has 1 to 10 patients fewer at a tier than at another or in its split, or the sizes of a tier are hidden
  (`tier_sizes`), no size of the partition is shown there in either arm and figures are given to two decimals, those of
  two groups as ranges: the difference would tell of these few.

Two partitions are not guarded against each other, nor one tier's figures against another's.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple, TypeVar

from clinaudit.reports.schema.estimate import ARMS, Arm, Estimate
from clinaudit.reports.schema.groups import PARTITIONS, GroupDisclosure, GroupMemorization, Subgroups
from clinaudit.reports.suppression.small_cells import (
    LARGEST_HIDDEN,
    blur,
    bound_of_few,
    bound_of_nearly_all,
    grid_cell,
    grid_width,
    is_small,
    suppress_breakdown,
    withhold,
)

#: Patients by group, by arm and partition.
Sizes = Mapping[tuple[Arm, str], Mapping[str, int | None]]
#: Groups whose size is hidden, by arm and partition.
Hidden = Mapping[tuple[Arm, str], Collection[str]]
_Row = TypeVar("_Row", GroupMemorization, GroupDisclosure)
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


def suppress_subgroups(
    subgroups: Subgroups,
    *,
    splits: Sizes,
    hidden: Hidden,
    hidden_sizes: Collection[tuple[str, Arm]] = (),
    hidden_judged: Collection[tuple[str, Arm]] = (),
    small_sums: Collection[tuple[str, Arm]] = (),
    shows_asked: bool = False,
) -> Subgroups:
    """Return the publishable copy of the block.

    `splits`: sizes of the groups of all patients of an arm. `hidden`: groups whose size is hidden anywhere.
    `hidden_sizes`: tiers and arms whose sizes are hidden; `hidden_judged`: where the judged may not be counted.
    `small_sums`: where attributable fractions are hidden, since they are so small together. `shows_asked`: how many are
    asked stands elsewhere, since there is one diagnosis.
    """
    memorization, disclosure = subgroups.memorization, subgroups.disclosure
    few_missing = _find_few_missing(memorization, splits)
    few_asked = _find_few_missing(disclosure, {})
    shown = _suppress_tiers(memorization, _MEMORIZATION, hidden, few_missing, hidden_sizes, splits, shows_arm=True)
    for tier, arm in small_sums:
        # With their sizes they would give the sum back.
        shown[tier][arm] = [_without_attributable(row) for row in shown.get(tier, {}).get(arm, [])]
    return Subgroups(
        memorization=shown,
        disclosure=_suppress_tiers(
            disclosure,
            _EXPOSURE,
            _find_hidden(disclosure, {}),
            few_asked,
            hidden_judged,
            {},
            shows_arm=shows_asked,
        ),
    )


def _without_attributable(row: GroupMemorization) -> GroupMemorization:
    figure = row.attributable_fraction
    return row if figure.value is None else row.model_copy(update={"attributable_fraction": withhold(figure)})


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


def _is_split(rows: Sequence[GroupMemorization] | Sequence[GroupDisclosure], split: Mapping[str, int | None]) -> bool:
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
        place: {group for sizes in breakdowns for group, size in suppress_breakdown(sizes).items() if size is None}
        for place, breakdowns in _breakdowns(tiers, splits).items()
    }


def _suppress_tiers(
    tiers: Mapping[str, Mapping[Arm, list[_Row]]],
    figures: Mapping[str, str],
    hidden: Hidden,
    few_missing: Collection[tuple[Arm, str]],
    hidden_sizes: Collection[tuple[str, Arm]],
    splits: Sizes,
    *,
    shows_arm: bool,
) -> dict[str, dict[Arm, list[_Row]]]:
    def suppress_one(tier: str, arm: Arm, partition: str, rows: Sequence[_Row]) -> list[_Row]:
        place = (arm, partition)
        return _suppress_partition(
            rows,
            figures,
            hidden.get(place, ()),
            hides_sizes=place in few_missing and not _is_split(rows, splits.get(place, {})),
            hides_total=(tier, arm) in hidden_sizes,
            shows_arm=shows_arm,
        )

    return {
        tier: {
            arm: [
                row
                for partition in PARTITIONS
                for row in suppress_one(tier, arm, partition, [row for row in rows if row.partition == partition])
            ]
            for arm, rows in arms.items()
        }
        for tier, arms in tiers.items()
    }


def _suppress_partition(
    rows: Sequence[_Row],
    figures: Mapping[str, str],
    hidden: Collection[str],
    *,
    hides_sizes: bool,
    hides_total: bool,
    shows_arm: bool,
) -> list[_Row]:
    """Publish the groups of one partition of one tier and arm, whose size in all may be hidden.

    `shows_arm`: the arm's size is shown elsewhere, where it is not hidden.
    """
    sizes = {row.group: row.patients for row in rows}
    if len(rows) == 1 and shows_arm and not hides_total:
        hides_sizes, hidden = False, ()
    hides_sizes = hides_sizes or hides_total
    published = suppress_breakdown(sizes, hidden_elsewhere=hidden)
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
        shown = _suppress_figures(groups, shows_sizes=not hides_sizes)
        if hides_sizes:
            shown = _without_solution(shown, groups, is_arm=name in _MEMORIZATION and len(rows) == 1)
        for update, estimate in zip(updates, shown, strict=True):
            update[name] = estimate
    return [row.model_copy(update=update) for row, update in zip(rows, updates, strict=True)]


def _without_solution(figures: Sequence[Estimate], groups: Sequence[_Group], *, is_arm: bool) -> list[Estimate]:
    """Give the figures of groups whose sizes are hidden so that the arm's figure is no equation to solve for them.

    One group is given as the arm is, or not at all: the arm's figure over those asked may be a range. Two make up its
    size and figure: to two decimals, both sizes follow where their figures differ. The grid is so wide that four
    patients may change sides.
    """
    width = grid_width(sum(group.patients for group in groups), per_patient=4 / LARGEST_HIDDEN)
    published = []
    for figure, group in zip(figures, groups, strict=True):
        if len(groups) > 2 or is_arm or figure.value in (None, 0, 1):
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


def _suppress_figures(groups: Sequence[_Group], *, shows_sizes: bool) -> list[Estimate]:
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
