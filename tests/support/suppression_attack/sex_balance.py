"""Which numbers of women in the matched cells keep the published balance of sexes: it is no inequality of counts.

Owns two ways to keep it: every cell keeps its share, or cells have other numbers of which the differences round alike.
Of ages and numbers of notes worlds keep the balance by themselves.
"""

import itertools

import numpy as np
from numpy.typing import NDArray
from support.results.random_worlds import ARMS, ROWS, Law, World
from support.suppression_attack.integer_program import Choice

from clinaudit.audit.measures.cohorts.balance import CONTRASTS, FEW, FLAGGED_SMD, POOR_SMD, allowed_difference
from clinaudit.reports.tally.classes import class_of

#: A standardized difference stays this far within what it is rounded to, since its spread moves as well.
_WITHIN = 0.7
#: How far numbers of women, of patients and of candidates are looked for from the true ones.
_FURTHEST_WOMEN, _FURTHEST_SIZE, _POOL_FACTOR = 6, 2, 8
#: Rows of numbers for each size of the cells, and other sizes.
_ROWS, _OTHER_SIZES = 25, 5
_CELLS = [(arm, row) for arm in ARMS for row in ROWS]
#: Before matching, and after: the names of the sizes and of the women.
_STAGES = ("", "_before")


def keep_shares(world: World) -> list[Law]:
    """Return what keeps the share of women of each cell within what the roundings leave."""
    found = []
    for diagnosis, when in itertools.product(world.diagnoses, _STAGES):
        sizes, women = _names(diagnosis, when)
        if (few := _few_cell(world, women, sizes)) is not None:
            found += _keep_few(world, women, sizes[0], few, matched=not when)
            continue
        shares = [world.counts[own] / world.counts[size] for own, size in zip(women, sizes, strict=True)]
        room = [1.0] * len(_CELLS)
        for first, second in CONTRASTS.values():
            spread = np.sqrt(sum(share * (1 - share) for share in (shares[first], shares[second])) / 2)
            smd = abs(shares[first] - shares[second]) / spread if spread else 0.0
            # A difference of 0.05 on is 0.1; flags lie elsewhere.
            edges = [abs(smd - edge) for edge in (*np.arange(0.05, 3, 0.1), FLAGGED_SMD, POOR_SMD)]
            for cell in (first, second):
                room[cell] = min(room[cell], _WITHIN * min(edges) * spread / 2)
        for own, size, share, of_cell in zip(women, sizes, shares, room, strict=True):
            if 0 < share < 1:
                low, high = share - of_cell, share + of_cell
                found += [Law({own: 1, size: -low}, -1e-9), Law({own: -1, size: high}, -1e-9)]
                found += [Law({own: 1}, 1), Law({size: 1, own: -1}, 1)]
            else:
                # All of one sex have no spread, and any other would give one.
                found.append(Law({own: 1, size: -share}, 0, 0))
    return found


def _few_cell(world: World, women: list[str], sizes: list[str]) -> dict[str, int] | None:
    """Return the expression of a number of women or men that lies from 1 to 10; None where there is none."""
    for own, size in zip(women, sizes, strict=True):
        for expression in ({own: 1}, {size: 1, own: -1}):
            if 0 < world.value(expression) <= FEW:
                return expression
    return None


def _keep_few(world: World, women: list[str], size: str, few: dict[str, int], *, matched: bool) -> list[Law]:
    """Return what keeps balance judged by numbers, and its flags; of candidates nothing else is published."""
    found = [Law(few, 1, FEW)]
    for first, second in CONTRASTS.values() if matched else ():
        difference = {women[first]: 1, women[second]: -1}
        truth = world.value(difference)
        # What no cell of this class of sizes flags.
        allowed = allowed_difference(class_of(world.counts[size]).low)
        found.append(Law(difference, -allowed, allowed) if abs(truth) <= allowed else Law(difference, truth, truth))
    return found


