"""A real Ray cluster of two nodes on this machine, with TLS and a token: same results, killed workers, refusals."""

import importlib.util
import json
import re
import threading
from pathlib import Path

import pytest
from support.cluster.nodes import kill_node, start_node, two_nodes, wait_for
from support.cluster.shard_functions import double_and_record, fail_as_told, gpus_seen, kill_once_at_work, workers_at
from support.runs.command_line import FAST, PROGRAM, command, run_command

from clinaudit.audit.runtime.cluster import open_runner
from clinaudit.errors import BadInputError, IncompleteError, UnsafeError, UsageError


@pytest.fixture(scope="module")
def cluster(secrets):
    # Not imported here: Ray reads its settings when it is.
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    with two_nodes(secrets, secrets.folder) as both:
        yield both


@pytest.fixture
def runner(cluster, secure):
    with open_runner(cluster.address) as opened:
        yield opened


@pytest.mark.slow
def test_a_killed_worker_costs_its_shard_only(runner, tmp_path):
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
def test_errors_come_through_in_our_words_and_leave_no_content_behind(runner, cluster):
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
@pytest.mark.simulation
def test_an_audit_on_the_cluster_gives_the_same_bytes(audited, tiny_demo, cluster):
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
def test_an_audit_that_would_send_phi_unprotected_is_refused(tiny_demo, cluster, tmp_path):
    """Each setting that may lack is named in `test_ray_security.py`."""
    arguments = command(tiny_demo, tmp_path / "run", *FAST, "--ray-address", cluster.address)
    refused = run_command(arguments, environment=cluster.environment | {"RAY_USE_TLS": "0"})
    assert refused.returncode == 5, refused.stderr
    assert re.fullmatch(r"error\[UNSAFE\]: .*Ray lacks RAY_USE_TLS=1.*\n", refused.stderr)


@pytest.mark.slow
def test_a_node_that_joins_and_is_not_safe_is_given_nothing(secrets, cluster, runner, tmp_path):
    files, unsafe = secrets.folder / "unsafe", cluster.environment | {"RAY_USAGE_STATS_ENABLED": "1"}
    node = start_node(files, secrets.ip, unsafe, f"--address={cluster.address}")
    ledger = tmp_path / "ledger"
    try:
        wait_for(lambda: runner._room({"CPU": 1}) == 3, node)
        with pytest.raises(UnsafeError, match="lacks RAY_USAGE_STATS_ENABLED=0"):
            list(runner.map(double_and_record, ledger, [0, 1, 2, *range(4, 20_000)]))
    finally:
        kill_node(files)
        node.wait()


@pytest.mark.slow
@pytest.mark.simulation
def test_a_worker_sees_the_gpu_that_it_was_given_alone_and_work_for_gpus_ends_with_the_last_node_that_has_one(
    secrets, cluster, runner, tmp_path
):
    assert set(runner.map(gpus_seen, None, range(4))) == {""}
    files, ledger = secrets.folder / "gpu", tmp_path / "ledger"
    node = start_node(files, secrets.ip, cluster.environment, f"--address={cluster.address}", "--num-gpus=1")

    def kill_node_at_work():
        wait_for(lambda: workers_at(ledger, 3), node)
        kill_node(files)

    killer = threading.Thread(target=kill_node_at_work)
    try:
        wait_for(lambda: runner._room({"GPU": 1}) == 1, node)
        assert list(runner.map(gpus_seen, None, [0], gpu=True)) == ["0"]
        killer.start()
        with pytest.raises(IncompleteError, match="no node is left that could work"):
            list(runner.map(double_and_record, ledger, [3], gpu=True))
        killer.join()
    finally:
        kill_node(files)
        node.wait()
