"""Two runs where nobody was held out: what training added in each, less what the control model tells."""

from dataclasses import replace

import pytest

from clinaudit.audit.measures.disclosure.metrics import Reading
from clinaudit.audit.results.comparison.disclosure import compare_readings


def readings(stated: int, *, control: int | None, cell: int = 40) -> list[Reading]:
    """Return patients of whom so many with the diagnosis are said to have it, and nobody without."""
    told = ("not_mentioned", "positive")
    return [
        Reading(
            f"{present}{i}",
            "train",
            present,
            told[present and i < stated],  # type: ignore[arg-type]
            control=None if control is None else told[present and i < control],  # type: ignore[arg-type]
        )
        for present in (True, False)
        for i in range(cell)
    ]


def test_the_change_is_that_of_the_difference_from_the_control() -> None:
    members, delta = compare_readings(readings(30, control=10), readings(10, control=10), seed=0)
    assert (members.pairs, members.unpaired_a) == (80, 0)
    # Of those with it 3/4, then 1/4, are told; by the control 1/4 in both runs.
    sensitivity, area = delta["sensitivity"], delta["auroc_all"]
    assert (sensitivity.a.value, sensitivity.b.value, sensitivity.difference.value) == (0.5, 0.0, -0.5)
    assert area.difference.value == pytest.approx(-0.25)
    assert area.difference.confidence_high is not None
    assert area.difference.confidence_high < 0


def test_runs_without_a_control_have_nothing_to_compare_with() -> None:
    first = readings(30, control=10)
    without = [replace(reading, control=None) for reading in first]
    for before, after in ((without, without), (first, without)):
        assert compare_readings(before, after, seed=0)[1]["auroc_all"].difference.value is None
