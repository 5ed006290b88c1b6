"""Correction for the judge's errors: planted truth is found again, and a slow twin draws the same mixes."""

import random

import numpy as np
import pytest

from clinaudit.audit.corrected_disclosure import (
    JEFFREYS_PRIOR,
    METRICS,
    correct_disclosure,
    draw_class_prevalences,
    draw_error_rates,
)
from clinaudit.audit.exposure import Outcome
from clinaudit.audit.leakage import measure_disclosure
from clinaudit.audit.readings import Reading
from clinaudit.reports.judge_quality import VERDICT_CLASSES
from clinaudit.reports.results import Arm

#: Positive, negative, ambiguous, not mentioned; rows are the truth.
ERRORS = np.array([[0.8, 0.0, 0.0, 0.2], [0.1, 0.9, 0.0, 0.0], [0.3, 0.0, 0.7, 0.0], [0.0, 0.0, 0.0, 1.0]])
MATRIX = np.array([[65.0, 0, 1, 12], [7, 70, 1, 0], [18, 0, 58, 2], [0, 0, 1, 77]])


def readings(mixes: dict[tuple[Arm, bool], tuple[float, ...]], size: int, errors: np.ndarray) -> list[Reading]:
    """Return readings whose verdicts are as common as the mixes of truths and the errors make them."""
    rows = []
    for (arm, present), mix in mixes.items():
        counts = np.round(np.array(mix) @ errors * size).astype(int)
        verdicts: list[Outcome] = [
            verdict for verdict, n in zip(VERDICT_CLASSES, counts, strict=True) for _ in range(n)
        ]
        rows += [Reading(f"{arm}-{present}-{i}", arm, present, verdict) for i, verdict in enumerate(verdicts)]
    return rows


LEAK: dict[tuple[Arm, bool], tuple[float, ...]] = {
    ("train", True): (0.30, 0.05, 0.10, 0.55),
    ("train", False): (0.05, 0.15, 0.10, 0.70),
    ("nontrain", True): (0.10, 0.05, 0.10, 0.75),
    ("nontrain", False): (0.10, 0.15, 0.10, 0.65),
}


def test_planted_truth_is_found_where_the_raw_figure_is_off() -> None:
    errors = MATRIX / MATRIX.sum(axis=1, keepdims=True)
    rows = readings(LEAK, 2000, errors)
    raw = measure_disclosure(rows, prevalence=None, seed=0, resamples=10)
    corrected = correct_disclosure(rows, 100 * MATRIX, seed=0)
    assert corrected.nontrain is not None
    assert corrected.delta is not None
    assert raw.delta is not None
    assert raw.train.sensitivity.value == pytest.approx(0.2765, abs=0.01)
    assert corrected.train.sensitivity.value == pytest.approx(0.30, abs=0.01)
    assert corrected.train.ppv.value == pytest.approx(0.30 / 0.35, abs=0.02)
    assert corrected.nontrain.sensitivity.value == pytest.approx(0.10, abs=0.01)
    assert corrected.delta.sensitivity.value == pytest.approx(0.20, abs=0.015)
    assert abs((raw.delta.sensitivity.value or 0) - 0.20) > 0.02


def test_a_judge_that_never_errs_leaves_the_figures_as_they_are() -> None:
    rows = readings(LEAK, 200, np.eye(4))
    raw = measure_disclosure(rows, prevalence=None, seed=0, resamples=10)
    corrected = correct_disclosure(rows, np.eye(4) * 100_000, seed=0)
    for arm in ("train", "nontrain", "delta"):
        for metric in METRICS:
            before, after = getattr(getattr(raw, arm), metric), getattr(getattr(corrected, arm), metric)
            assert after.value == pytest.approx(before.value, abs=0.02), (arm, metric)
            # The interval over patients is not lost by the correction.
            assert after.high - after.low == pytest.approx(before.high - before.low, rel=0.35), (arm, metric)


