"""An audit with a control, drawn answers and everyday tasks, killed in every stage: the same bytes when it ends."""

import random
import signal
from collections.abc import Callable
from functools import partial

import polars as pl
import pytest
from support.runs.asked_again import few_patients, options_asked_again
from support.runs.command_line import command, kill_once, run_command, units

from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS

PAGES = ("results.csv", "report.html", "annex.html")
WHOLE = ("results.json", "run.json", "gate.json", *PAGES, *(f"evidence/{name}" for name in (*PAGES, "evidence.html")))
TABLES = sorted(SCHEMAS)

pytestmark = [pytest.mark.slow, pytest.mark.simulation]


def test_killed_while_it_asks_again_and_resumed_gives_the_same_bytes(tiny_demo, tmp_path):
    few = few_patients(tiny_demo, tmp_path / "corpus")
    options = [*options_asked_again(tiny_demo.model, tmp_path), "--draws", "1"]
    undisturbed, run = tmp_path / "undisturbed", tmp_path / "run"
    done = run_command(command(few, undisturbed, *options))
    assert done.returncode in (1, 8), done.stderr
    prompts = pl.read_parquet(undisturbed / "evidence" / "priors.parquet").filter(~pl.col("excluded"))
    likeliest, drawn = (prompts.filter(model="audited", draw=draw).height for draw in (0, 1))
    of_control = prompts.filter(model="control", role="target")
    assert of_control.filter(form="drawn").height == of_control.filter(form="text").height > 0
    by_control = prompts.filter(model="control").height
    generations = pl.read_parquet(undisturbed / "evidence" / "generations.parquet")
    # So few were never seen that the control is asked the same tasks.
    tasks, tasks_of_control = (generations.filter(role="nobody", model=model) for model in ("audited", "control"))
    assert tasks_of_control["prompt"].equals(tasks["prompt"])
    assert not tasks_of_control["text"].equals(tasks["text"])
    generations = generations.filter(role="target")
    texts = {
        row["draw"]: row["text"] for row in generations.filter(pl.col("prompt") == generations["prompt"][0]).to_dicts()
    }
    assert texts.keys() == {0, 1}
    answers, scores = units(undisturbed, "generations"), units(undisturbed, "scores")
    assert answers == likeliest + drawn + by_control
    assert by_control > 10 < scores
    # Where in each stage is drawn; each stage begins where the one before ends.
    rng = random.Random(30)
    stops: list[tuple[str, int]] = [
        ("generations", rng.randrange(2, likeliest)),
        ("generations", likeliest + rng.randrange(2, drawn)),
        ("scores", rng.randrange(2, scores // 4)),
        ("scores", scores // 4 + rng.randrange(2, scores // 4)),
        ("generations", answers - rng.randrange(2, by_control)),
        ("scores", scores // 2 + rng.randrange(2, scores // 4)),
    ]
    reached: list[Callable[[], bool]] = [
        *(partial(_has, run, table, least) for table, least in stops),
        (run / "evidence" / "membership.parquet").exists,
        partial(_has, run, "judgements", rng.randrange(2, units(undisturbed, "judgements") // 2)),
        (run / "evidence" / "results.csv").exists,
    ]
    for number, stop in enumerate(reached):
        assert not stop(), number
        assert kill_once(stop, command(few, run, *options)) == -signal.SIGKILL, number
        assert not (run / "manifest.json").exists()
    again = run_command(command(few, run, *options))
    assert again.returncode == done.returncode, again.stderr
    assert (units(run, "generations"), units(run, "scores")) == (answers, scores)
    for name in (*WHOLE, *(f"evidence/{table}.parquet" for table in TABLES)):
        assert (run / name).read_bytes() == (undisturbed / name).read_bytes(), name


def _has(run, table, least):
    return units(run, table) >= least
