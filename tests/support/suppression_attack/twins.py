"""Twins: two worlds with one coarse table and other counts, of which everything published must be the same.

Owns the search for a twin. Knows nothing of how anything is published.
"""

from dataclasses import dataclass

import numpy as np
from support.results.random_worlds import TOKENS, World
from support.results.world_laws import laws
from support.results.world_results import decide, measure
from support.suppression_attack.integer_program import IntegerProgram, OutOfTimeError
from support.suppression_attack.published_classes import Reader
from support.suppression_attack.sex_balance import keep_shares

from clinaudit.reports.exact.results import Results
from clinaudit.reports.suppression.coarse import coarsen

#: Directions tried where a program's worlds are no twins: a figure that is no inequality came out otherwise.
_TRIES = 6


@dataclass(frozen=True)
class Twins:
    """A world, another that publishes the same, and in how many counts they differ."""

    first: Results
    second: Results
    changed: int
    #: Worlds within all inequalities whose coarse tables were others.
    refused: int


def find_twins(world: World, *, seed: int) -> Twins | None:
    """Return the exact results of a world and of a twin, or None where none was found.

    The verdict's words are given: the twin has the first's.
    """
    rng = np.random.default_rng(seed)
    first = decide(measure(world))
    coarse = coarsen(first)
    program = IntegerProgram(world, [*laws(world), *Reader(world, coarse).clues(), *keep_shares(world)])
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
        second = measure(program.world_with(moved)).model_copy(update={"decision": first.decision})
        if coarsen(second) == coarse:
            return Twins(first, second, int(np.count_nonzero(moved)), refused)
    return None
