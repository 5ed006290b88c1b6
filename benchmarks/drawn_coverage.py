"""Tests without a bootstrap in 20,000 draws a scenario, and the interval of PPV at a prevalence by every outcome.

The scenarios are those of `interval_coverage.py`; so many draws tell 6% of rejections from 6.5%. Tests of `auroc` and
of `ppv_at_prevalence` take the larger of two p-values, of which the one without a bootstrap is drawn here: an audit
rejects no more often.

    python benchmarks/drawn_coverage.py [--seed 0]
"""

import argparse
import itertools
from collections.abc import Callable

import numpy as np
from interval_coverage import ALPHA, PREVALENCE, SIZES, Scenario, scenarios
from numpy.typing import NDArray
from scipy.stats import binom

from clinaudit.audit.measures.disclosure.arm_intervals import measure_arm
from clinaudit.audit.measures.disclosure.metrics import (
    NOT_MENTIONED,
    OUTCOMES,
    POSITIVE,
    ArmCounts,
    score_levels_of_all,
    score_levels_of_mentions,
)
from clinaudit.audit.measures.disclosure.train_delta import ratio_p_value
from clinaudit.audit.statistics.auroc import AurocError, auroc_of_counts, difference_error, measure_error
from clinaudit.audit.statistics.intervals import interval_of, newcombe_difference, score_test_p_value
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import ARMS, Arm

_DRAWS = 20_000
#: Outcomes of a smaller chance are left out, and scenarios that give an interval less often.
_NEGLIGIBLE = 1e-5
_RARELY_GIVEN = 0.02

Floats = NDArray[np.float64]
#: Counts by outcome, `(draws, 5)`, of d-positives and d-negatives of an arm.
Drawn = dict[Arm, tuple[Floats, Floats]]


def draw_counts(scenario: Scenario, rng: np.random.Generator) -> Drawn:
    """Draw cohorts."""

    def draw(arm: Arm, *, present: bool) -> Floats:
        return rng.multinomial(scenario.patients, scenario.chances(arm, present=present), _DRAWS).astype(np.float64)

    return {arm: (draw(arm, present=True), draw(arm, present=False)) for arm in ARMS}


def compare_areas(drawn: Drawn, levels: Callable[[Floats], Floats]) -> tuple[Floats, AurocError]:
    """Return the differences of the areas and their errors, of those cohorts in which both arms have one."""
    by_arm = [[levels(counts) for counts in drawn[arm]] for arm in ARMS]
    defined = np.all([counts.sum(axis=-1) > 0 for arm in by_arm for counts in arm], axis=0)
    areas, errors = [], []
    for present, absent in by_arm:
        areas.append(auroc_of_counts(present[defined], absent[defined]))
        errors.append(measure_error(present[defined], absent[defined]))
    return areas[0] - areas[1], difference_error(*errors)


def reject_areas(drawn: Drawn) -> dict[str, float]:
    """Return how often the tests of both areas reject, of all cohorts."""
    value, error = compare_areas(drawn, score_levels_of_mentions)
    of_mentions = error.p_value(np.minimum(value, error.smoothed)) <= ALPHA
    value, error = compare_areas(drawn, score_levels_of_all)
    return {"auroc": of_mentions.sum() / _DRAWS, "auroc_all": float((error.p_value(value) <= ALPHA).mean())}


def reject_ratios(drawn: Drawn, size: int) -> dict[str, float]:
    """Return how often the tests of both PPVs reject, of all cohorts; equal cohorts are tested once."""
    stated = np.stack([counts[:, POSITIVE] for arm in ARMS for counts in drawn[arm]], axis=1)
    kinds, times = np.unique(stated.astype(int), axis=0, return_counts=True)
    rejected = {"ppv": 0, "ppv_at_prevalence": 0}
    for (a, b, c, d), count in zip(kinds.tolist(), times.tolist(), strict=True):
        if a + b and c + d:
            rejected["ppv"] += count * (score_test_p_value((a, a + b), (c, c + d)) <= ALPHA)
            p_value = ratio_p_value(of_stated(a, b, size), of_stated(c, d, size))
            rejected["ppv_at_prevalence"] += count * (p_value <= ALPHA)
    return {metric: count / _DRAWS for metric, count in rejected.items()}


