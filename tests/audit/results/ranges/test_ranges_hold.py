"""Every exact number of a run lies in what is published of it, leaf by leaf, and its interval in the published one.

Generic: it walks both results files of random worlds, and of an audit. A new exact number fails here until it has a
published one, or a reason in `support.results.paired_leaves` why not.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.results.drawn_worlds import draw_world
from support.results.paired_leaves import Pair, holds, interval_holds, is_count, pair_leaves
from support.results.world_tally import decide, tally_of

from clinaudit.audit.results.ranges.results import derive
from clinaudit.audit.statistics.intervals import RESAMPLES, resampled_share
from clinaudit.reports.schema.results import to_json
from clinaudit.reports.tally.tally import publishable

#: In world 28 many sets are left out of whom most were judged all the same.
SEEDS = (*range(10), 28)
#: Of these one has one diagnosis; in the others few patients stand behind means over diagnoses.
RESAMPLED = ((0, 1), (4, 2), (28, 2))
#: Decimals to which ends are rounded outwards.
PLACES = 4


@cache
def documents_of(seed: int, *, diagnoses: int | None = None, resamples: int = 4) -> tuple[str, str]:
    """Return the exact and the published results of a world."""
    tally = decide(tally_of(draw_world(np.random.default_rng(seed), diagnoses=diagnoses), resamples=resamples))
    return to_json(derive(tally)), to_json(derive(publishable(tally)))


def numbers_of(exact: dict[str, Any], published: dict[str, Any]) -> list[Pair]:
    """Return the pairs of numbers; each has a counterpart, and no evidence is published."""
    pairs = list(pair_leaves(exact, published))
    assert [path for path in pairs if isinstance(path, str)] == []
    return [pair for pair in pairs if isinstance(pair, Pair)]


@pytest.fixture(scope="module", params=SEEDS)
def numbers(request: pytest.FixtureRequest) -> list[Pair]:
    exact, published = map(json.loads, documents_of(request.param))
    return numbers_of(exact, published)


def test_every_exact_number_lies_in_its_class_or_range(numbers: list[Pair]) -> None:
    assert sum(is_count(pair.published) for pair in numbers) > 400
    assert sum(isinstance(pair.published, dict) and not is_count(pair.published) for pair in numbers) > 100
    assert [pair for pair in numbers if not holds(pair, intervals=False)] == []


def test_the_intervals_of_the_rules_lie_in_theirs(numbers: list[Pair]) -> None:
    decided = [pair for pair in numbers if pair.path.startswith("decision/") and isinstance(pair.exact, dict)]
    # Of values per 1,000 queries the exact interval is a bootstrap's, which may be wider than that of the bins.
    judged = [pair for pair in decided if (pair.exact.get("confidence_high") or 2) <= 1]
    assert judged
    assert [pair for pair in judged if not interval_holds(pair)] == []


def test_every_range_is_rounded_outwards(numbers: list[Pair]) -> None:
    ranges = [p.published for p in numbers if isinstance(p.published, dict) and p.published.get("value", 0) is None]
    names = ("low", "high", "confidence_low", "confidence_high")
    ends = [end for range_ in ranges for name in names if (end := range_[name]) is not None]
    assert len(ends) > 100
    assert [end for end in ends if abs(end - round(end, PLACES)) > 1e-12] == []


@pytest.mark.parametrize(("seed", "diagnoses"), RESAMPLED)
def test_every_number_of_a_world_is_held_with_its_interval(seed: int, diagnoses: int) -> None:
    assert_held(*map(json.loads, documents_of(seed, diagnoses=diagnoses, resamples=RESAMPLES)), at_least=1400)


@pytest.mark.slow
def test_every_number_of_an_audit_is_held(audited: Path) -> None:
    exact, published = (json.loads((audited / name).read_text()) for name in ("evidence/results.json", "results.json"))
    assert_held(exact, published, at_least=800)


def test_all_evidence_of_a_world_is_filled_and_none_is_published() -> None:
    exact, published = (set(re.findall(r'evidence": (.)', text)) for text in documents_of(0))
    assert (exact, published) == ({"{"}, {"n"})


def assert_held(exact: dict[str, Any], published: dict[str, Any], *, at_least: int) -> None:
    pairs = numbers_of(exact, published)
    assert len(pairs) >= at_least
    assert [pair for pair in pairs if not holds(pair)] == []


def test_what_has_no_counterpart_or_lies_outside_is_found() -> None:
    exact, published = map(json.loads, documents_of(0))
    tier = next(iter(exact["memorization"]))
    exact["memorization"][tier]["train"]["new_patients"] = 3
    published["memorization"][tier]["train"]["evidence"] = {"generations": 3}
    exact["completeness"]["generations"]["planned"]["low"] += 2000
    exact["completeness"]["generations"]["planned"]["high"] += 2000
    found = list(pair_leaves(exact, published))
    paths = [path for path in found if isinstance(path, str)]
    assert sorted(paths) == [f"memorization/{tier}/train/{name}" for name in ("evidence", "new_patients")]
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
