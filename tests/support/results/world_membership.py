"""Membership in a world: the patients trained on by percentile class of those never seen; their laws and their tally.

Scored are all targets, and with `--score-all` all patients trained on: that is known, and so is the word that the notes
alone tell both arms apart.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray
from support.results.counted_leaves import CountedLeaves
from support.results.random_worlds import Law, Sum, World, equal, few_or_many

from clinaudit.audit.measures.membership.stage import PatientOrder
from clinaudit.audit.statistics.auroc import one_sided_p_value
from clinaudit.reports.schema.attacks import PARTS_ABOVE, PERCENTILE_CLASSES, MembershipEvidence
from clinaudit.reports.tally.attacks import MembershipTally
from clinaudit.reports.tally.classes import ARM_STEP
from clinaudit.reports.tally.leaves import Inside

#: By class of those trained on.
CELLS: Final = {name: {f"membership/{name}": 1} for name in PERCENTILE_CLASSES}
_SCORES_ALL, _DIFFERS = "membership/scores all", "membership/differs"


def bounds_of(never_seen: int) -> list[tuple[int, int]]:
    """Return between which two never-seen patients each class lies, these being at 0, 1, 2, ..."""
    begins = [-1, *(never_seen - 1 - never_seen // part for part in PARTS_ABOVE)]
    return list(zip(begins, [*begins[1:], never_seen], strict=True))


def order_of(train: NDArray[np.float64], never_seen: NDArray[np.float64]) -> PatientOrder:
    """Return the order of both arms' scores, of which none tie."""
    places = np.argsort(np.argsort(np.concatenate([train, never_seen])))
    return PatientOrder(places[: len(train)], places[len(train) :])


def trained_on(world: World) -> dict[str, int]:
    """Return the patients trained on who have a scored note."""
    return world.all_patients("train") if world.fixed[_SCORES_ALL] else world.all_targets("train")


def draw_membership(world: World, rng: np.random.Generator) -> None:
    """Add the counts to a world that has all others; the other numbers that are drawn stay as they are."""
    (own,) = rng.spawn(1)
    world.fixed[_SCORES_ALL] = float(own.random() < 0.3)
    left, names = world.value(trained_on(world)), own.permutation([name for cell in CELLS.values() for name in cell])
    for name in names[:-1]:
        world.counts[name] = min(left, few_or_many(own, 0.2))
        left -= world.counts[name]
    world.counts[names[-1]] = left
    world.fixed[_DIFFERS] = float(own.random() < 0.1)


def membership_laws(world: World) -> Iterator[Law]:
    """Yield what holds: the cells hold all who were scored."""
    yield equal(trained_on(world), *CELLS.values())


def membership_counts(world: World) -> Iterator[tuple[str, Sum]]:
    """Yield what the cells come to: those found among the highest, and those not."""
    names = list(PERCENTILE_CLASSES)
    for begin in range(1, len(names)):
        for what, cells in (("found", names[begin:]), ("not found", names[:begin])):
            yield f"membership/{what} from {names[begin]}", {name: 1 for cell in cells for name in CELLS[cell]}


def tally_membership(leaves: CountedLeaves) -> MembershipTally:
    """Return the tally, with an order of the patients that has its cells."""
    world = leaves.world
    arms = (trained_on(world), world.all_targets("nontrain"))
    train, never_seen = map(world.value, arms)
    has_figures, differs = min(train, never_seen) > ARM_STEP, bool(world.fixed[_DIFFERS])
    # That there are figures tells that both arms have so many; that there are none, that one of them has not.
    if has_figures:
        leaves.told(*(Law(arm, ARM_STEP + 1) for arm in arms))
    elif never_seen > ARM_STEP:
        leaves.told(Law(arms[0], 0, ARM_STEP))
    is_shown = has_figures and not differs
    return MembershipTally(
        score="loss",
        is_interpretable=not differs if has_figures else None,
        differ_in=("dates",) if has_figures and differs else (),
        never_seen=leaves.count(arms[1]),
        trained=leaves.partition(CELLS) if is_shown else None,
        reason=None if is_shown else "any",
        evidence=Inside(_evidence(world, train, never_seen)),
    )


def _evidence(world: World, train: int, never_seen: int) -> MembershipEvidence:
    """Return what was measured where the patients of each class lie evenly among those never seen."""
    trained = [
        np.linspace(*bound, world.value(cell) + 2)[1:-1]
        for bound, cell in zip(bounds_of(never_seen), CELLS.values(), strict=True)
    ]
    # Nobody stands where another does.
    order = order_of(np.concatenate(trained) + 1e-6, np.arange(float(never_seen)))
    return MembershipEvidence(
        patients={"train": train, "nontrain": never_seen},
        notes={"train": train, "nontrain": never_seen},
        auroc={"loss": order.auroc},
        p_value=one_sided_p_value(order.auroc.value or 0.0, train, never_seen),
        blind=None,
    )
