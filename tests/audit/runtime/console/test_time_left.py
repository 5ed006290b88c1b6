"""The time left: what was said in recorded runs, and worked out by hand."""

import importlib
import json
from pathlib import Path

import pytest

from clinaudit.audit.runtime.console.progress import Expected, TimeLeft

_RECORDED = Path(__file__).parents[3] / "support" / "recorded_runs"


@pytest.mark.parametrize("path", sorted(_RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_from_the_first_tenth_on_what_was_said_was_right_within_a_factor_of_two(path, monkeypatch):
    """Runs of `benchmarks/time_left.py record` and, of the demo, what it printed every ten seconds."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[4] / "benchmarks"))
    recorded = json.loads(path.read_text(encoding="utf-8"))
    first, *others = importlib.import_module("time_left").factors_by_tenth(recorded)
    # In a short run a tenth is over before the corpus is read.
    assert first is not None or recorded["rows"][-1][0] < 60
    assert all(0.5 <= factor <= 2 for factor in [*others, 1.0 if first is None else first]), (first, others)


def test_a_model_has_a_pace_of_its_own_and_what_was_done_before_the_run_is_not_to_come():
    left = TimeLeft([Expected("generating", 100, by_model=True), Expected("matching notes", 50)], 0.0)
    assert left.left(0.0) == 150
    # Nine tenths were generated in an earlier run; the rest takes ten times as long as where it was measured.
    left.begin("generating", 0.0, 0.1)
    left.end(100.0)
    assert left.left(100.0) == 50
