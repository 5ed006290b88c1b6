"""Every number of the evidence lies in what is published of it: both files of a run, leaf by leaf.

A new exact number fails here until it has a published one, or a reason in `support.results.paired_leaves` why not. What
is published and follows from classes alone (shares above a threshold, sizes) is compared in test_ranges_hold.py.
"""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import binom
from support.results import world_results
from support.results.drawn_worlds import draw_world
from support.results.paired_leaves import Pair, holds, pair_leaves
from support.results.world_results import decide, measure

from clinaudit.audit.ranges.results import publish
from clinaudit.audit.statistics.intervals import RESAMPLES, resampled_share
from clinaudit.reports.exact.results import exact_to_json
from clinaudit.reports.schema.results import to_json
from clinaudit.reports.suppression.coarse import coarsen

#: Worlds 0 and 28 have one diagnosis; in 4 and 28 few patients stand behind means over diagnoses.
SEEDS = (0, 4, 28)


def documents_of(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    with (
        patch.object(world_results, "_DRAWS", RESAMPLES),
        patch.object(world_results, "_RESAMPLES", RESAMPLES),
    ):
        results = decide(measure(draw_world(np.random.default_rng(seed), diagnoses=1 if seed == 0 else 2)))
    return json.loads(exact_to_json(results)), json.loads(to_json(publish(coarsen(results))))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_number_of_a_world_is_held(seed: int) -> None:
    assert_held(*documents_of(seed), at_least=1400)


@pytest.mark.slow
def test_every_number_of_an_audit_is_held(audited: Path) -> None:
    exact, published = (json.loads((audited / name).read_text()) for name in ("evidence/results.json", "results.json"))
    assert_held(exact, published, at_least=800)


def assert_held(exact: dict[str, Any], published: dict[str, Any], *, at_least: int) -> None:
    pairs = list(pair_leaves(exact, published))
    assert [path for path in pairs if isinstance(path, str)] == []
    numbers = [pair for pair in pairs if isinstance(pair, Pair)]
    assert len(numbers) >= at_least
    assert [pair for pair in numbers if not holds(pair)] == []


def test_a_number_without_a_counterpart_is_found() -> None:
    exact, published = documents_of(SEEDS[0])
    tier = next(iter(exact["memorization"]))
    exact["memorization"][tier]["train"]["new_patients"] = 3
    exact["completeness"]["generations"]["planned"] += 2000
    found = list(pair_leaves(exact, published))
    assert [path for path in found if isinstance(path, str)] == [f"memorization/{tier}/train/new_patients"]
    outside = [pair.path for pair in found if isinstance(pair, Pair) and not holds(pair)]
    assert outside == ["completeness/generations/planned"]


@pytest.mark.parametrize(("successes", "trials"), [(0, 58), (1, 58), (4, 58), (57, 58), (58, 58), (20, 40), (3, 9)])
def test_a_bootstrap_of_a_share_ends_within_its_bounds(successes: int, trials: int) -> None:
    low, high = resampled_share(np.array([float(successes)]), np.array([float(trials)]))[:, 0]
    drawn = binom.ppf((0.025, 0.975), trials, successes / trials) / trials
    assert low <= drawn[0] <= drawn[1] <= high
    # By hand: of 58 with one failure, 36% of the resamples have none; and 2% have more than four (Poisson: 1.9%).
    if (successes, trials) == (57, 58):
        assert high == 1.0
        assert 53 / 58 < low < 55 / 58
