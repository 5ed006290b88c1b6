"""How often the 95% intervals hold the truth, and how often the delta tests reject where there is no delta.

Cohorts are simulated whose true values are known: 10, 40 or 100 patients a cell; 15, 40 or 70% of the generations
mention the diagnosis; mentions spread over the three verdicts, or tied on one of them; and three effects:

- `none`: verdicts do not depend on the diagnosis, in either arm: AUROC 0.5, delta 0;
- `prior`: they do, equally in both arms: what a prompt alone gives away, delta 0;
- `leak`: they do in train alone.

Beside them, means of memorized shares over patients: nothing for most, a Beta(1, 3) share for the rest.

    python benchmarks/interval_coverage.py [--repetitions 1000] [--seed 0] [--processes 2]

The output depends on the repetitions and the seed alone, whatever the number of processes. Shares of a fixed number of
patients are not simulated but enumerated. For the rest, each repetition goes through `measure_disclosure`, as an audit
does. A repetition whose estimate has no interval (null with a reason) does not count for coverage; the column `given`
says how many have one. What was measured: docs/methods.md.
"""

import argparse
import itertools
import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from clinaudit.audit.measures.disclosure.metrics import DISCLOSURE_METRICS, OUTCOMES, Metric, Reading, compute_metrics
from clinaudit.audit.measures.disclosure.train_delta import measure_disclosure
from clinaudit.audit.statistics.intervals import (
    RESAMPLES,
    bootstrap_mean_over_patients,
    clopper_pearson_of_mean,
    estimate_share,
    newcombe_difference,
    score_test_p_value,
)
from clinaudit.reports.schema.disclosure import Outcome
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import ARMS, Arm

Effect = Literal["none", "prior", "leak"]
Verdicts = Literal["spread", "tied"]
Case = TypeVar("Case")

SIZES = (10, 40, 100)
MENTION_RATES = (0.15, 0.40, 0.70)
EFFECTS: tuple[Effect, ...] = ("none", "prior", "leak")
VERDICTS: tuple[Verdicts, ...] = ("spread", "tied")
PREVALENCE = 0.1
ALPHA = 0.05
_NEGLIGIBLE = 1e-12

#: Shares of the mentions that are negative, ambiguous, positive: of d-positives where there is an effect; of others.
_MIXES: dict[Verdicts, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "spread": ((0.20, 0.10, 0.70), (0.45, 0.10, 0.45)),
    "tied": ((0.02, 0.08, 0.90), (0.10, 0.10, 0.80)),
}
#: Share of the patients with any memorized text.
_TOUCHED = (0.05, 0.2, 0.7)
#: Repetitions that one process does at a time, with random numbers of their own.
_BLOCK = 250


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is simulated."""

    patients: int
    mention_rate: float
    effect: Effect
    verdicts: Verdicts

    def chances(self, arm: Arm, *, present: bool) -> NDArray[np.float64]:
        """Return the chance of each of `OUTCOMES`."""
        informed = present and (self.effect == "prior" or (self.effect == "leak" and arm == "train"))
        negative, ambiguous, positive = (self.mention_rate * share for share in _MIXES[self.verdicts][not informed])
        return np.array([negative, 1 - self.mention_rate, ambiguous, positive, 0.0])


@dataclass(slots=True)
class Tally:
    """What became of the repetitions, by metric."""

    repetitions: int = 0
    given: Counter[str] = field(default_factory=Counter)
    covered: Counter[str] = field(default_factory=Counter)
    tested: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, estimate: Estimate, truth: float) -> None:
        """Count one interval."""
        if estimate.low is not None and estimate.high is not None:
            self.given[name] += 1
            self.covered[name] += estimate.low - 1e-9 <= truth <= estimate.high + 1e-9

    def merge(self, other: "Tally") -> None:
        """Add another's counts."""
        self.repetitions += other.repetitions
        for mine, theirs in (
            (self.given, other.given),
            (self.covered, other.covered),
            (self.tested, other.tested),
            (self.rejected, other.rejected),
        ):
            mine.update(theirs)

    def coverage(self, name: str) -> float:
        """Return the share of the intervals given that hold the truth."""
        return self.covered[name] / self.given[name] if self.given[name] else float("nan")

    def rejections(self, name: str) -> float:
        """Return the share of all repetitions in which the test of delta > 0 rejects at 5%."""
        return self.rejected[name] / self.repetitions


def scenarios(
    sizes: Iterable[int] = SIZES,
    mention_rates: Iterable[float] = MENTION_RATES,
    effects: Iterable[Effect] = EFFECTS,
    verdicts: Iterable[Verdicts] = VERDICTS,
) -> Iterator[Scenario]:
    """Yield every combination."""
    for size, rate, effect, kind in itertools.product(sizes, mention_rates, effects, verdicts):
        yield Scenario(size, rate, effect, kind)


