"""Means over samples, and two systems compared: worked by hand."""

import numpy as np
import pytest
from support.pii.plain_samples import prediction_of, sample_of

from clinaudit.audit.pii.benchmark.scoring.sample_means import (
    compare_systems,
    mean_difference,
    share_over_samples,
)
from clinaudit.audit.pii.benchmark.scoring.score_document import describe_scores
from clinaudit.audit.pii.benchmark.scoring.scores import gold_of, score_predictions

SAMPLES = [
    gold_of(sample)
    for sample in (
        sample_of("Ann is 41.", {"Ann": "nickname", "41": "age"}, needed=("41",), sample="q1"),
        sample_of("Bob is 25.", {"Bob": "nickname", "25": "age"}, needed=("Bob", "25"), sample="q2"),
        sample_of("Eva is 33.", {"Eva": "nickname", "33": "age"}, sample="q3"),
    )
]


def test_means_and_the_errors_of_masking_over_the_samples_that_can_have_them() -> None:
    rows = score_predictions(
        SAMPLES,
        [
            prediction_of(sample="q1", masked=["Ann", "41"]),
            prediction_of(sample="q2", masked=["Bob"]),
            prediction_of(sample="q3", masked=["Eva"]),
        ],
    )
    task = describe_scores(rows, samples=3, seed=0)["systems"]["rules"]["masking"]
    # F1: 2/3; nothing was to be masked, and something was: 0; 2/3.
    assert task["strict_f1"]["f1"] == pytest.approx(4 / 9)
    assert task["strict_f1"]["precision"] == pytest.approx(0.5)
    assert task["answers"] == {"given": 3, "unparsed": 0, "missing": 0}
    assert task["exact"]["value"] == 0
    # q3 needs nothing: 1 and 1/2. q2 has nothing to mask: 0 and 1/2.
    assert (task["over_masking"]["value"], task["over_masking"]["samples"]) == (pytest.approx(0.75), 2)
    assert (task["leak"]["value"], task["leak"]["samples"]) == (pytest.approx(0.25), 2)


def test_systems_are_compared_on_the_same_samples() -> None:
    rows = score_predictions(
        SAMPLES,
        [prediction_of(sample=f"q{number}", system="a", query_related=["41", "Bob", "25"]) for number in (1, 2, 3)]
        + [prediction_of(sample=f"q{number}", system="b", query_related=[]) for number in (1, 2, 3)],
    )
    by_system = {system: [row for row in rows if row.system == system] for system in ("a", "b")}
    (compared,) = compare_systems(by_system, seed=0)
    # a: 1/2, 4/5 and 0; b: 0, 0 and 1 (two empty sets).
    assert compared.strict_f1.value == pytest.approx((0.5 + 0.8 - 1) / 3)
    assert (compared.only_first_exact, compared.only_second_exact, compared.p_value) == (0, 1, 1)
    with pytest.raises(ValueError, match="in one order"):
        compare_systems(by_system | {"b": by_system["b"][:2]}, seed=0)


def test_samples_of_several_values_are_resampled_whole() -> None:
    # Two samples: all of 99 right, and the only one wrong.
    sums, counts = np.array([99.0, 0.0]), np.array([99, 1])
    share = share_over_samples(sums, counts, seed=0)
    assert (share.value, share.low, share.high, share.n) == (0.99, 0, 1, 2)
    assert share_over_samples(np.zeros(1), np.zeros(1, dtype=np.int64), seed=0).value is None
    nothing = mean_difference(np.zeros(2), np.zeros(2), seed=0)
    assert nothing.value == 0
    assert nothing.low is not None
    assert nothing.low < -0.8  # two samples cannot rule much out
