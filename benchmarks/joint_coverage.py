"""How often intervals of means over diagnoses and of corrected metrics hold the truth; `auroc_all` in 20,000 draws.

The scenarios are those of `interval_coverage.py`, with verdicts spread and 40% mentions, for three diagnoses whose
patients are apart. Misclassification is corrected for two judges scored on 78 texts a class: one that errs as the
lexicon judge does on its 312 labelled texts, which is near the least that the default policy accepts, and one that is
right in 60%.

    python benchmarks/joint_coverage.py [--repetitions 1000] [--seed 0] [--processes 2]

The output depends on the repetitions and the seed alone. Resamples are 500 instead of an audit's 2,000 and simulations
of the correction 200 instead of 1,000, which makes ranges a little less sure, not wider. What was measured:
docs/methods.md.
"""

import itertools
from typing import NamedTuple

import numpy as np
from interval_coverage import (
    ALPHA,
    PREVALENCE,
    SIZES,
    Effect,
    Scenario,
    Tally,
    draw_readings,
    read_arguments,
    scenarios,
    simulate_all,
)

from clinaudit.audit.measures.disclosure.error_correction import CORRECTED_METRICS as CORRECTED
from clinaudit.audit.measures.disclosure.error_correction import correct_disclosure
from clinaudit.audit.measures.disclosure.mean_over_diagnoses import MeasuredDiagnosis, mean_over_diagnoses
from clinaudit.audit.measures.disclosure.metrics import (
    DISCLOSURE_METRICS,
    Reading,
    compute_metrics,
    score_levels_of_all,
)
from clinaudit.audit.measures.disclosure.train_delta import measure_disclosure
from clinaudit.audit.statistics.auroc import auroc_of_counts, difference_error, measure_error
from clinaudit.reports.schema.judge import VERDICT_CLASSES
from clinaudit.reports.schema.record import ARMS, Arm

_EFFECTS: tuple[Effect, ...] = ("none", "leak")
#: The lexicon judge (version 3) on the labelled texts that ship: truth by verdict, in the order of `VERDICT_CLASSES`.
MATRIX = np.array([[65.0, 0, 1, 12], [7, 70, 1, 0], [18, 0, 58, 2], [0, 0, 1, 77]])
SIXTY = np.full((4, 4), 78 * 0.4 / 3) + np.eye(4) * 78 * (0.6 - 0.4 / 3)
_TEXTS_PER_CLASS = 78
_RESAMPLES = 500
_SIMULATIONS = 200
_DRAWS = 20_000


class Correction(NamedTuple):
    """Generations and the judge that misreads them."""

    judge: str
    scenario: Scenario


_JUDGES = {"lexicon": MATRIX, "60% right": SIXTY}


def true_metrics(scenario: Scenario, arm: Arm) -> dict[str, float]:
    """Return each metric's true value."""
    chances = (scenario.chances(arm, present=present) for present in (True, False))
    return {str(metric): float(value) for metric, value in compute_metrics(*chances, prevalence=PREVALENCE).items()}


def simulate_means(scenario: Scenario, *, repetitions: int, rng: np.random.Generator) -> Tally:
    """Measure means over three diagnoses, counted where all three have the metric."""
    truth = {arm: true_metrics(scenario, arm) for arm in ARMS}
    tally = Tally()
    for seed in range(repetitions):
        measured = {}
        for diagnosis in "abc":
            rows = draw_readings(scenario, rng)
            rows = [Reading(diagnosis + row.patient_id, row.arm, row.present, row.outcome) for row in rows]
            pair = measure_disclosure(rows, prevalence=PREVALENCE, seed=seed, resamples=_RESAMPLES)
            measured[diagnosis] = MeasuredDiagnosis(rows, pair, PREVALENCE)
        mean = mean_over_diagnoses(measured, seed=seed, resamples=_RESAMPLES)
        tally.repetitions += 1
        for metric in DISCLOSURE_METRICS:
            here = truth["train"][metric]
            tally.add(metric, mean.train[metric], here)
            tally.add(f"delta.{metric}", mean.delta[metric], here - truth["nontrain"][metric])
    return tally


