"""A real Ray cluster of two nodes on this machine, with TLS and a token: same results, killed workers, refusals."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support.cluster.nodes import Cluster, kill_node, start_node, two_nodes, wait_for, worker_pids
from support.cluster.shard_functions import double_and_record, fail_as_told, kill_once_at_work, workers_at
from support.packed_notes import pack_notes
from support.repeating_notes import QUIET
from support.runs.command_line import FAST, PROGRAM, command, run_command

from clinaudit.audit.measures.generation.stage import in_whole_batches
from clinaudit.audit.measures.memorization import patient_count
from clinaudit.audit.measures.memorization.patient_count import count_patients
from clinaudit.audit.measures.scoring import longest, plan_texts, score_notes
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner, ShardRunner, open_runner
from clinaudit.audit.runtime.model.audited_model import find_model
from clinaudit.audit.runtime.model.engine_in_use import EngineInUse
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import write_table
from clinaudit.audit.runtime.run.store import open_store
from clinaudit.errors import BadInputError, IncompleteError, UnsafeError, UsageError
from clinaudit.priors.corpus.corpus import read_corpus


@pytest.fixture(scope="module")
def cluster(secrets) -> Iterator[Cluster]:
    # Not imported here: Ray reads its settings when it is.
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    with two_nodes(secrets, secrets.folder) as both:
        yield both


@pytest.fixture
def runner(cluster, secure) -> Iterator[ShardRunner]:
    with open_runner(cluster.address) as opened:
        assert opened is not None
        yield opened


@pytest.mark.slow
def test_a_killed_worker_costs_its_shard_only(runner, tmp_path) -> None:
    ledger = tmp_path / "ledger"
    killer = threading.Thread(target=kill_once_at_work, args=(ledger, 3))
    killer.start()
    results = list(runner.map(double_and_record, ledger, range(12)))
    killer.join()
    assert results == [2 * index for index in range(12)]
    shards = [int(line.split()[0]) for line in ledger.read_text(encoding="utf-8").splitlines()]
    assert sorted(shards) == sorted([*range(12), 3])
    first, second = workers_at(ledger, 3)
    assert first != second


@pytest.mark.slow
def test_errors_come_through_in_our_words_and_leave_no_content_behind(runner, cluster) -> None:
    with pytest.raises(BadInputError, match="not this one") as ours:
        list(runner.map(fail_as_told, None, ["ours"]))
    assert ours.value.problems == ("a problem",)
    with pytest.raises(IncompleteError, match=r"ValueError at shard_functions\.py") as bug:
        list(runner.map(fail_as_told, None, ["bug"]))
    assert "SECRET" not in bug.value.render()
    with pytest.raises(IncompleteError, match="a shard ended 4 workers"):
        list(runner.map(fail_as_told, None, ["killed"]))
    with pytest.raises(UsageError, match="64 processors"):
        list(runner.map(fail_as_told, None, ["ours"], cpus=64))
    for directory in (cluster.head, cluster.other):
        for path in directory.rglob("*"):
            if path.is_file():
                assert b"SECRET-OF-A-PATIENT" not in path.read_bytes(), path.name


@pytest.mark.slow
def test_k_is_the_same_on_the_cluster(runner, monkeypatch) -> None:
    rng = np.random.default_rng(8)
    patients = [["".join(rng.choice(list("abcdé \n"), size=900)) for _ in range(3)] for _ in range(40)]
    notes = pack_notes(patients)
    texts = {patients[index][1][begin : begin + size] for index in range(40) for begin, size in ((3, 5), (50, 200))}
    monkeypatch.setattr(patient_count, "PART_BYTES", 10_000)
    texts = pl.Series(sorted(texts))
    assert count_patients(texts, notes, runner=runner).equals(count_patients(texts, notes, runner=LocalRunner(1)))


@pytest.mark.slow
@pytest.mark.simulation
def test_scores_and_samples_of_a_cluster_whose_worker_is_killed_have_the_same_bytes(
    runner, secrets, tiny_demo, tmp_path, monkeypatch
) -> None:
    options = EngineOptions(max_batch=4, threads=1)
    model = find_model(
        str(tiny_demo.model), engine="transformers", tokenizer=None, context_length=None, approved_hosts=(),
        options=options,
    )  # fmt: skip
    corpus, tokenizer = read_corpus(tiny_demo.corpus), ModelTokenizer(model.tokenizer_directory)
    few = pl.DataFrame({"role": "target", "patient_id": list(corpus.patients)[:8]})
    texts = plan_texts(few, corpus, tokenizer, context_length=model.context_length)
    prompts = [tuple(ids[: 20 + place % 7]) for place, ids in enumerate(texts["token_ids"].to_list())]
    draws = [
        GenerationRequest(f"k{place}", ids, "", 24, temperature=1.0, seed=place) for place, ids in enumerate(prompts)
    ]
    killed: set[int] = set()

    def kill_one() -> None:
        if not killed:
            killed.add(max(worker_pids(secrets)))
            os.kill(*killed, signal.SIGKILL)

    def ask(name: str, on: ShardRunner | None) -> tuple[bytes, dict[str, tuple[int, ...]]]:
        (tmp_path / name).mkdir()
        with (
            open_store(RunDirectory(tmp_path / name / "run")) as store,
            closing(EngineInUse(model, on, store)) as engine,
        ):
            if on is not None:
                add = store.add_scores
                monkeypatch.setattr(store, "add_scores", lambda scores: (add(scores), kill_one()))
            engine.require(longest(texts))
            scores, _ = score_notes(texts, engine, store, QUIET)
            drawn = {of.key: of.token_ids for of in engine.generate(list(in_whole_batches(draws, (), 4)))}
        write_table(tmp_path / name, "scores", scores)
        return (tmp_path / name / "scores.parquet").read_bytes(), drawn

    here, there = ask("here", None), ask("there", runner)
    assert len(killed) == 1
    assert not killed & worker_pids(secrets)
    assert len(here[1]) == len(draws) > 12
    assert there == here


@pytest.mark.slow
def test_an_audit_on_the_cluster_gives_the_same_bytes(audited, tiny_demo, cluster) -> None:
    before = {path.name for path in Path("/tmp").iterdir()}
    arguments = command(tiny_demo, cluster.run, *FAST, "--ray-address", cluster.address)
    on_cluster = run_command(arguments, environment=cluster.environment)
    assert on_cluster.stderr == ""
    assert not {name for name in {path.name for path in Path("/tmp").iterdir()} - before if "ray" in name}
    for name in ("results.json", "results.csv", "evidence/results.csv", "evidence/scores.parquet", "gate.json"):
        assert (cluster.run / name).read_bytes() == (audited / name).read_bytes()
    verdict = json.loads((cluster.run / "gate.json").read_text(encoding="utf-8"))["status"]
    assert on_cluster.returncode == {"fail": 1, "inconclusive": 8}[verdict]
    assert run_command([PROGRAM, "verify", str(cluster.run)]).returncode == 0
    record = json.loads((cluster.run / "run.json").read_text(encoding="utf-8"))
    assert "ray_address" not in json.dumps(record)


@pytest.mark.slow
def test_an_audit_that_would_send_phi_unprotected_is_refused(tiny_demo, cluster, tmp_path) -> None:
    """Each setting that may lack is named in `test_ray_security.py`."""
    arguments = command(tiny_demo, tmp_path / "run", *FAST, "--ray-address", cluster.address)
    refused = run_command(arguments, environment=cluster.environment | {"RAY_USE_TLS": "0"})
    assert refused.returncode == 5, refused.stderr
    assert re.fullmatch(r"error\[UNSAFE\]: .*Ray lacks RAY_USE_TLS=1.*\n", refused.stderr)


#: Ray reads a token once a process.
CONNECT = """
import sys
from clinaudit.audit.runtime.cluster.ray_runner import open_runner
from clinaudit.errors import UnsafeError
try:
    with open_runner(sys.argv[1]):
        pass
