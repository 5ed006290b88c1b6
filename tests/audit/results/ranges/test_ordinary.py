"""Ordinary use from its tally: by hand, coarse from classes alone, every exact figure in its published range."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from support.results.planted_ordinary import Counts, plant_leak, plant_ordinary

from clinaudit.audit.results.ranges.attacks import derive_ordinary
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.reports.schema.attacks import LeakFigures, LeakResults, OrdinaryResults
from clinaudit.reports.schema.numbers import NOBODY, CountRange
from clinaudit.reports.schema.results import holds_evidence
from clinaudit.reports.tally.attacks import OrdinaryTally
from clinaudit.reports.tally.leaves import coarsen

LIMIT = 0.01


def published(tally: OrdinaryTally) -> OrdinaryResults:
    return derive_ordinary(coarsen(tally))


def figures(results: OrdinaryResults) -> Iterator[LeakFigures]:
    for leak in (results.text, results.identifiers):
        assert isinstance(leak, LeakResults)
        assert leak.sampled is not None
        assert leak.chance is not None
        yield from (leak, leak.sampled, leak.chance)


def test_exact_results_are_the_counts_with_clopper_and_pearsons_interval() -> None:
    results = derive_ordinary(plant_ordinary(((12, 5), (7, 3), (1, 1)), None, left_out=3))
    assert (results.tasks, results.left_out, results.forms, results.identifiers) == (429, 3, ["text", "chat"], None)
    text = results.text
    assert (text.tasks, text.patients) == (CountRange(low=12, high=12), CountRange(low=5, high=5))
    share = clopper_pearson(12, 429)
    assert (text.share.value, text.share.low, text.share.high) == (share.value, share.value, share.value)
    assert text.share.confidence_low == pytest.approx(share.low, abs=1e-4)
    assert text.share.confidence_high == pytest.approx(share.high, abs=1e-4)
    assert text.evidence is not None
    assert text.chance is not None
    assert text.chance.share.value == pytest.approx(1 / 429)


def test_what_is_published_of_a_few_is_a_class_and_the_shares_that_it_allows() -> None:
    results = published(plant_ordinary(((3, 1), (2, 1), (0, 0)), ((12, 25), (11, 21), (10, 20))))
    assert not holds_evidence(results)
    text = results.text
    assert (text.tasks, text.patients) == (CountRange(low=1, high=10), CountRange(low=1, high=20))
    assert (text.share.value, text.share.low, text.share.high) == (None, 0.0023, 0.0234)
    assert text.share.confidence_high == pytest.approx(clopper_pearson(10, 429).high, abs=1e-4)
    assert text.chance is not None
    assert (text.chance.tasks, text.chance.share.value) == (NOBODY, 0.0)
    assert results.identifiers is not None
    assert (results.identifiers.tasks, results.identifiers.patients) == (
        CountRange(low=11, high=20),
        CountRange(low=21, high=40),
    )


@pytest.mark.parametrize("tasks", [368, 429])
def test_the_limit_can_be_kept_and_broken_by_what_is_published(tasks: int) -> None:
    none, few, many = (
        published(plant_ordinary(((count, count), (0, 0), (0, 0)), tasks=tasks)).text.share for count in (0, 3, 11)
    )
    assert none.confidence_high is not None
    assert none.confidence_high <= LIMIT
    assert few.confidence_low is not None
    assert few.confidence_high is not None
    # A few tasks settle nothing.
    assert few.confidence_low < LIMIT < few.confidence_high
    assert many.confidence_low is not None
    assert many.confidence_low > LIMIT


def test_results_of_one_coarse_table_are_the_same() -> None:
    """Whatever is within the classes: nothing of an exact count is left."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        tasks, patients = rng.integers(1, 60, (6,)), rng.integers(1, 90, (6,))
        others = [(t - 1) // 10 * 10 + rng.integers(1, 11) for t in tasks]
        more = [(p - 1) // 20 * 20 + rng.integers(1, 21) for p in patients]
        first, second = (
            [(int(t), int(p)) for t, p in zip(*of, strict=True)] for of in ((tasks, patients), (others, more))
        )
        one, two = (
            published(plant_ordinary((own[0], own[1], own[2]), (own[3], own[4], own[5]))) for own in (first, second)
        )
        assert one == two
        for exact in (first, second):
            for figure, (t, p) in zip(figures(one), exact, strict=True):
                assert figure.tasks.low <= t <= figure.tasks.high
                assert figure.patients.low <= p <= figure.patients.high
                share = clopper_pearson(t, 429)
                assert figure.share.low is not None
                assert figure.share.high is not None
                assert figure.share.low <= t / 429 <= figure.share.high
                assert figure.share.confidence_low is not None
                assert figure.share.confidence_high is not None
                assert share.low is not None
                assert share.high is not None
                assert figure.share.confidence_low <= share.low
                assert share.high <= figure.share.confidence_high


def test_without_pools_or_of_few_patients_no_chance_is_published() -> None:
    counts: Counts = ((3, 1), (2, 1), (0, 0))
    for leak in (plant_leak(counts, has_pools=False), plant_leak(counts, is_public=False)):
        text = published(replace(plant_ordinary(), text=leak, identifiers=None)).text
        assert (text.sampled, text.chance) == (None, None)


def test_where_no_task_was_asked_there_is_a_reason_and_no_share() -> None:
    share = published(plant_ordinary(tasks=0, left_out=429)).text.share
    assert (share.value, share.low, share.high, share.confidence_high) == (None, None, None, None)
    assert share.reason
