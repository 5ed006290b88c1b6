"""Where a cell holds few of one sex, its balance is judged by their numbers, so that the flag tells little of them."""

import numpy as np
import pytest

from clinaudit.audit.measures.cohorts import balance


@pytest.mark.parametrize(
    ("first", "second", "size", "flag"),
    [
        (0, 5, 20, "balanced"),
        (0, 6, 20, "poorly_matched"),
        (1, 10, 40, "balanced"),
        (0, 10, 39, "poorly_matched"),
        (3, 14, 100, "poorly_matched"),
        (0, 3, 3, "poorly_matched"),
    ],
)
def test_few_of_one_sex_are_judged_by_their_numbers(first: int, second: int, size: int, flag: str) -> None:
    cells = [np.zeros((size, 3)) for _ in range(4)]
    for cell, women in zip(cells, (first, second, first, second), strict=True):
        cell[:women, 1] = 1
    row = next(
        r for r in balance.measure_balance(cells) if r.contrast == "pos-train vs. neg-train" and r.covariate == "sex"
    )
    assert row.few
    assert row.flag == flag


def test_more_than_ten_of_both_sexes_are_judged_by_the_smd() -> None:
    cells = [np.zeros((40, 3)) for _ in range(4)]
    for cell, women in zip(cells, (11, 14, 11, 14), strict=True):
        cell[:women, 1] = 1
    row = next(
        r for r in balance.measure_balance(cells) if r.contrast == "pos-train vs. neg-train" and r.covariate == "sex"
    )
    assert not row.few
    assert row.flag == "imbalanced"