except UnsafeError as error:
    print(error.message)
"""


@pytest.mark.slow
def test_a_driver_with_another_token_is_refused(cluster, tmp_path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("not the token of this cluster")
    wrong.chmod(0o600)
    done = subprocess.run(
        [sys.executable, "-c", CONNECT, cluster.address],
        env=cluster.environment | {"RAY_AUTH_TOKEN_PATH": str(wrong)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "lets nobody in with this token" in done.stdout
    assert done.stderr == ""


@pytest.mark.slow
def test_files_that_others_may_read_are_refused(secrets, cluster, secure) -> None:
    secrets.folder.chmod(0o755)
    try:
        with pytest.raises(UnsafeError, match="--temp-dir"), open_runner(cluster.address):
            pass
    finally:
        secrets.folder.chmod(0o700)


@pytest.mark.slow
def test_a_node_that_joins_and_is_not_safe_is_given_nothing(secrets, cluster, runner, tmp_path) -> None:
    files, unsafe = secrets.folder / "unsafe", cluster.environment | {"RAY_USAGE_STATS_ENABLED": "1"}
    node = start_node(files, secrets.ip, unsafe, f"--address={cluster.address}")
    ledger = tmp_path / "ledger"
    try:
        wait_for(lambda: runner._room(1, gpu=False)[0] == 3, node)
        with pytest.raises(UnsafeError, match="lacks RAY_USAGE_STATS_ENABLED=0"):
            list(runner.map(double_and_record, ledger, [0, 1, 2, *range(4, 400)]))
    finally:
        kill_node(files)
        node.wait()
