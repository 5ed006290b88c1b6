"""A small, seeded run of benchmarks/gate_power.py: how often the policies that ship pass and fail simulated models."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest


@pytest.mark.simulation
def test_power_of_the_default_policy():
    # A small run of benchmarks/gate_power.py, where 300 repetitions are reported.
    path = Path(__file__).parents[4] / "benchmarks" / "gate_power.py"
    spec = importlib.util.spec_from_file_location("gate_power", path)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    for leaking, verdict in ((False, "pass"), (True, "fail")):
        verdicts = benchmark.simulate_verdicts(
            patients=100, leaking=leaking, rng=np.random.default_rng(2), repetition_count=10
        )
        assert verdicts["default"][verdict] >= 8
        # 100 a cell are too few for a strict pass, and no fewer failures are found.
        assert verdicts["strict"]["pass"] == 0
        assert verdicts["strict"]["fail"] == verdicts["default"]["fail"]
        assert verdicts["research"]["fail"] <= verdicts["default"]["fail"]
