"""The whole disclosure stage with a served judge: annotation, verdicts, faults, kill and resumption.

The server is a fake one; `test_vllm.py` asks vLLM's own. The labelled texts that it reads first are few: those that
ship are hundreds, and tests of the judge read them.
"""

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from support.runs.command_line import PROGRAM, kill_once, run_command, units
from support.servers import fault_server
from support.servers.fault_server import MODEL, STATED, says, status

pytestmark = pytest.mark.slow

OPTIONS = ["--quiet", "--max-new-tokens", "60", "--tier", "encounter", "--tier", "encounter_cc", "--ngram", "20"]
OPTIONS += ["--engine", "transformers", "--patients-per-cell", "3", "--diagnosis=depression", "--diagnosis=hiv"]
OPTIONS += ["--no-everyday", "--no-score", "--judge-labels", str(Path(__file__).with_name("few_labels.jsonl"))]


@pytest.fixture(scope="module")
def running():
    with fault_server.running() as server:
        yield server


@pytest.fixture
def server(running):
    """The one server, with no fault planted and nothing asked."""
    running.seen.clear()
    running.faults, running.always = {}, None
    return running


class Undisturbed(NamedTuple):
    """An audit that nothing disturbs, and what the server was asked by it."""

    run: Path
    seen: list[Any]


@pytest.fixture(scope="module")
def undisturbed(running, tiny_demo, tmp_path_factory):
    run = tmp_path_factory.mktemp("judged") / "run"
    running.seen.clear()
    running.faults, running.always = {}, None
    arguments = command(tiny_demo.model, tiny_demo.corpus, run, running.url)
    # In this process: those that are killed are others, in which sets have another order.
    assert run_command(arguments).returncode in (1, 8)
    return Undisturbed(run, list(running.seen))