def simulate_corrections(case: Correction, *, repetitions: int, rng: np.random.Generator) -> Tally:
    """Draw truths, have them misread, and correct; the labelled texts are drawn anew."""
    scenario = case.scenario
    truth = {arm: true_metrics(scenario, arm) for arm in ARMS}
    table = _JUDGES[case.judge]
    rates = table / table.sum(axis=1, keepdims=True)
    tally = Tally()
    for seed in range(repetitions):
        rows = []
        for row in draw_readings(scenario, rng):
            verdict = rng.choice(4, p=rates[VERDICT_CLASSES.index(row.outcome)])  # type: ignore[arg-type]
            rows.append(Reading(row.patient_id, row.arm, row.present, VERDICT_CLASSES[verdict]))
        matrix = np.array([rng.multinomial(_TEXTS_PER_CLASS, row) for row in rates], dtype=np.float64)
        pair = correct_disclosure(rows, matrix, seed=seed, draws=_SIMULATIONS)
        tally.repetitions += 1
        for metric in CORRECTED:
            here = truth["train"][metric]
            tally.add(metric, getattr(pair.train, metric), here)
            tally.add(f"delta.{metric}", getattr(pair.delta, metric), here - truth["nontrain"][metric])
    return tally


def draw_areas(scenario: Scenario, *, rng: np.random.Generator) -> tuple[float, float]:
    """Return how often the interval of the delta of `auroc_all` holds it, and how often its test rejects."""
    areas, errors, truth = [], [], []
    for arm in ARMS:
        chances = [scenario.chances(arm, present=present) for present in (True, False)]
        levels = [
            score_levels_of_all(rng.multinomial(scenario.patients, share, size=_DRAWS).astype(float))
            for share in chances
        ]
        areas.append(auroc_of_counts(*levels))
        errors.append(measure_error(*levels))
        truth.append(true_metrics(scenario, arm)["auroc_all"])
    error, value = difference_error(*errors), areas[0] - areas[1]
    low, high = error.interval(value, floor=-1.0)
    delta = truth[0] - truth[1]
    holds = (low - 1e-9 <= delta) & (delta <= high + 1e-9)
    return float(holds.mean()), float((error.p_value(value) <= ALPHA).mean())


def main() -> None:
    """Print coverage by metric, size and effect."""
    arguments = read_arguments(__doc__)
    options = vars(arguments)
    rng = np.random.default_rng(arguments.seed)
    for size in SIZES:
        found = [(one, *draw_areas(one, rng=rng)) for one in scenarios((size,))]
        rejected = max(share for one, _, share in found if one.effect != "leak")
        print(f"auroc_all, {size} a cell: delta covered {min(c for _, c, _ in found):.1%}, rejected {rejected:.1%}")
    means = [Scenario(size, 0.4, effect, "spread") for size, effect in itertools.product(SIZES, _EFFECTS)]
    for scenario, tally in zip(means, simulate_all(simulate_means, means, **options), strict=True):
        _print_tally(f"mean, {scenario.patients} a cell, {scenario.effect}", tally)
    corrections = [
        Correction(judge, Scenario(size, 0.4, effect, "spread"))
        for judge, size, effect in itertools.product(_JUDGES, SIZES, _EFFECTS)
        # Each takes as long as three of the others: without an effect, the smallest cohorts of one judge alone.
        if effect == "leak" or (judge, size) == ("lexicon", SIZES[0])
    ]
    for case, tally in zip(corrections, simulate_all(simulate_corrections, corrections, **options), strict=True):
        scenario = case.scenario
        _print_tally(f"corrected, {case.judge}, {scenario.patients} a cell, {scenario.effect}", tally)


def _print_tally(name: str, tally: Tally) -> None:
    shares = ", ".join(
        f"{metric} {tally.coverage(metric):.1%} of {tally.given[metric]}"
        for metric in tally.given
        if tally.given[metric] >= 20
    )
    print(f"{name}: {shares}", flush=True)


if __name__ == "__main__":
    main()
