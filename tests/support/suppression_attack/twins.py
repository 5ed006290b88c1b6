"""Twins: two worlds with one coarse table and other counts, of which everything published must be the same.

Owns the search for a twin. Knows nothing of how anything is published.
"""

from dataclasses import dataclass, replace

import numpy as np
from support.results.random_worlds import TOKENS, World
from support.results.world_laws import laws
from support.results.world_tally import count_world, decide, tally_of
from support.suppression_attack.integer_program import IntegerProgram, OutOfTimeError
from support.suppression_attack.sex_balance import keep_shares

from clinaudit.reports.tally.tally import Tally, publishable

#: Directions tried where a program's worlds are no twins: a figure that is no inequality came out otherwise.
_TRIES = 6


@dataclass(frozen=True)
class Twins:
    """A world, another that publishes the same, and in how many counts they differ."""

    first: Tally
    second: Tally
    changed: int
    #: Worlds within all inequalities whose coarse tables were others.
    refused: int


def find_twins(world: World, *, seed: int) -> Twins | None:
    """Return the tally of a world and of a twin, or None where none was found.

    The verdict's words are given: the twin has the first's.
    """
    rng = np.random.default_rng(seed)
    tally, leaves = count_world(world)
    first = decide(tally)
    coarse = publishable(first)
    program = IntegerProgram(world, [*laws(world), *leaves.clues(first, coarse), *keep_shares(world)])
    # Sums and tokens move in hundreds: of small weight, so that counts of patients decide.
    weights = np.where(
        [name.endswith(("sum", "units")) or name.startswith(("notes/", "tokens/")) for name in program.names],
        1 / TOKENS,
        1,
    )
    for refused in range(_TRIES):
        try:
            moved = program.solve(rng.normal(size=len(program.names)) * weights)
        except OutOfTimeError:
            continue
        if moved is None:
            raise AssertionError("the world itself does not keep what is known of it")
        second = replace(tally_of(program.world_with(moved)), decision=first.decision)
        if publishable(second) == coarse:
            return Twins(first, second, int(np.count_nonzero(moved)), refused)
    return None
