"""How often the 95% intervals of scores of answers hold the truth: the bootstrap's alone, as written, and the safe one.

Patients are drawn with four answers each, whose true mean is known; each repetition goes through `mean_of_answers`,
`change_of_answers` or `change_of_harmonic_means`, as `clinaudit unlearn score` does. The laws: ROUGE-like scores about
0.4; LS-like ones, of which 85% (or half) are 0, by patients; scores of 5 or 20% of the patients alone; 0 or 1 for all
answers of a patient, with 2, 10 or 50%. Changes are of LS-like scores that lose half with half of the patients.

    python benchmarks/answers_coverage.py [--repetitions 1000] [--seed 0]

*Alone* is what the percentile bootstrap would give for every sample; *written* is the interval in the documents, which
is the bootstrap's for the share *narrow* of the samples and else the safe one. The output depends on the repetitions
and the seed alone. What was measured: docs/methods.md, section 12.
"""

import argparse
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import percentile_interval
from clinaudit.audit.statistics.patient_means import (
    change_of_answers,
    change_of_harmonic_means,
    columns_of,
    mean_of_answers,
    resampled_means,
)
from clinaudit.reports.schema.numbers import PatientEstimate

SIZES = (40, 80, 120, 200)
ANSWERS = 4
Values = NDArray[np.float64]
#: One value an answer, `(patients, ANSWERS)`.
Draw = Callable[[np.random.Generator, int], Values]


class Law(NamedTuple):
    """What is drawn, and its mean."""

    name: str
    truth: float
    draw: Draw


def _some(share: float) -> Draw:
    """Return scores of a share of the patients: a Beta(1, 3), and 0 for all others."""
    return lambda rng, n: np.where(rng.random((n, 1)) < share, rng.beta(1, 3, (n, ANSWERS)), 0.0)


def _sparse(a: float, b: float) -> Draw:
    """Return scores of answers of which some are 0, each patient with a share of its own from a Beta(a, b)."""
    return lambda rng, n: (rng.random((n, ANSWERS)) < rng.beta(a, b, (n, 1))) * rng.beta(2, 4, (n, ANSWERS))


def _whole(share: float) -> Draw:
    """Return 1 for all answers of a share of the patients, 0 for the others."""
    return lambda rng, n: np.repeat((rng.random((n, 1)) < share).astype(np.float64), ANSWERS, axis=1)


LAWS = (
    Law("ROUGE-like", 0.4, lambda rng, n: rng.beta(4, 6, (n, ANSWERS))),
    Law("LS-like, 85% zeros", 0.15 / 3, _sparse(0.6, 3.4)),
    Law("LS-like, 50% zeros", 0.5 / 3, _sparse(2, 2)),
    Law("20% of patients", 0.05, _some(0.2)),
    Law("5% of patients", 0.0125, _some(0.05)),
    Law("0 or 1, 50%", 0.5, _whole(0.5)),
    Law("0 or 1, 10%", 0.1, _whole(0.1)),
    Law("0 or 1, 2%", 0.02, _whole(0.02)),
)


class Coverage(NamedTuple):
    """Shares of the repetitions, and mean widths."""

    alone: float
    written: float
    safe: float
    narrow: float
    width: float
    safe_width: float


#: A generator of random numbers and a seed -> the estimate, and the bootstrap's interval whatever the sample.
Measure = Callable[[np.random.Generator, int], tuple[PatientEstimate, tuple[float, float]]]


def of_mean(law: Law, patients: int) -> Measure:
    """Return what measures a mean."""

    def measure(rng: np.random.Generator, seed: int) -> tuple[PatientEstimate, tuple[float, float]]:
        values, places = law.draw(rng, patients).ravel(), _places(patients)
        estimate = mean_of_answers(values, places, seed=seed, reason="none")
        return estimate, percentile_interval(resampled_means([values], places, seed=seed)[:, 0])

    return measure


def of_change(law: Law, patients: int) -> Measure:
    """Return what measures a change: half of the patients lose half of their scores."""

    def measure(rng: np.random.Generator, seed: int) -> tuple[PatientEstimate, tuple[float, float]]:
        before, after = _before_and_after(law, patients, rng)
        places = _places(patients)
        estimate = change_of_answers(before, after, places, seed=seed, reason="none")
        return estimate, percentile_interval(resampled_means([after - before], places, seed=seed)[:, 0])

    return measure


def of_harmonic_change(law: Law, patients: int) -> Measure:
    """Return what measures the change of the harmonic mean of two such scores."""

    def measure(rng: np.random.Generator, seed: int) -> tuple[PatientEstimate, tuple[float, float]]:
        drawn = [_before_and_after(law, patients, rng) for _ in range(2)]
        columns = columns_of([*(one[0] for one in drawn), *(one[1] for one in drawn)], _places(patients), seed=seed)
        estimate = change_of_harmonic_means(columns[:2], columns[2:], is_inverted=False)
        parts = [np.stack([column.resampled for column in side], axis=1) for side in (columns[:2], columns[2:])]
        before, after = (2 / (1 / np.maximum(side, 1e-12)).sum(axis=1) for side in parts)
        return estimate, percentile_interval(after - before)

    return measure


def simulate(measure: Measure, truth: float, *, repetitions: int, rng: np.random.Generator) -> Coverage:
    """Return how often each interval holds the truth."""
    held, widths = np.zeros(4), np.zeros(2)
    for seed in range(repetitions):
        estimate, alone = measure(rng, seed)
        if estimate.low is None or estimate.high is None:
            raise ValueError("every repetition has an interval")
        safe = (estimate.low, estimate.high)
        written = safe if estimate.bootstrap is None else estimate.bootstrap
        held += [*(_holds(one, truth) for one in (alone, written, safe)), estimate.bootstrap is not None]
        widths += [written[1] - written[0], safe[1] - safe[0]]
    return Coverage(*(held / repetitions), *(widths / repetitions))


def cases() -> Iterator[tuple[str, int, float, Measure]]:
    """Yield every figure: its name, patients, truth, and what measures it."""
    for law, patients in itertools.product(LAWS, SIZES):
        yield f"mean, {law.name}", patients, law.truth, of_mean(law, patients)
    for law, patients in itertools.product(LAWS[:5], SIZES):
        yield f"change, {law.name}", patients, -law.truth / 4, of_change(law, patients)
    for law, patients in itertools.product(LAWS[:3], SIZES):
        # Of two means that are equal the harmonic mean is the mean.
        yield f"change of harmonic mean, {law.name}", patients, -law.truth / 4, of_harmonic_change(law, patients)


def main() -> None:
    """Print a line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("| figure | patients | alone | written | safe | narrow | width | safe width |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for number, (name, patients, truth, measure) in enumerate(cases()):
        rng = np.random.default_rng([arguments.seed, number])
        found = simulate(measure, truth, repetitions=arguments.repetitions, rng=rng)
        shares = " | ".join(f"{share:.1%}" for share in found[:4])
        print(f"| {name} | {patients} | {shares} | {found.width:.3f} | {found.safe_width:.3f} |", flush=True)


def _before_and_after(law: Law, patients: int, rng: np.random.Generator) -> tuple[Values, Values]:
    before = law.draw(rng, patients)
    after = before * np.where(rng.random((patients, 1)) < 0.5, 0.5, 1.0)
    return before.ravel(), after.ravel()


def _places(patients: int) -> NDArray[np.int64]:
    return np.repeat(np.arange(patients), ANSWERS)


def _holds(interval: tuple[float, float], truth: float) -> bool:
    return interval[0] - 1e-12 <= truth <= interval[1] + 1e-12


if __name__ == "__main__":
    main()
