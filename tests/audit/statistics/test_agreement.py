"""Agreement of raters, by hand and by the literature."""

import numpy as np
import pytest

from clinaudit.audit.statistics.agreement import kappa_of, observed_agreement


@pytest.mark.parametrize(
    ("counts", "observed", "kappa"),
    [
        ([[2, 0], [0, 2]], 1.0, 1.0),
        ([[2, 0], [1, 1], [0, 2], [1, 1]], 0.5, 0.0),
        # An answer that nobody gives changes nothing.
        ([[2, 0, 0], [0, 2, 0]], 1.0, 1.0),
        # All answers alike: nothing to agree on beyond chance.
        ([[3], [3]], 1.0, None),
        ([[3, 0], [3, 0]], 1.0, None),
        # Fleiss 1971 as Wikipedia works it: ten items, fourteen raters, five answers.
        (
            [
                [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
                [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
            ],
            0.378,
            0.210,
        ),
    ],
)  # fmt: skip
def test_agreement(counts, observed, kappa):
    table = np.array(counts, dtype=np.int64)
    assert observed_agreement(table) == pytest.approx(observed, abs=5e-4)
    assert kappa_of(table) == (None if kappa is None else pytest.approx(kappa, abs=5e-4))


def test_without_an_item_there_is_no_kappa():
    assert kappa_of(np.empty((0, 2), dtype=np.int64)) is None