def list_like_numbers(world: World, rng: np.random.Generator) -> list[Choice]:
    """Return numbers of women and sizes of all cells, some of those that give the same balance and the true ones."""
    found = []
    for diagnosis, when in itertools.product(world.diagnoses, _STAGES):
        sizes, women = _names(diagnosis, when)
        truth = np.array([[world.counts[name] for name in (*women, *sizes)]])
        rows = [truth, _like_rows(world, women, sizes, truth[0, len(women) :], rng)]
        for _ in range(_OTHER_SIZES):
            moved = rng.integers(-_FURTHEST_SIZE, _FURTHEST_SIZE + 1, len(_CELLS))
            if when:
                moved = moved * _POOL_FACTOR * (rng.random(len(_CELLS)) < 0.5)
            others = np.maximum(2, truth[0, len(women) :] + (moved if when else moved[0]))
            rows.append(_like_rows(world, women, sizes, others, rng))
        numbers = np.unique(np.concatenate(rows), axis=0)
        # Before they are matched, cells differ in size; after, they have one.
        names = [*women, *sizes] if when else [*women, sizes[0]]
        found.append(Choice(names, numbers if when else numbers[:, : len(names)]))
    return found


def _like_rows(
    world: World, women: list[str], sizes: list[str], numbers: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return some numbers of women that give the same balance at these sizes, with the sizes."""
    like = rng.permutation(_like(world, women, sizes, numbers))[:_ROWS]
    return np.concatenate([like, np.broadcast_to(numbers, like.shape)], axis=1)


def _names(diagnosis: str, when: str) -> tuple[list[str], list[str]]:
    sizes = [f"candidates/{diagnosis}/{arm}/{row}" if when else f"total/cell/{diagnosis}" for arm, row in _CELLS]
    return sizes, [f"female{when}/{diagnosis}/{arm}/{row}" for arm, row in _CELLS]


def _like(world: World, names: list[str], size_names: list[str], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of women near the true ones that give the same balance at these sizes, `(numbers, 4)`."""
    truth = np.array([world.counts[name] for name in names])
    true_sizes = np.array([world.counts[name] for name in size_names])
    near = np.arange(-_FURTHEST_WOMEN, _FURTHEST_WOMEN + 1)
    offsets = np.stack(np.meshgrid(*[near] * len(names), indexing="ij"), axis=-1).reshape(-1, len(names))
    numbers = np.round(truth / true_sizes * sizes).astype(np.int64) + offsets
    numbers = numbers[((numbers >= 0) & (numbers <= sizes)).all(axis=1)]
    before = names[0].startswith("female_before")
    is_like = (_balance(numbers, sizes, before) == _balance(truth[None], true_sizes, before)).all(axis=1)
    alike: NDArray[np.int64] = numbers[is_like]
    return alike


def _balance(women: NDArray[np.int64], sizes: NDArray[np.int64], before: bool) -> NDArray[np.float64]:
    """Return the differences to one decimal and their flags, `(numbers, 6)`; an undefined one is 99.

    Where there are few of one sex the difference is not published, 98, and the flag follows from numbers. Before
    matching there is no flag.
    """
    is_few = (((women > 0) & (women <= FEW)) | ((sizes - women > 0) & (sizes - women <= FEW))).any(axis=1)
    allowed = allowed_difference(int(sizes[0]))
    shares = women / sizes
    variances = shares * (1 - shares) * sizes / np.maximum(1, sizes - 1)
    columns = []
    for first, second in CONTRASTS.values():
        difference, spread = (
            shares[:, first] - shares[:, second],
            np.sqrt((variances[:, first] + variances[:, second]) / 2),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            smd = np.where(spread > 0, difference / spread, np.where(difference == 0, 0.0, 99.0))
        flags = (np.abs(smd) > FLAGGED_SMD).astype(float) + (np.abs(smd) > POOR_SMD)
        of_numbers = 2.0 * (np.abs(women[:, first] - women[:, second]) > allowed)
        flags = np.zeros(len(women)) if before else np.where(is_few, of_numbers, flags)
        columns += [np.where(is_few, 98.0, np.round(smd, 1) + 0.0), flags]
    return np.stack(columns, axis=-1)