def of_stated(present: int, absent: int, size: int) -> ArmCounts:
    """Return an arm in which the diagnosis is stated of so many patients and mentioned of no others."""
    counts = np.zeros((2, len(OUTCOMES)))
    counts[:, POSITIVE] = present, absent
    counts[:, NOT_MENTIONED] = size - counts[:, POSITIVE]
    return ArmCounts(counts[0], counts[1])


def cover_area(scenario: Scenario, drawn: Drawn) -> float:
    """Return how often an arm's interval of `auroc_all` holds it."""
    present, absent = (score_levels_of_all(counts) for counts in drawn["train"])
    chances = (scenario.chances("train", present=has)[np.newaxis] for has in (True, False))
    truth = float(auroc_of_counts(*(score_levels_of_all(chance) for chance in chances))[0])
    low, high = measure_error(present, absent).interval(auroc_of_counts(present, absent), floor=0.0)
    return float(((low - 1e-9 <= truth) & (truth <= high + 1e-9)).mean())


def cover_ppv_at_prevalence(size: int, seed: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the lowest coverage over the scenarios, of an arm by every outcome and of the difference in draws.

    The difference takes the wider ends of two intervals; here is the one without a bootstrap.
    """
    estimates: dict[tuple[int, int], Estimate] = {}

    def measure(present: int, absent: int) -> Estimate:
        if (present, absent) not in estimates:
            own = np.random.default_rng((seed, present, absent))
            arm = measure_arm(of_stated(present, absent, size), prevalence=PREVALENCE, rng=own, resamples=2000)
            estimates[present, absent] = arm.estimates["ppv_at_prevalence"]
        return estimates[present, absent]

    of_arms, of_differences = [], []
    for scenario in scenarios((size,)):
        shares = {arm: [float(scenario.chances(arm, present=has)[POSITIVE]) for has in (True, False)] for arm in ARMS}
        truths = {
            arm: right * PREVALENCE / (right * PREVALENCE + wrong * (1 - PREVALENCE))
            for arm, (right, wrong) in shares.items()
        }
        chances = [binom.pmf(range(size + 1), size, share) for share in shares["train"]]
        given = held = 0.0
        for counts in itertools.product(range(size + 1), repeat=2):
            chance = float(chances[0][counts[0]] * chances[1][counts[1]])
            estimate = measure(*counts) if chance > _NEGLIGIBLE else None
            if estimate is not None and estimate.low is not None:
                low, high = interval_of(estimate)
                given += chance
                held += chance * (low - 1e-9 <= truths["train"] <= high + 1e-9)
        if given > _RARELY_GIVEN:
            of_arms.append(held / given)
        drawn = rng.binomial(size, [*shares["train"], *shares["nontrain"]], size=(_DRAWS, 4))
        kinds, times = np.unique(drawn, axis=0, return_counts=True)
        count = inside = 0
        for kind, frequency in zip(kinds.tolist(), times.tolist(), strict=True):
            first, second = measure(*kind[:2]), measure(*kind[2:])
            if first.low is not None and second.low is not None:
                low, high = newcombe_difference(first, second)
                count += frequency
                inside += frequency * (low - 1e-9 <= truths["train"] - truths["nontrain"] <= high + 1e-9)
        if count > _RARELY_GIVEN * _DRAWS:
            of_differences.append(inside / count)
    return min(of_arms), min(of_differences)


def main() -> None:
    """Print the most rejections without a difference, and the lowest coverage, by size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    for size in SIZES:
        most: dict[str, float] = {}
        for scenario in scenarios((size,), effects=("none", "prior")):
            drawn = draw_counts(scenario, rng)
            for metric, share in (reject_areas(drawn) | reject_ratios(drawn, size)).items():
                most[metric] = max(share, most.get(metric, 0.0))
        print(f"{size} a cell, rejected: " + ", ".join(f"{metric} {share:.1%}" for metric, share in most.items()))
        area = min(cover_area(scenario, draw_counts(scenario, rng)) for scenario in scenarios((size,)))
        arm, difference = cover_ppv_at_prevalence(size, arguments.seed, rng)
        print(f"{size} a cell, covered: auroc_all of an arm {area:.1%}", end=", ")
        print(f"ppv_at_prevalence of an arm {arm:.1%}, of the difference {difference:.1%}", flush=True)


if __name__ == "__main__":
    main()
