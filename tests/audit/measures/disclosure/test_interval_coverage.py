"""A small, seeded run of benchmarks/interval_coverage.py, whose figures docs/methods.md reports."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from clinaudit.audit.measures.disclosure.metrics import DISCLOSURE_METRICS


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    path = Path(__file__).parents[4] / "benchmarks" / "interval_coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its frozen records look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_truth_is_what_many_patients_show(coverage: ModuleType):
    scenario = coverage.Scenario(20_000, 0.4, "leak", "spread")
    readings = coverage.draw_readings(scenario, np.random.default_rng(0))
    told = [r.outcome == "positive" for r in readings if r.arm == "train" and r.present]
    assert np.mean(told) == pytest.approx(0.4 * 0.7, abs=0.01)
    assert scenario.chances("nontrain", present=True)[3] == pytest.approx(0.4 * 0.45)


@pytest.mark.parametrize(
    "effect", [*(pytest.param(of, marks=pytest.mark.simulation) for of in ("none", "prior")), "leak"]
)
def test_intervals_hold_the_truth_and_the_test_rarely_rejects_without_a_delta(coverage: ModuleType, effect: str):
    scenario = coverage.Scenario(40, 0.4, effect, "spread")
    tally = coverage.simulate_disclosure(scenario, repetitions=150, rng=np.random.default_rng(1), resamples=400)
    for metric in DISCLOSURE_METRICS:
        for name in (metric, f"delta.{metric}"):
            # 150 repetitions of an interval that holds 95% of the time: 89% or fewer come about once in 600.
            assert tally.coverage(name) > 0.89, name
        if effect != "leak" or metric == "mention_rate":
            assert tally.rejections(metric) < 0.11, metric
    if effect == "leak":
        assert tally.rejections("auroc_all") > 0.2


def test_shares_are_covered_whatever_the_outcome(coverage: ModuleType):
    for metric in coverage.EXACT:
        for scenario in coverage.scenarios((10, 40), (0.15, 0.7)):
            exact = coverage.enumerate_scenario(scenario, metric)
            assert exact.coverage > 0.92
            assert exact.delta_coverage > 0.93
            assert scenario.effect == "leak" or exact.rejections < 0.06


def test_an_interval_too_narrow_would_be_noticed(coverage: ModuleType):
    tally = coverage.simulate_memorization(
        coverage.Memorization(20, 0.05), repetitions=60, rng=np.random.default_rng(2)
    )
    assert tally.coverage("mean (bootstrap)") < 0.8
    assert tally.coverage("mean (gate's bounds)") > 0.95


def test_the_number_of_processes_changes_nothing(coverage: ModuleType):
    cases = [coverage.Memorization(20, 0.05), coverage.Memorization(20, 0.7)]
    one, two = (
        coverage.simulate_all(coverage.simulate_memorization, cases, repetitions=260, seed=3, processes=processes)
        for processes in (1, 2)
    )
    assert one == two
    assert [tally.repetitions for tally in one] == [260, 260]
