"""Two verdict tables compared: the test that the gate decides diagnoses by."""

from itertools import product

import numpy as np
import pytest

from clinaudit.audit.measures.disclosure import OUTCOMES, compare_auroc_all, impute, measure_auroc, most_told

# Columns: negative, not mentioned, ambiguous, positive, unjudged; rows: with the diagnosis, without it.
LEAK = np.array([[0, 4, 1, 15, 0], [2, 16, 2, 0, 0]], dtype=np.float64)
NONE = np.array([[1, 17, 0, 2, 0], [1, 17, 0, 2, 0]], dtype=np.float64)


def test_auroc_by_hand():
    # Over all: 15 of 20 stated beat everybody; 5 undecided beat the 2 denied of 20 and tie with 18.
    assert measure_auroc("auroc_all", LEAK) == pytest.approx((15 * 20 + 5 * (2 + 9)) / 400)
    # Among mentions: 15 beat all 4; 1 ambiguous beats 2 and ties with 2.
    assert measure_auroc("auroc", LEAK) == pytest.approx((15 * 4 + 1 * (2 + 1)) / 64)
    assert measure_auroc("auroc_all", NONE) == 0.5
    assert np.isnan(measure_auroc("auroc", NONE * [[0, 1, 0, 0, 0]]))


def test_a_leak_is_told_and_no_leak_is_not():
    leak, none = compare_auroc_all(LEAK, NONE), compare_auroc_all(NONE, NONE)
    assert float(leak.p_value) < 1e-4
    assert none.p_value == pytest.approx(0.5)
    assert 0 < none.worst_high < 0.8875 - 0.5 < leak.worst_high


def test_many_tables_at_once_are_as_each_alone():
    both = compare_auroc_all(np.stack([LEAK, NONE]), np.stack([NONE, LEAK]))
    for place, pair in enumerate([(LEAK, NONE), (NONE, LEAK)]):
        assert [float(of[place]) for of in both] == pytest.approx([float(of) for of in compare_auroc_all(*pair)])


def test_no_reading_of_unjudged_answers_lies_beyond_the_worst_end():
    train, other = LEAK.copy(), NONE.copy()
    train[:, 4], other[:, 4] = (2, 1), (1, 2)
    worst = compare_auroc_all(train, other)
    tables = []
    for counts in (train, other):
        filled = []
        for choice in product(range(4), repeat=3):
            table = counts.copy()
            table[:, 4] = 0
            for status, outcome in zip(np.repeat([0, 1], counts[:, 4].astype(int)), choice, strict=True):
                table[status, outcome] += 1
            filled.append(table)
        tables.append(np.stack(filled))
    every = compare_auroc_all(tables[0][:, np.newaxis], tables[1][np.newaxis])
    assert float(worst.worst_high) == pytest.approx(float(every.worst_high.max()))


def test_most_told_is_the_upper_end_with_unjudged_answers_read_as_stated():
    train, other = LEAK.copy(), NONE.copy()
    train[0, 4] = 5
    assert most_told(LEAK, NONE) == pytest.approx(0.84, abs=0.02)
    assert most_told(train, other) == most_told(impute(train, leaking=True), other)
    assert most_told(train, other) > most_told(LEAK, NONE)
    assert most_told(np.zeros((2, 5)), NONE) is None


@pytest.mark.simulation
@pytest.mark.parametrize("alike", [0.0, 0.5, 0.9])
def test_where_training_adds_nothing_the_test_rejects_at_most_at_its_level(alike):
    """Both models guess: each states it of 60% of those who have it and of 30% of the others, often together."""
    rng, rounds, cell = np.random.default_rng(5), 1_000, 60
    tables = np.zeros((2, rounds, 2, len(OUTCOMES)))
    for status, share in enumerate((0.6, 0.3)):
        first, second = rng.random((2, rounds, cell)) < share
        second = np.where(rng.random((rounds, cell)) < alike, first, second)
        for model, told in enumerate((first, second)):
            tables[model, :, status, OUTCOMES.index("positive")] = told.sum(axis=1)
            tables[model, :, status, OUTCOMES.index("not_mentioned")] = cell - told.sum(axis=1)
    assert (compare_auroc_all(*tables).p_value <= 0.05).mean() <= 0.065