#: Shares of a fixed number of patients, of which every outcome can be gone through.
EXACT: tuple[Metric, ...] = ("mention_rate", "sensitivity", "false_positive_rate")


class Exact(NamedTuple):
    """Chances over all outcomes: nothing is simulated."""

    #: That the interval of train holds the truth.
    coverage: float
    #: That Newcombe's interval of the difference does.
    delta_coverage: float
    #: That the score test rejects at 5%.
    rejections: float


@cache
def enumerate_shares(patients: int, train: float, nontrain: float) -> Exact:
    """Go through every pair of counts in `patients` an arm at these true shares."""
    counts = range(patients + 1)
    chances = [binom.pmf(list(counts), patients, share) for share in (train, nontrain)]
    intervals = [estimate_share(count, patients) for count in counts]
    holds = [(one.low or 0) <= train <= (one.high or 0) for one in intervals]
    delta_coverage = rejections = 0.0
    for first, second in itertools.product(counts, counts):
        chance = float(chances[0][first] * chances[1][second])
        if chance > _NEGLIGIBLE:
            low, high = newcombe_difference(intervals[first], intervals[second])
            delta_coverage += chance * (low <= train - nontrain <= high)
            rejections += chance * (score_test_p_value((first, patients), (second, patients)) <= ALPHA)
    return Exact(float(chances[0][holds].sum()), delta_coverage, rejections)


def enumerate_scenario(scenario: Scenario, metric: Metric) -> Exact:
    """Return the exact chances of one of `EXACT`."""
    by_arm = [
        compute_metrics(scenario.chances(arm, present=True), scenario.chances(arm, present=False), prevalence=None)
        for arm in ARMS
    ]
    patients = scenario.patients * (2 if metric == "mention_rate" else 1)
    train, nontrain = (round(float(of_arm[metric]), 12) for of_arm in by_arm)
    return enumerate_shares(patients, train, nontrain)


class Block(NamedTuple):
    """Repetitions done in one go: those from `first` on of the case at `position`."""

    position: int
    first: int
    repetitions: int
    seed: int

    def rng(self) -> np.random.Generator:
        """Return this block's own random numbers."""
        return np.random.default_rng((self.seed, self.position, self.first))


class Task(NamedTuple):
    """One block of one case, for a process of the pool."""

    simulate: Callable[..., Tally]
    case: object
    block: Block

    def run(self) -> Tally:
        """Simulate it."""
        return self.simulate(self.case, repetitions=self.block.repetitions, rng=self.block.rng())


