"""The time left: what was said in recorded runs, and worked out by hand."""

import json
from pathlib import Path

import pytest

from clinaudit.audit.runtime import console
from clinaudit.audit.runtime.console import Expected, Progress, TimeLeft

_RECORDED = Path(__file__).parents[3] / "support" / "recorded_runs"


def factors_by_tenth(recorded):
    """Return at 10%, 20%, ... 90% of the time what was said last over what was left; None where nothing was.

    Rows are seconds, stage, and the share of it that was done; a row without a stage begins the first and ends the run.
    """
    rows, whole = recorded["rows"], recorded["rows"][-1][0]
    first = next(place for place, (_, stage, _) in enumerate(rows) if not stage)
    last_end = rows[first][0]
    left = TimeLeft([Expected(**stage) for stage in recorded["expected"]], last_end)
    said, current = [(last_end, left.left(last_end))], ""
    for now, stage, share in rows[first + 1 : -1]:
        if stage != current:
            current = stage
            left.begin(stage, last_end)
        left.reach(share, now)
        if share == 1:
            left.end(now)
            current, last_end = "", now
        said.append((now, left.left(now)))
    for now in (whole * tenth / 10 for tenth in range(1, 10)):
        before = [(at, seconds) for at, seconds in said if at <= now and seconds is not None]
        # Time goes on since it was said.
        yield max(0.0, before[-1][1] - (now - before[-1][0])) / (whole - now) if before else None


@pytest.mark.parametrize("path", sorted(_RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_from_the_first_tenth_on_what_was_said_was_right_within_a_factor_of_two(path):
    """What `--progress json` told of runs, and of the demo, what it printed every ten seconds."""
    recorded = json.loads(path.read_text(encoding="utf-8"))
    first, *others = factors_by_tenth(recorded)
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


def test_what_is_loaded_before_the_first_unit_is_not_to_come_again(monkeypatch, capsys):
    clock = 0.0
    monkeypatch.setattr(console.time, "monotonic", lambda: clock)
    progress = Progress(form="json")
    progress.expect([Expected("generating", 100.0)])
    with progress.stage("generating", total=100, unit="answers") as advance:
        # A model that loads for 990 s before the first answer, then a second an answer.
        for clock in (990.0, *(float(second) for second in range(991, 1030))):  # noqa: B007
            advance(1)
    *rows, _ = map(json.loads, capsys.readouterr().err.splitlines())
    known = [row for row in rows if row["left"] is not None]
    assert known
    # By 1,029 s for 40 of 100 it would be 1,543 s.
    assert known[-1]["left"] == pytest.approx(100 - known[-1]["done"])
