"""A difference that is published as a band still says how far chance may reach."""

import numpy as np
import pytest

from clinaudit.audit.disclosure.metrics import OUTCOMES
from clinaudit.audit.disclosure.readings import Reading
from clinaudit.audit.disclosure.train_delta import measure_disclosure
from clinaudit.reports.schema.disclosure import DisclosurePair
from clinaudit.reports.schema.estimate import ARMS
from clinaudit.reports.suppression.disclosure import suppress_pair


def measured(rng: np.random.Generator, *, cell: int, rates: tuple[float, float]) -> DisclosurePair:
    """A pair whose patients are stated to have the diagnosis at these rates (with, without), and else unmentioned."""
    readings = []
    for arm in ARMS:
        for present, rate in zip((True, False), rates, strict=True):
            for number in range(cell):
                outcome = OUTCOMES[3] if rng.random() < rate else OUTCOMES[1]
                readings.append(
                    Reading(patient_id=f"{arm}{present}{number}", arm=arm, present=present, outcome=outcome)
                )
    return measure_disclosure(readings, prevalence=0.3, seed=0, resamples=50)


@pytest.mark.parametrize("cell", [11, 40, 100])
def test_the_range_with_chance_holds_the_interval_that_is_hidden(cell: int) -> None:
    rng = np.random.default_rng(cell)
    seen = 0
    for _ in range(30):
        pair = measured(rng, cell=cell, rates=(rng.uniform(0, 0.3), rng.uniform(0, 0.1)))
        assert pair.delta is not None
        whole = pair.delta.auroc_all
        published = suppress_pair(pair, set_count=cell, prevalence=None).delta
        assert published is not None
        shown = published.auroc_all
        if shown.value is not None or shown.low is None:
            assert (shown.confidence_low, shown.confidence_high) == (None, None)
            continue
        seen += 1
        assert shown.confidence_low is not None
        assert shown.confidence_high is not None
        assert None not in (whole.low, whole.high, shown.high)
        assert shown.confidence_low <= whole.low  # type: ignore[operator]
        assert shown.confidence_high >= whole.high  # type: ignore[operator]
    assert seen >= (0 if cell == 11 else 10)


def test_it_is_made_of_published_numbers_alone() -> None:
    pair = measured(np.random.default_rng(1), cell=40, rates=(0.2, 0.05))
    published = suppress_pair(pair, set_count=40, prevalence=None)
    assert published.delta is not None
    shown = published.delta.auroc_all
    assert shown.low is not None
    assert published.detectable_delta is not None
    assert shown.confidence_low == pytest.approx(shown.low - 0.83 * published.detectable_delta)
    # A multiple of 0.05: it tells no more than that.
    assert published.detectable_delta * 20 == pytest.approx(round(published.detectable_delta * 20))
