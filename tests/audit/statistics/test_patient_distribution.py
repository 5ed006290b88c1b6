"""The distribution of a fraction over patients, against counts by hand and resampling."""

import numpy as np
import pytest

from clinaudit.audit.statistics.patient_distribution import bin_fractions, describe_distribution, tail_size


def test_distribution_by_hand():
    fractions = {"a": [0.0], "b": [0.0, 0.02], "c": [0.1], "d": [0.5], "e": [0.6], "f": [1.0]}
    spread = describe_distribution(fractions, seed=0)
    bins = bin_fractions(np.array([np.mean(own) for own in fractions.values()]))
    # b's mean is 0.01, which is not above 0.01.
    assert bins == [((0, 0), 1), ((0, 0.01), 1), ((0.01, 0.1), 1), ((0.1, 0.5), 1), ((0.5, 1), 2)]
    assert next(item.fraction for item in spread.deciles if item.share == 0.5) == pytest.approx(0.3)
    assert spread.worst_tenth.value == 1.0
    assert spread.worst_tenth.n == 1


def test_worst_tenth_and_its_interval():
    values = np.random.default_rng(0).beta(1, 5, 205)
    spread = describe_distribution({str(i): [value] for i, value in enumerate(values)}, seed=1)
    assert tail_size(205) == 21
    assert spread.worst_tenth.value == pytest.approx(np.sort(values)[-21:].mean())
    rng = np.random.default_rng(2)
    drawn = [np.sort(rng.choice(values, 205))[-21:].mean() for _ in range(2000)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    assert (spread.worst_tenth.low, spread.worst_tenth.high) == pytest.approx((low, high), abs=0.015)


def test_a_distribution_does_not_depend_on_the_order_of_patients():
    fractions = {str(i): [i / 50] for i in range(50)}
    assert describe_distribution(fractions, seed=3) == describe_distribution(dict(reversed(fractions.items())), seed=3)


@pytest.mark.parametrize("fractions", [{}, {"a": []}])
def test_nobody_has_no_distribution(fractions: dict[str, list[float]]):
    with pytest.raises(ValueError, match="at least one"):
        describe_distribution(fractions, seed=0)
