"""Matched sets: one patient of each of the four cells, from the cells' covariates (docs/methods.md, section 4).

Owns the steps of the matching: which rows are in play, pairs across arms and within them, the refined choice, and the
last matching within it. Rows in, rows out: knows nothing of patients, diagnoses or why some rows are preferred.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from clinaudit.audit.measures.cohorts.balance import improve_balance
from clinaudit.audit.measures.cohorts.matchers import match_pairs
from clinaudit.audit.measures.cohorts.propensity import Covariates
from clinaudit.audit.runtime.choices import Matcher

#: For psmpy alone, groups are sampled at random (seeded) down to these multiples of the patients asked for: its time
#: grows with the square of the smaller group, and 27,000 controls took 103 s. The optimal matcher takes everyone.
_POSITIVES_PER_ASKED: Final = 2
_CONTROLS_PER_ASKED: Final = 20
_CELLS: Final = 4
_NOBODY: Final = (0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """How many sets are asked for at most, and how they are matched."""

    sets: int
    matcher: Matcher
    #: In SD of the propensity's logit; None: no caliper. With one, the choice is never refined.
    caliper: float | None = None
    #: Whether exchanges and drops for balance follow the matching, and some rows may be preferred.
    refined: bool = True


class MatchedSet(NamedTuple):
    """One row of each cell, in the order of `balance.CONTRASTS`, and their propensities."""

    rows: tuple[int, int, int, int]
    propensities: tuple[float, float, float, float]


class MatchedSets(NamedTuple):
    """The sets, and how many had been found before some were left out for balance."""

    sets: list[MatchedSet]
    found: int


def choose_sets(
    cells: Sequence[Covariates], request: MatchRequest, *, preferred: Sequence[int] = _NOBODY
) -> MatchedSets:
    """Match train positives to nontrain positives, then each of them to a negative of its arm.

    `cells` are the covariates of all candidates, at least one row each, in random order. Of each cell the first
    `preferred` rows are: the others are in play only where these are fewer than the sets that there can be, and then
    beside all of them. Preferred rows are matched with one another as far as they go.
    """
    most = min(request.sets, *map(len, cells))
    pools = [len(cell) if few < most else few for cell, few in zip(cells, preferred, strict=True)]
    if request.matcher == "psm":
        pools = _limit_pools(pools, request.sets)
    # A row of a smaller group is never left over. So where preferred rows are too few, just enough others stand beside.
    first = [most if 0 < few < most else pool for few, pool in zip(preferred, pools, strict=True)]
    # Rows are in random order, so that taking the first sets favours no patient.
    sets = _match_cells([cell[:size] for cell, size in zip(cells, first, strict=True)], request)[: request.sets]
    if not sets or request.caliper is not None or not request.refined:
        return MatchedSets(sets, len(sets))
    chosen = improve_balance(
        [cell[:size] for cell, size in zip(cells, pools, strict=True)],
        [[matched.rows[cell] for matched in sets] for cell in range(_CELLS)],
        kept=[few if few < most else 0 for few in preferred],
    )
    # Matched once more within the selection: this changes the pairs, but not the balance.
    together = min(bisect_left(rows, few) for rows, few in zip(chosen, preferred, strict=True))
    blocks = [[rows[:together] for rows in chosen], [rows[together:] for rows in chosen]]
    return MatchedSets(
        [matched for block in blocks if block[0] for matched in _rematch(cells, block, request)], len(sets)
    )


def _limit_pools(pools: Sequence[int], asked: int) -> list[int]:
    """Cut the size of each pool to what matching needs; of the two of positives, the smaller one to fewer."""
    few, many = _POSITIVES_PER_ASKED * asked, _CONTROLS_PER_ASKED * asked
    train, nontrain = (few, many) if pools[0] <= pools[2] else (many, few)
    return [min(size, limit) for size, limit in zip(pools, (train, many, nontrain, many), strict=True)]


def _rematch(cells: Sequence[Covariates], block: Sequence[Sequence[int]], request: MatchRequest) -> list[MatchedSet]:
    """Match some rows of each cell, equally many, among themselves."""
    sets = _match_cells([cell[list(rows)] for cell, rows in zip(cells, block, strict=True)], request)
    return [
        MatchedSet((block[0][one], block[1][two], block[2][three], block[3][four]), propensities)
        for (one, two, three, four), propensities in sets
    ]


def _match_cells(cells: Sequence[Covariates], request: MatchRequest) -> list[MatchedSet]:
    """Match positives across arms, then each arm's positives to its negatives; a set without a full match is dropped.

    The train arm is matched first. The nontrain arm is matched for the sets that remain, so that both arms lose the
    same ones. Sets come in the order of their train positives' rows.
    """
    matcher, caliper = request.matcher, request.caliper
    train_positive, train_negative, nontrain_positive, nontrain_negative = cells
    across = match_pairs(train_positive, nontrain_positive, matcher=matcher, caliper=caliper).pairs
    if not across:
        return []
    train = match_pairs(train_positive[[row for row, _ in across]], train_negative, matcher=matcher, caliper=caliper)
    across = tuple(across[i] for i, _ in train.pairs)
    if not across:
        return []
    nontrain = match_pairs(
        nontrain_positive[[row for _, row in across]], nontrain_negative, matcher=matcher, caliper=caliper
    )
    sets = []
    for i, nontrain_control in nontrain.pairs:
        train_row, nontrain_row = across[i]
        train_index, train_control = train.pairs[i]
        sets.append(
            MatchedSet(
                (train_row, train_control, nontrain_row, nontrain_control),
                (
                    float(train.first_propensity[train_index]),
                    float(train.second_propensity[train_control]),
                    float(nontrain.first_propensity[i]),
                    float(nontrain.second_propensity[nontrain_control]),
                ),
            )
        )
    return sets