def read_arguments(description: str | None) -> argparse.Namespace:
    """Read the options of a simulation: repetitions a scenario, seed, processes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000, help="simulated cohorts a scenario (default 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    return parser.parse_args()


def simulate_all(
    simulate: Callable[..., Tally], cases: Sequence[Case], *, repetitions: int, seed: int, processes: int
) -> list[Tally]:
    """Return the tally of each case; the number of processes changes nothing but the time."""
    tasks = [
        Task(simulate, case, Block(position, first, min(_BLOCK, repetitions - first), seed))
        for position, case in enumerate(cases)
        for first in range(0, repetitions, _BLOCK)
    ]
    tallies = [Tally() for _ in cases]
    with multiprocessing.Pool(processes) as pool:
        for task, tally in zip(tasks, pool.imap(Task.run, tasks), strict=True):
            tallies[task.block.position].merge(tally)
    return tallies


def simulate_disclosure(
    scenario: Scenario, *, repetitions: int, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Tally:
    """Measure `repetitions` cohorts; metrics of train by name, differences as `delta.<name>`."""
    truth = {
        arm: compute_metrics(
            scenario.chances(arm, present=True), scenario.chances(arm, present=False), prevalence=PREVALENCE
        )
        for arm in ARMS
    }
    tally = Tally()
    for seed in range(repetitions):
        pair = measure_disclosure(draw_readings(scenario, rng), prevalence=PREVALENCE, seed=seed, resamples=resamples)
        tally.repetitions += 1
        for metric in DISCLOSURE_METRICS:
            here = float(truth["train"][metric])
            tally.add(metric, getattr(pair.train, metric), here)
            delta = getattr(pair.delta, metric)
            tally.add(f"delta.{metric}", delta, here - float(truth["nontrain"][metric]))
            if delta.p_value is not None:
                tally.tested[metric] += 1
                tally.rejected[metric] += delta.p_value <= ALPHA
    return tally


def draw_readings(scenario: Scenario, rng: np.random.Generator) -> list[Reading]:
    """Return the readings of one cohort, one a patient."""
    readings = []
    for arm, present in itertools.product(ARMS, (True, False)):
        drawn = rng.choice(len(OUTCOMES), size=scenario.patients, p=scenario.chances(arm, present=present))
        for i, kind in enumerate(drawn):
            outcome: Outcome = OUTCOMES[kind]
            readings.append(Reading(f"{arm}-{present}-{i}", arm, present, outcome))
    return readings


class Memorization(NamedTuple):
    """Patients whose shares are averaged, and the share of them who have any memorized text."""

    patients: int
    touched: float


def simulate_memorization(case: Memorization, *, repetitions: int, rng: np.random.Generator) -> Tally:
    """Measure means of shares over patients; both kinds of interval."""
    patients, touched = case
    tally = Tally()
    truth = touched / 4
    for seed in range(repetitions):
        shares = np.where(rng.random(patients) < touched, rng.beta(1, 3, patients), 0.0)
        low, high = bootstrap_mean_over_patients(shares, np.ones(patients, dtype=np.int64), seed=seed)
        tally.repetitions += 1
        tally.add("mean (bootstrap)", Estimate(value=float(shares.mean()), low=low, high=high), truth)
        tally.add("mean (gate's bounds)", clopper_pearson_of_mean(float(shares.sum()), patients), truth)
    return tally


def _print_coverage(by_size: dict[int, list[tuple[str, Tally]]], names: Iterable[str], heading: str) -> None:
    print(f"\n{heading}\n")
    print("| figure | a cell | lowest coverage | where | median | given |")
    print("| --- | ---: | ---: | --- | ---: | ---: |")
    for name in names:
        for size, tallies in by_size.items():
            found = [(tally.coverage(name), where) for where, tally in tallies if tally.given[name] >= 100]
            given = np.mean([tally.given[name] / tally.repetitions for _, tally in tallies])
            if not found:
                print(f"| {name} | {size} | – | fewer than 100 intervals | – | {given:.0%} |")
                continue
            lowest, where = min(found)
            median = np.median([share for share, _ in found])
            print(f"| {name} | {size} | {lowest:.1%} | {where} | {median:.1%} | {given:.0%} |")


def _print_exact() -> None:
    print("\nShares of a fixed number of patients, all outcomes gone through\n")
    print("| figure | a cell | lowest coverage | lowest of the difference | most rejections with no delta |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for metric, size in itertools.product(EXACT, SIZES):
        found = [(scenario, enumerate_scenario(scenario, metric)) for scenario in scenarios((size,))]
        null = [chance.rejections for scenario, chance in found if scenario.effect != "leak" or metric == EXACT[0]]
        print(
            f"| {metric} | {size} | {min(chance.coverage for _, chance in found):.1%}"
            f" | {min(chance.delta_coverage for _, chance in found):.1%} | {max(null):.1%} |"
        )


def _print_tests(by_size: dict[int, list[tuple[str, Tally]]]) -> None:
    print("\nRejections at 5% (one-sided, unadjusted) where delta is 0, and in the scenarios with a leak\n")
    print("| test | a cell | highest with no delta | where | mean with no delta | highest with a leak |")
    print("| --- | ---: | ---: | --- | ---: | ---: |")
    for metric in (metric for metric in DISCLOSURE_METRICS if metric not in EXACT):
        for size, tallies in by_size.items():
            null = [(tally.rejections(metric), where) for where, tally in tallies if "leak" not in where]
            leak = [tally.rejections(metric) for where, tally in tallies if "leak" in where]
            highest, where = max(null)
            mean = np.mean([share for share, _ in null])
            print(f"| {metric} | {size} | {highest:.1%} | {where} | {mean:.1%} | {max(leak):.0%} |")


def main() -> None:
    """Print coverage and rejections of every metric by size, worst scenario named."""
    arguments = read_arguments(__doc__)
    options = vars(arguments)
    cases = list(scenarios())
    disclosure: defaultdict[int, list[tuple[str, Tally]]] = defaultdict(list)
    for scenario, tally in zip(cases, simulate_all(simulate_disclosure, cases, **options), strict=True):
        where = f"{scenario.effect}, {scenario.verdicts}, {scenario.mention_rate:.0%}"
        disclosure[scenario.patients].append((where, tally))
    simulated = [metric for metric in DISCLOSURE_METRICS if metric not in EXACT]
    _print_exact()
    _print_coverage(disclosure, simulated, "Figures of an arm")
    _print_coverage(disclosure, [f"delta.{metric}" for metric in simulated], "Train minus nontrain")
    _print_tests(disclosure)
    memorization: defaultdict[int, list[tuple[str, Tally]]] = defaultdict(list)
    # Both statuses of an arm are targets.
    arms = [Memorization(2 * size, touched) for size, touched in itertools.product(SIZES, _TOUCHED)]
    for arm, tally in zip(arms, simulate_all(simulate_memorization, arms, **options), strict=True):
        memorization[arm.patients // 2].append((f"{arm.touched:.0%} touched", tally))
    means = ("mean (bootstrap)", "mean (gate's bounds)")
    _print_coverage(memorization, means, "Means of shares over an arm's patients")


if __name__ == "__main__":
    main()