@pytest.fixture
def corpus_without_labels(tiny_demo, tmp_path):
    """The tiny corpus without its table of diagnoses: the judge has to read the notes."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name in ("notes.jsonl", "patients.csv"):
        (corpus / name).write_bytes((tiny_demo.corpus / name).read_bytes())
    return corpus


def command(model, corpus, run, url, *options, name=MODEL):
    judge = ["--judge", "openai", "--served-url", url, "--served-model", name]
    return [PROGRAM, "audit", str(model), str(corpus), "--out", str(run), *OPTIONS, *judge, *options]


def judged(run):
    return pl.read_parquet(run / "evidence" / "judgements.parquet")


def test_histories_and_generations_are_judged_and_the_report_says_by_whom(
    server, tiny_demo, corpus_without_labels, tmp_path
):
    run = tmp_path / "run"
    key = tmp_path / "key"
    key.write_text("hunter2\n")
    key.chmod(0o600)
    done = run_command(command(tiny_demo.model, corpus_without_labels, run, server.url, "--served-key-file", str(key)))
    assert done.returncode in (1, 8), done.stderr
    assert done.stderr == ""
    notes = {}
    for row in map(json.loads, (corpus_without_labels / "notes.jsonl").read_text(encoding="utf-8").splitlines()):
        notes.setdefault(row["patient_id"], []).append(row["text"])
    annotations = pl.read_parquet(run / "evidence" / "annotations.parquet")
    assert annotations.height > 0
    for row in annotations.iter_rows(named=True):
        stated = [re.search(STATED[row["diagnosis"]], note) for note in notes[row["patient_id"]]]
        assert row["present"] == any(stated)
    generations = pl.read_parquet(run / "evidence" / "generations.parquet")
    texts = dict(zip(generations["generation_id"], generations["text"], strict=True))
    judgements = judged(run)
    assert set(judgements["judge"]) == {"openai"}
    for row in judgements.iter_rows(named=True):
        stated = row["diagnosis"] == "depression" and "depression" in texts[row["generation_id"]]
        assert row["diagnosis_mentioned"] == stated
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    assert results["corpus"]["labels"] == "openai"
    assert any(MODEL in warning and "judges the generations" in warning for warning in results["warnings"])
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert (record["judge"]["kind"], record["judge"]["model"]) == ("openai", MODEL)
    usage = json.loads((run / "evidence" / "judge_usage.json").read_text(encoding="utf-8"))
    assert usage["calls"] == len(server.seen)
    assert usage["prompt_tokens"] == 100 * usage["calls"]
    for path in run.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert b"hunter2" not in content, path
            if run / "evidence" not in path.parents:
                assert server.url.encode() not in content, path
    keys = {value for headers, _ in server.seen for name, value in headers.items() if name.lower() == "authorization"}
    assert keys == {"Bearer hunter2"}
    assert run_command([PROGRAM, "verify", str(run)]).returncode == 0


def test_faults_leave_units_undone_or_unjudged_and_a_resumed_run_asks_the_rest_only(
    undisturbed, server, tiny_demo, tmp_path
):
    run, other = tmp_path / "run", undisturbed.run
    asked = pl.read_parquet(other / "evidence" / "generations.parquet").filter(pl.col("diagnoses").list.len() > 0)
    texts = asked["text"].unique(maintain_order=True).to_list()
    undone, unjudged = texts[3], texts[5]
    unread = next(
        fault_server.first_note(body)
        for _, body in undisturbed.seen
        if body["response_format"]["json_schema"]["name"] == "annotations"
    )
    refusal = says("I would rather not say.")
    server.faults = {undone: [status(503)] * 200, unjudged: [refusal] * 200, unread: [refusal] * 2}
    arguments = command(tiny_demo.model, tiny_demo.corpus, run, server.url)
    done = run_command(arguments)
    assert done.returncode == 4
    assert done.stderr.startswith("error[INCOMPLETE]: ")
    assert done.stderr.count("\n") == 1
    assert not (run / "manifest.json").exists()
    server.faults[undone] = []
    before = len(server.seen)
    assert run_command(arguments).returncode in (1, 8)
    again = {fault_server.first_note(body) for _, body in server.seen[before:]}
    assert again == {undone}
    first, second = judged(other), judged(run)
    generations = pl.read_parquet(run / "evidence" / "generations.parquet")
    silent = set(generations.filter(pl.col("text") == unjudged)["generation_id"])
    assert second.filter(pl.col("generation_id").is_in(silent))["invalid_reason"].is_not_null().all()
    rest = ~pl.col("generation_id").is_in(silent)
    assert first.filter(rest).equals(second.filter(rest))
    # The labels are the table's; what the judge could not read for the prompts is said.
    for root, expected in ((other, False), (run, True)):
        warnings = json.loads((root / "results.json").read_text(encoding="utf-8"))["warnings"]
        assert any("no usable answer about their notes" in warning for warning in warnings) == expected


def test_killed_while_annotating_and_while_judging_and_resumed_gives_the_same_verdicts(
    undisturbed, server, tiny_demo, tmp_path
):
    run, other = tmp_path / "run", undisturbed.run
    arguments = command(tiny_demo.model, tiny_demo.corpus, run, server.url)
    stages: list[Callable[[], bool]] = [
        lambda: units(run, "answers", "judge.sqlite") >= 3,
        lambda: units(run, "judgements") >= 20,
    ]
    for reached in stages:
        assert kill_once(reached, arguments) == -signal.SIGKILL
    assert run_command(arguments).returncode in (1, 8)
    # Only what was in flight at a kill was asked twice.
    assert len(server.seen) <= len(undisturbed.seen) + 2 * 64
    for name in ("results.json", "evidence/results.csv", "evidence/evidence.html"):
        assert (run / name).read_bytes() == (other / name).read_bytes(), name
    for name in ("annotations", "judgements", "priors"):
        ours, theirs = (pl.read_parquet(root / "evidence" / f"{name}.parquet") for root in (run, other))
        assert ours.equals(theirs), name
    # Another judge is another audit.
    changed = run_command([*arguments[:-1], "judge-2"])
    assert changed.returncode == 2
    assert "--judge" in changed.stderr
