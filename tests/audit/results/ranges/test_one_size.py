"""An arm has one size wherever it is counted, and nothing that is counted of it is more than that.

Over drawn worlds: the published results, and what each rule reads of them.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from support.results.drawn_worlds import draw_world
from support.results.random_worlds import World
from support.results.world_tally import decide, tally_of

from clinaudit.audit.results.ranges.results import derive
from clinaudit.reports.schema.attacks import QUERY_LIMITS
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tally.tally import publishable

SEEDS = range(8)


def published_of(seed: int) -> tuple[World, RunResults]:
    """Return a world in which the model refused nobody, so that every figure counts the same patients."""
    drawn = draw_world(np.random.default_rng(seed))
    world = replace(drawn, counts={name: 0 if name.endswith("/refused") else of for name, of in drawn.counts.items()})
    return world, derive(publishable(decide(tally_of(world, resamples=4))))


def counted(run: RunResults) -> Iterator[tuple[CountRange, CountRange]]:
    """Yield every part of an arm at a tier that is published, with the arm's size."""
    for tier, arms in run.memorization.items():
        for arm, summary in arms.items():
            size = summary.patients
            parts = [summary.hit_patients, summary.short, summary.empty]
            parts += [above.patients for above in summary.attributable_fraction.above]
            if summary.guard is not None:
                parts += [summary.guard.repeating_patients, summary.guard.ended_patients]
            if (queries := run.queries.get(tier, {}).get(arm)) is not None:
                parts += [queries.patients, *(queries.count(most) for most in QUERY_LIMITS)]
                parts += [of for most in QUERY_LIMITS if (of := queries.count(most, by_control=True)) is not None]
            if run.subgroups is not None:
                parts += [group.patients for group in run.subgroups.memorization.get(tier, {}).get(arm, ())]
            for part in parts:
                yield part, size
    for rule in [] if run.decision is None else run.decision.rules:
        read = rule.decided_on
        if read is not None and read.count is not None and read.patients is not None:
            yield read.count, read.patients
        if read is not None and read.chance is not None and read.chance_patients is not None:
            yield read.chance, read.chance_patients


@pytest.mark.parametrize("seed", SEEDS)
def test_no_part_of_an_arm_is_more_than_the_arm(seed: int) -> None:
    _, run = published_of(seed)
    pairs = list(counted(run))
    assert len(pairs) > 100
    assert [(part, size) for part, size in pairs if part.low > size.high or part.high > size.high] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_an_arm_has_one_size_wherever_it_stands(seed: int) -> None:
    world, run = published_of(seed)
    assert run.identifiers is not None
    for tier, arms in run.memorization.items():
        for arm, summary in arms.items():
            size = summary.patients
            assert run.identifiers.tiers[tier][arm].patients == size
            assert size.low <= world.value(world.patients(tier, arm)) <= size.high
            queries, prompts = run.queries.get(tier, {}).get(arm), run.prompts[tier][arm]
            if queries is not None and not prompts.broken.high:
                assert queries.patients == prompts.unbroken == size


def test_some_worlds_have_classes_that_add_up_to_more_than_their_arm() -> None:
    """Without such a world the test above would hold of anything."""
    exceeding = 0
    for seed in SEEDS:
        _, run = published_of(seed)
        for arms in run.queries.values():
            for of in arms.values():
                cells = [of.by_queries[name].high for name in of.by_queries]
                exceeding += sum(cells) > of.patients.high
    assert exceeding > 0