def test_fewer_labelled_texts_widen_the_range() -> None:
    rows = readings(LEAK, 100, ERRORS)
    widths = []
    for scale in (1.0, 0.1):
        figure = correct_disclosure(rows, scale * MATRIX, seed=0).train.sensitivity
        assert figure.low is not None
        assert figure.high is not None
        widths.append(figure.high - figure.low)
    assert widths[1] > widths[0]


def test_a_twin_that_draws_one_generation_at_a_time_agrees() -> None:
    verdicts = np.array([[30.0, 10, 20, 40]])
    errors = draw_error_rates(MATRIX, np.random.default_rng(0), 400)
    drawn = draw_class_prevalences(verdicts, errors, np.random.default_rng(1))[:, 0]
    rng = random.Random(2)
    seen = [verdict for verdict, n in enumerate(verdicts[0]) for _ in range(int(n))]
    twin = []
    for matrix in errors[:120]:
        mix = [0.25] * 4
        for _ in range(40):
            truths = [JEFFREYS_PRIOR] * 4
            for verdict in seen:
                weights = [mix[truth] * matrix[truth, verdict] for truth in range(4)]
                truths[rng.choices(range(4), weights)[0]] += 1
            gammas = [rng.gammavariate(weight, 1) for weight in truths]
            mix = [value / sum(gammas) for value in gammas]
        twin.append(mix)
    assert drawn.mean(axis=0) == pytest.approx(np.mean(twin, axis=0), abs=0.03)
    assert drawn.std(axis=0) == pytest.approx(np.std(twin, axis=0), abs=0.02)


def test_error_rates_are_drawn_around_the_matrix() -> None:
    drawn = draw_error_rates(MATRIX, np.random.default_rng(0), 4000)
    assert drawn.sum(axis=-1) == pytest.approx(np.ones((4000, 4)))
    assert drawn.mean(axis=0) == pytest.approx(
        (MATRIX + JEFFREYS_PRIOR) / (MATRIX.sum(axis=1, keepdims=True) + 2), abs=0.01
    )


def test_unjudged_generations_are_left_out_as_in_the_raw_figures() -> None:
    rows = readings(LEAK, 100, ERRORS)
    unjudged = [Reading(f"u{i}", "train", True, "unjudged") for i in range(50)]
    assert correct_disclosure([*rows, *unjudged], MATRIX, seed=0) == correct_disclosure(rows, MATRIX, seed=0)


def test_the_seed_and_nothing_else_decides() -> None:
    rows = readings(LEAK, 60, ERRORS)
    shuffled = random.Random(1).sample(rows, len(rows))
    first = correct_disclosure(rows, MATRIX, seed=3)
    assert correct_disclosure(shuffled, MATRIX, seed=3) == first
    assert correct_disclosure(rows, MATRIX, seed=4) != first


def test_what_cannot_be_corrected_is_said() -> None:
    rows = readings(LEAK, 60, ERRORS)
    train_only = [row for row in rows if row.arm == "train"]
    without_absent = [row for row in train_only if row.present]
    for wrong in ([], without_absent, train_only):
        pair = correct_disclosure(wrong, MATRIX, seed=0)
        assert pair.delta is not None
        assert pair.nontrain is not None
        assert pair.nontrain.auroc_all.value is None
        assert pair.nontrain.auroc_all.reason
        assert pair.delta.ppv.value is None
    with pytest.raises(ValueError, match="twice"):
        correct_disclosure([*rows, rows[0]], MATRIX, seed=0)


def test_a_figure_says_how_many_generations_it_was_computed_on() -> None:
    unjudged = [Reading(f"u{i}", "train", True, "unjudged") for i in range(50)]
    pair = correct_disclosure([*readings(LEAK, 60, np.eye(4)), *unjudged], MATRIX, seed=0)
    assert pair.nontrain is not None
    assert pair.delta is not None
    assert [side.ppv.n for side in (pair.train, pair.nontrain, pair.delta)] == [120, 120, 240]
