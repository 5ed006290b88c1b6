"""The guard's account as it is published: classes, and a figure of text where enough patients are behind it."""

import pytest
from support.results.planted_memorization import memorization_of

from clinaudit.audit.ranges.memorization import publish_memorization
from clinaudit.reports.exact.memorization import Guard
from clinaudit.reports.exact.results import Results
from clinaudit.reports.schema.memorization import PublishedGuard
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.suppression.coarse import coarsen

PATIENTS = 150


def publish(*, exact: bool = False, **changes: int) -> PublishedGuard:
    summary = memorization_of(0.3, 0.1, 60, PATIENTS)
    guard: Guard | None = summary.guard
    assert guard is not None
    told = summary.model_copy(update={"guard": guard.model_copy(update=changes)})
    coarse = coarsen(Results(memorization={"encounter": {"train": told}}), exact=exact)
    published = publish_memorization(coarse.memorization["encounter"]["train"]).guard
    assert published is not None
    return published


def test_counts_are_classes_and_shares_their_ranges() -> None:
    guard = publish(repeating_patients=75, ended_patients=50, spared_patients=37)
    assert guard.repeating_patients == CountRange(low=61, high=80)
    assert guard.spared_patients == CountRange(low=21, high=40)
    # 21 to 40 that the second rule spares, and 1 to 20 others.
    assert guard.ended_patients == CountRange(low=22, high=60)
    assert guard.repeating_share.value is None
    assert guard.repeating_share.low is not None
    assert guard.repeating_share.low <= 75 / PATIENTS <= (guard.repeating_share.high or 0)
    exact = publish(exact=True, repeating_patients=75, ended_patients=50, spared_patients=37)
    assert exact.spared_patients == CountRange(low=37, high=37)


@pytest.mark.parametrize(("behind", "shown"), [(0, 42.0), (5, None), (50, 42.0), (145, None)])
def test_tokens_of_a_recitation_are_a_figure_of_text(behind: int, shown: float | None) -> None:
    assert publish(recitation_cut_patients=behind).recitation_tokens_cut == shown
    assert publish(exact=True, recitation_cut_patients=behind).recitation_tokens_cut == 41.5
