"""How large pools are: as many patients of either split, the target left out."""

import pytest

from clinaudit.audit.statistics.pools import SPLITS, draw_pools


@pytest.mark.parametrize(
    ("train", "nontrain", "sizes"),
    [
        (40, 60, {"train": 39, "nontrain": 40, "nobody": 40}),
        (60, 40, {"train": 40, "nontrain": 39, "nobody": 40}),
        (50, 50, {"train": 49, "nontrain": 49, "nobody": 50}),
        (1, 1, {"train": 0, "nontrain": 0, "nobody": 1}),
        (9, 0, {"train": 0, "nontrain": 0, "nobody": 0}),
    ],
)
def test_pools_are_as_large_as_the_other_patients_allow(train, nontrain, sizes):
    pools = draw_pools({"train": train, "nontrain": nontrain}, seed=0)
    assert pools.size == sizes
    # Who is left out of a pool is replaced.
    assert all(len(pools.drawn[split]) >= sizes["nobody"] for split in SPLITS)
