"""Every count of patients from 1 to 10 keeps at least three values, whatever is published, and the verdict known.

Of many more worlds see benchmarks/suppression_attacker.py.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from support.results.counted_leaves import CountedLeaves
from support.results.drawn_worlds import draw_world
from support.results.random_worlds import MISSING, OUTCOMES, REFERS, Law, World
from support.results.world_laws import laws
from support.results.world_membership import CELLS, tally_membership, trained_on
from support.results.world_tally import count_world
from support.simulations import first_of
from support.suppression_attack import attack
from support.suppression_attack.attack import Attacker, list_counts
from support.suppression_attack.integer_program import IntegerProgram

from clinaudit.reports.schema.attacks import PERCENTILE_CLASSES
from clinaudit.reports.schema.disclosure import SIDES
from clinaudit.reports.tally import leaves
from clinaudit.reports.tally.classes import class_of
from clinaudit.reports.tally.tally import publishable


@pytest.mark.simulation
def test_every_small_count_keeps_three_values_beside_the_verdict() -> None:
    world = draw_world(np.random.default_rng(8), diagnoses=2)
    assert tally_membership(CountedLeaves(world)).trained is not None
    attacker = Attacker(world)
    assert attacker.count > 200
    assert attacker.find_leaks() == []
    assert attacker.fewest >= attack.ENOUGH


#: Of worlds 11, 20, 4338 and 4408 drafts of the rules gave counts away: by the steps of a second judge's verdicts, by
#: totals of notes beside their means over patients, by the mean length of a region with zeros for those who have none,
#: and by a mean of 0% where nearly all have a token or more. In world 123 one cohort uses an arm up: that gave counts
#: away while its split had steps of ten. In world 20108 memorized, near-verbatim and other near text were an equation.
WORLDS = [(20108, 2), (123, None), (11, 1), (15, 1), (20, 1), (4338, 1), (6, 2), (7, 2), (4408, 2)]


@pytest.mark.parametrize("place", first_of(len(WORLDS), always=2))
def test_all_that_is_linear_leaves_every_small_count_three_values(place: int) -> None:
    seed, diagnoses = WORLDS[place]
    attacker = Attacker(draw_world(np.random.default_rng(seed), diagnoses=diagnoses), measures=False)
    assert attacker.count > 200
    assert attacker.find_leaks() == []


def test_the_cells_of_a_control_model_leave_every_small_count_three_values() -> None:
    world = draw_world(np.random.default_rng(3), diagnoses=1, sides=SIDES)
    attacker = Attacker(world, measures=False)
    assert any(name.startswith("table/hiv/encounter_cc_hpi/control/") for name, _ in list_counts(world))
    assert attacker.count > 200
    assert attacker.find_leaks() == []


def has_value(world: World, count: str, value: int, *, told: Sequence[Law] = ()) -> bool:
    """Whether all that is linear in what is published, and what is `told` beside, leaves a count this value."""
    tally, counted = count_world(world)
    program = IntegerProgram(world, [*laws(world), *counted.clues(tally, publishable(tally)), *told])
    return program.solve(np.zeros(len(program.names)), besides=[Law({count: 1}, value, value)]) is not None


def plant(diagnoses: int, numbers: Mapping[str, int]) -> World:
    """Return a world in which some counts have these numbers."""
    world = draw_world(np.random.default_rng(1), diagnoses=diagnoses)
    program = IntegerProgram(world, laws(world))
    asked = [Law({name: 1}, number, number) for name, number in numbers.items()]
    moved = program.solve(np.zeros(len(program.names)), besides=asked, cost=np.ones(len(program.names)))
    assert moved is not None
    return program.world_with(moved)


TIER = "encounter_cc_hpi"


def row_of(counts: Sequence[int]) -> dict[str, int]:
    return {f"table/hiv/{TIER}/train/1/{name}": count for name, count in zip(OUTCOMES, counts, strict=True)}


def use_an_arm_up(numbers: Mapping[str, int]) -> World:
    """Return a world in which one cohort uses an arm up, its row as small as its classes allow."""
    # All 30 targets are in the 15 sets of one cohort, and 8 sets of the other are of them. In steps of ten at most 30
    # targets would say at most 15 sets, which are the least that the row's five cells can come to.
    sets = {"total/cell/hiv": 15, "total/cell/ptsd": 8, "total/twice/train": 16, f"total/missing/{TIER}/train": 0}
    dropped = {f"pair/hiv/{TIER}/dropped/{MISSING}": 0, f"pair/hiv/{TIER}/dropped/{REFERS}": 1}
    short = {f"mem/{TIER}/train/{kind}": 10 for kind in ("empty", "short")}
    return plant(2, sets | dropped | short | row_of((11, 0, 1, 1, 1)) | numbers)


ROW_CELL = f"table/hiv/{TIER}/train/1/negative"


def test_a_cohort_that_uses_an_arm_up_keeps_its_rows_beside_that_of_another() -> None:
    world = use_an_arm_up({})
    assert [has_value(world, ROW_CELL, value) for value in (1, 2, 3)] == [True] * 3


def test_classes_of_membership_in_steps_of_ten_would_give_a_row_away() -> None:
    # All targets are scored. Three classes up to ten would say at most 30 of them, and so at most 15 sets.
    world = use_an_arm_up({f"membership/{name}": 10 * (name != "above_99") for name in PERCENTILE_CLASSES})
    assert world.value(trained_on(world)) == world.value(world.all_targets("train")) == 30
    assert [has_value(world, ROW_CELL, value) for value in (1, 2, 3)] == [True] * 3
    in_tens = [Law(cell, 0, 10 * (world.value(cell) > 0)) for cell in CELLS.values()]
    assert [has_value(world, ROW_CELL, value, told=in_tens) for value in (1, 2, 3)] == [True, False, False]


#: An arm of 20, of 10 matched sets, all of whom were asked at one tier.
FULL = {"total/cell/hiv": 10, f"total/missing/{TIER}/train": 0}
FULL |= {f"pair/hiv/{TIER}/dropped/{reason}": 0 for reason in (MISSING, REFERS)}


def bins_of(place: str, counts: Sequence[int]) -> dict[str, int]:
    return {f"{place}/bin/{k}": count for k, count in enumerate(counts)}


#: Drafts with all classes of lone counts in fives gave each of these away: of bins the lower ends add up, an empty text
#: holds no identifier and a short one no match, of whom an answer was refused is in no other partition, and that bins
#: were pooled tells that there are more.
@pytest.mark.parametrize(
    ("numbers", "count", "value"),
    [
        (FULL | bins_of(f"identifiers/{TIER}/train/verified", (6, 6, 6, 0, 0, 0, 0)), "total/cell/hiv", 8),
        (
            FULL
            | {f"identifiers/{TIER}/train/own": 16}
            | {f"mem/{TIER}/train/{kind}": 1 for kind in ("empty", "short")},
            "total/cell/hiv",
            8,
        ),
        (
            FULL
            | {f"mem/{TIER}/train/short": 16}
            | bins_of(f"mem/{TIER}/train/near", (1, 1, 1, 1))
            | bins_of(f"mem/{TIER}/train/attributable", (0, 0, 0, 0)),
            f"mem/{TIER}/train/near/bin/0",
            3,
        ),
        (
            {"total/cell/hiv": 10, f"total/missing/{TIER}/train": 16, f"mem/{TIER}/train/refused": 16}
            | bins_of(f"mem/{TIER}/train/near", (1, 1, 1, 0)),
            f"mem/{TIER}/train/near/bin/0",
            3,
        ),
        (
            FULL | bins_of(f"identifiers/{TIER}/train/verified", (1, 1, 1, 1, 0, 0, 0)),
            f"identifiers/{TIER}/train/verified/bin/0",
            3,
        ),
    ],
    ids=["bins", "empty", "short", "refused", "pooled"],
)
def test_counts_that_stand_alone_leave_others_three_values(numbers: Mapping[str, int], count: str, value: int) -> None:
    assert has_value(plant(1, numbers), count, value)


def test_steps_of_five_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaves, "class_of", lambda count, *, step=10: class_of(count, step=step // 2))
    attacker = Attacker(draw_world(np.random.default_rng(3), diagnoses=2), measures=False)
    assert attacker.has_proven_leak()
