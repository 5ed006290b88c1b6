"""How often the 95% intervals of a comparison of two runs hold the true change.

Patients are drawn whose values in both runs have a known law; each repetition goes through `paired_difference`, or
through `measure_auroc_change` and `difference_of_changes`, as `clinaudit compare` does. Memorized shares: few patients
or nearly all have a Beta(1, 3) share before; after, it is the same, gone for half of them, or gone. Verdicts: the
score of a patient with the diagnosis is drawn before, and again after for those whose text has changed.

    python benchmarks/paired_coverage.py [--repetitions 1000] [--seed 0]

The output depends on the repetitions and the seed alone. What was measured: docs/methods.md.
"""

import argparse
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.paired_differences import (
    ScoredPairs,
    difference_of_changes,
    measure_auroc_change,
    paired_difference,
)
from clinaudit.reports.schema.numbers import Estimate

SIZES = (10, 40, 100)
#: Share of the patients whose text has changed in the second run.
CHANGED = (0.0, 0.5, 1.0)
#: Share of the patients with any memorized text before, and the mean of a Beta(1, 3).
MEMORIZED, MEAN_SHARE = (0.1, 0.9), 0.25
#: Probabilities of negative, no mention or ambiguous, positive: of d-positives whose notes leak, and of all others.
LEAK, NO_LEAK = (0.1, 0.2, 0.7), (0.3, 0.4, 0.3)


class Scenario(NamedTuple):
    """What is drawn, its true change, and how an interval of it is had."""

    name: str
    truth: float
    draw: Callable[[np.random.Generator], Estimate]


def main() -> None:
    """Print a line a scenario: how often its interval holds the truth, and how wide it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{'scenario':44} {'covered':>8} {'width':>6}")
    lowest = 1.0
    for number, scenario in enumerate([*_share_scenarios(), *_area_scenarios()]):
        rng = np.random.default_rng([arguments.seed, number])
        held, widths = 0, []
        for _ in range(arguments.repetitions):
            estimate = scenario.draw(rng)
            if estimate.low is None or estimate.high is None:
                raise ValueError("every repetition has an interval")
            held += estimate.low - 1e-12 <= scenario.truth <= estimate.high + 1e-12
            widths.append(estimate.high - estimate.low)
        covered = held / arguments.repetitions
        lowest = min(lowest, covered)
        print(f"{scenario.name:44} {covered:8.1%} {np.mean(widths):6.2f}", flush=True)
    print(f"{arguments.repetitions} repetitions each; lowest {lowest:.1%}")


def _share_scenarios() -> Iterator[Scenario]:
    for n, memorized, changed in itertools.product(SIZES, MEMORIZED, CHANGED):

        def draw(
            rng: np.random.Generator, n: int = n, memorized: float = memorized, changed: float = changed
        ) -> Estimate:
            before = np.where(rng.random(n) < memorized, rng.beta(1, 3, n), 0.0)
            after = np.where(rng.random(n) < changed, 0.0, before)
            return paired_difference(before, after, seed=int(rng.integers(2**31)))

        name = f"share of {n}: {memorized:.0%} memorized, {changed:.0%} gone"
        yield Scenario(name, -memorized * MEAN_SHARE * changed, draw)


def _area_scenarios() -> Iterator[Scenario]:
    for n, changed in itertools.product(SIZES, CHANGED):

        def draw(rng: np.random.Generator, n: int = n, changed: float = changed) -> Estimate:
            train, nontrain = (
                measure_auroc_change(
                    _scores(rng, n, before=before, changed=changed),
                    _scores(rng, n, before=NO_LEAK, changed=changed),
                    rng=rng,
                )
                for before in (LEAK, NO_LEAK)
            )
            if train is None or nontrain is None:
                raise ValueError("both classes have patients")
            return difference_of_changes(train, nontrain, n=2 * n)

        # A mixture: the area is linear in the scores of either class.
        truth = changed * (0.5 - _area(LEAK, NO_LEAK))
        yield Scenario(f"AUROC, train less nontrain, {n} a class: {changed:.0%} changed", truth, draw)


def _scores(rng: np.random.Generator, n: int, *, before: tuple[float, ...], changed: float) -> ScoredPairs:
    """Draw scores before; after, those whose text has changed have one that tells nothing of the diagnosis."""
    first = rng.choice(3, size=n, p=before)
    second = np.where(rng.random(n) < changed, rng.choice(3, size=n, p=NO_LEAK), first)
    return ScoredPairs(_as_levels(first), _as_levels(second))


def _as_levels(scores: NDArray[np.int64]) -> NDArray[np.int64]:
    return scores.astype(np.int64)


def _area(positives: tuple[float, ...], negatives: tuple[float, ...]) -> float:
    return sum(
        p * q * (1.0 if i > j else 0.5 if i == j else 0.0)
        for (i, p), (j, q) in itertools.product(enumerate(positives), enumerate(negatives))
    )


if __name__ == "__main__":
    main()
