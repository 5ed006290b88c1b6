"""A real Ray cluster of two nodes on this machine, with TLS and a token: same results, killed workers, refusals."""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from clinaudit.audit.cluster.ray_security import require_own_certificate, require_short, require_tls, security_problems
from clinaudit.audit.cluster.runner import open_runner, require_usable
from clinaudit.audit.cluster.shards import ShardRunner
from clinaudit.audit.memorization.specificity.patient_count import count_patients
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.errors import BadInputError, IncompleteError, UnsafeError, UsageError
from clinaudit.priors.corpus.packed_notes import pack_notes

OPTIONS = ["--quiet", "--max-new-tokens", "160", "--tier", "public_name_meds", "--tier", "encounter", "--ngram", "20"]
OPTIONS += ["--engine", "transformers", "--patients-per-cell", "6"]


def ray_files(directory: Path) -> Path:
    """Where a node started with `--out DIRECTORY` keeps what Ray writes."""
    return RunDirectory(directory).work / "ray"


def own_address() -> str:
    """Return the address that Ray gives this machine: it replaces loopback by it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def openssl(*arguments: str, cwd: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True)


def write_secrets(folder: Path, ip: str) -> dict[str, str]:
    """Make an authority, a certificate for `ip`, and a token; return Ray's settings that name them."""
    openssl(
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority"),
        *("-keyout", "ca.key", "-out", "ca.crt"),
        cwd=folder,
    )
    openssl(
        *("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=node", "-keyout", "node.key", "-out", "node.csr"),
        cwd=folder,
    )
    (folder / "names").write_text(f"subjectAltName=IP:{ip}")
    openssl(
        *("x509", "-req", "-in", "node.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"),
        *("-days", "2", "-extfile", "names", "-out", "node.crt"),
        cwd=folder,
    )
    (folder / "token").write_text("5f0c1b7e" * 8)
    for name in ("node.key", "token"):
        (folder / name).chmod(0o600)
    return {
        "RAY_USE_TLS": "1",
        "RAY_TLS_SERVER_CERT": str(folder / "node.crt"),
        "RAY_TLS_SERVER_KEY": str(folder / "node.key"),
        "RAY_TLS_CA_CERT": str(folder / "ca.crt"),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(folder / "token"),
    }


@dataclass(frozen=True)
class Secrets:
    folder: Path
    ip: str
    settings: dict[str, str]


@pytest.fixture(scope="module")
def secrets() -> Iterator[Secrets]:
    # Not under pytest's own folders: Ray's sockets would have names that are too long there.
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="cr") as name:
        ip = own_address()
        yield Secrets(Path(name), ip, write_secrets(Path(name), ip))


@pytest.fixture
def secure(secrets, monkeypatch) -> dict[str, str]:
    """This process may go to the cluster."""
    for name, value in secrets.settings.items():
        monkeypatch.setenv(name, value)
    return secrets.settings


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"RAY_USE_TLS": "0"}, "TLS is off"),
        ({"RAY_TLS_CA_CERT": ""}, "RAY_TLS_CA_CERT is not set"),
        ({"RAY_TLS_SERVER_CERT": "/nowhere"}, "RAY_TLS_SERVER_CERT names no file"),
        ({"RAY_AUTH_MODE": "disabled"}, "token authentication is off"),
        ({"RAY_AUTH_TOKEN_PATH": ""}, "RAY_AUTH_TOKEN_PATH is not set"),
    ],
)
def test_each_missing_protection_is_named(secrets, change, said) -> None:
    assert security_problems(secrets.settings) == []
    (problem,) = security_problems(secrets.settings | change)
    assert said in problem


def test_a_key_that_others_may_read_is_refused(secrets) -> None:
    key = Path(secrets.settings["RAY_TLS_SERVER_KEY"])
    key.chmod(0o644)
    try:
        (problem,) = security_problems(secrets.settings)
        assert "others may read" in problem
    finally:
        key.chmod(0o600)


def test_a_certificate_must_name_its_node(secure, secrets) -> None:
    require_own_certificate(secrets.ip)
    with pytest.raises(UnsafeError, match=r"name the address 203\.0\.113\.9"):
        require_own_certificate("203.0.113.9")


def test_a_path_too_long_for_sockets_is_refused() -> None:
    require_short(ray_files(Path("/data/run")))
    with pytest.raises(UsageError, match="short symbolic link"):
        require_short(ray_files(Path("/data/projects/audits/2026/run")))


@pytest.mark.parametrize("address", ["auto", "host", "ray://host:10001", "host:0", "host:x", ":6379", "host:99999"])
def test_an_address_is_host_and_port(address, secure) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        require_usable(address)


PLAIN_HEAD = """
import socket, sys
server = socket.socket(fileno=int(sys.argv[1]))
for _ in range(2):
    connection = server.accept()[0]
    connection.sendall(b"HTTP/1.1 400 no\\r\\n\\r\\n")
    connection.close()
"""


def test_a_head_without_tls_is_refused_before_anything_is_sent(secure) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        command = [sys.executable, "-c", PLAIN_HEAD, str(server.fileno())]
        with subprocess.Popen(command, pass_fds=[server.fileno()]) as head:
            try:
                with pytest.raises(UnsafeError, match="does not prove itself"):
                    require_tls(address)
            finally:
                head.kill()


def test_an_absent_head_leaves_the_run_incomplete(secure) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(IncompleteError, match="no Ray cluster answers"):
        require_tls(f"127.0.0.1:{port}")


# --- the cluster ------------------------------------------------------------------------------------------------------


@dataclass
class Cluster:
    """Two nodes: the head's files lie in `run`, the other's in `other`."""

    address: str
    run: Path
    other: Path
    environment: dict[str, str]


def start_node(out: Path, ip: str, environment: dict[str, str], *options: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "clinaudit",
        "ray-node",
        "--out",
        str(out),
        "--ip",
        ip,
        "--num-gpus",
        "0",
    ]
    with (out.parent / f"{out.name}.log").open("wb") as log:
        return subprocess.Popen(
            [*command, "--object-store-bytes", str(100 << 20), *options],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def free_port(ip: str) -> int:
    with socket.create_server((ip, 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture(scope="module")
def cluster(secrets) -> Iterator[Cluster]:
    # Not imported here: Ray reads its settings when it is.
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    folder, ip = secrets.folder, secrets.ip
    home = folder / "home"
    home.mkdir()
    # The shard functions of this module must be found by the workers.
    paths = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, **secrets.settings, "HOME": str(home), "PYTHONPATH": paths}
    address = f"{ip}:{free_port(ip)}"
    run, other = folder / "run", folder / "other"
    nodes = [start_node(run, ip, environment, "--head", "--port", address.rpartition(":")[2], "--num-cpus", "1")]
    try:
        wait_for(lambda: next(ray_files(run).glob("session_latest/sockets/plasma_store"), None), nodes[0])
        nodes.append(start_node(other, ip, environment, "--address", address, "--num-cpus", "1"))
        wait_for(lambda: next(ray_files(other).glob("*/sockets/plasma_store*"), None), nodes[1])
        yield Cluster(address, run, other, environment)
        # Nothing of Ray's lies in its usual places.
        assert not list(home.iterdir())
    finally:
        for node in reversed(nodes):
            node.terminate()
        for node in nodes:
            try:
                node.wait(timeout=15)
            except subprocess.TimeoutExpired:
                os.killpg(node.pid, signal.SIGKILL)
                node.wait()


def wait_for(seen: Callable[[], object], node: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if seen():
            return
        assert node.poll() is None, "the node ended"
        time.sleep(0.1)
    raise AssertionError("the node did not start")


@pytest.fixture
def runner(cluster, secure) -> Iterator[ShardRunner]:
    with open_runner(cluster.address, RunDirectory(cluster.run).work) as opened:
        assert opened is not None
        yield opened


def double_and_record(ledger: Path, number: int) -> int:
    """Append the shard and the worker to the ledger; the first time, the third shard waits to be killed."""
    with ledger.open("a", encoding="utf-8") as file:
        file.write(f"{number} {os.getpid()}\n")
    if number == 3 and len(workers_at(ledger, 3)) == 1:
        time.sleep(60)
    return 2 * number


def workers_at(ledger: Path, number: int) -> list[int]:
    lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
    return [int(line.split()[1]) for line in lines if line.split()[0] == str(number)]


def kill_once_at_work(ledger: Path, number: int) -> None:
    for _ in range(600):
        if pids := workers_at(ledger, number):
            os.kill(pids[0], signal.SIGKILL)
            return
        time.sleep(0.05)


def fail_as_told(_: None, kind: str) -> int:
    if kind == "ours":
        raise BadInputError("not this one", ["a problem"])
    if kind == "bug":
        raise ValueError("SECRET-OF-A-PATIENT")
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


@pytest.mark.slow
def test_a_killed_worker_costs_its_shard_only(runner, tmp_path) -> None:
    ledger = tmp_path / "ledger"
    killer = threading.Thread(target=kill_once_at_work, args=(ledger, 3))
    killer.start()
    results = dict(runner.map(double_and_record, ledger, range(12)))
    killer.join()
    assert results == {index: 2 * index for index in range(12)}
    shards = [int(line.split()[0]) for line in ledger.read_text(encoding="utf-8").splitlines()]
    assert sorted(shards) == sorted([*range(12), 3])
    first, second = workers_at(ledger, 3)
    assert first != second


@pytest.mark.slow
def test_errors_come_through_in_our_words_and_leave_no_content_behind(runner, cluster) -> None:
    with pytest.raises(BadInputError, match="not this one") as ours:
        list(runner.map(fail_as_told, None, ["ours"]))
    assert ours.value.problems == ("a problem",)
    with pytest.raises(IncompleteError, match=r"ValueError at test_ray\.py") as bug:
        list(runner.map(fail_as_told, None, ["bug"]))
    assert "SECRET" not in bug.value.render()
    with pytest.raises(IncompleteError, match="a shard ended 4 workers"):
        list(runner.map(fail_as_told, None, ["killed"]))
    with pytest.raises(UsageError, match="64 processors"):
        list(runner.map(fail_as_told, None, ["ours"], cpus=64))
    for directory in (cluster.run, cluster.other):
        for path in ray_files(directory).rglob("*"):
            if path.is_file():
                assert b"SECRET-OF-A-PATIENT" not in path.read_bytes(), path.name


@pytest.mark.slow
def test_k_is_the_same_on_the_cluster(runner) -> None:
    rng = np.random.default_rng(8)
    patients = [["".join(rng.choice(list("abcdé \n"), size=900)) for _ in range(3)] for _ in range(40)]
    notes = pack_notes(patients)
    texts = {patients[index][1][begin : begin + size] for index in range(40) for begin, size in ((3, 5), (50, 200))}
    wanted = count_patients(texts, notes, engine="aho-corasick")
    assert count_patients(texts, notes, engine="windows", runner=runner) == wanted


def audit(tiny_demo, run: Path, environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    program = str(Path(sys.executable).with_name("clinaudit"))
    command = [program, "audit", str(tiny_demo.model), str(tiny_demo.corpus), "--out", str(run), *OPTIONS, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)


@pytest.mark.slow
def test_an_audit_on_the_cluster_gives_the_same_bytes(tiny_demo, cluster, tmp_path) -> None:
    before = {path.name for path in Path("/tmp").iterdir()}
    on_cluster = audit(tiny_demo, cluster.run, cluster.environment, "--ray-address", cluster.address)
    assert on_cluster.returncode in (1, 8), on_cluster.stderr
    assert on_cluster.stderr == ""
    assert not {name for name in {path.name for path in Path("/tmp").iterdir()} - before if "ray" in name}
    alone = audit(tiny_demo, tmp_path / "run", cluster.environment)
    assert alone.returncode == on_cluster.returncode
    for name in ("results.json", "evidence/results.json", "gate.json"):
        assert (cluster.run / name).read_bytes() == (tmp_path / "run" / name).read_bytes()
    verified = subprocess.run(
        [str(Path(sys.executable).with_name("clinaudit")), "verify", str(cluster.run)], capture_output=True, check=False
    )
    assert verified.returncode == 0
    record = json.loads((cluster.run / "run.json").read_text(encoding="utf-8"))
    assert "ray_address" not in json.dumps(record)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"RAY_USE_TLS": "0"}, "TLS is off"),
        ({"RAY_AUTH_MODE": "disabled"}, "token authentication is off"),
        ({"RAY_AUTH_TOKEN_PATH": "wrong"}, "lets nobody in with this token"),
    ],
)
def test_an_audit_that_would_send_phi_unprotected_is_refused(tiny_demo, cluster, tmp_path, change, said) -> None:
    if change.get("RAY_AUTH_TOKEN_PATH"):
        wrong = tmp_path / "wrong"
        wrong.write_text("not the token of this cluster")
        wrong.chmod(0o600)
        change = {"RAY_AUTH_TOKEN_PATH": str(wrong)}
    refused = audit(tiny_demo, tmp_path / "run", cluster.environment | change, "--ray-address", cluster.address)
    assert refused.returncode == 5, refused.stderr
    assert refused.stderr.startswith("error[UNSAFE]: ")
    assert said in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_driver_whose_node_writes_elsewhere_is_refused(cluster, secure, tmp_path) -> None:
    with pytest.raises(UnsafeError, match="outside the run"), open_runner(cluster.address, tmp_path):
        pass


@pytest.mark.slow
def test_a_node_not_started_by_us_is_refused(secrets, secure, cluster) -> None:
    """Ray's own command starts a node without the settings that keep its files in place."""
    folder = secrets.folder / "foreign"
    started = subprocess.run(
        [str(Path(sys.executable).with_name("ray")), "start", f"--address={cluster.address}", "--num-cpus=0",
         f"--node-ip-address={secrets.ip}", f"--temp-dir={folder}", "--object-store-memory=100000000"],
        env=cluster.environment, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert started.returncode == 0
    try:
        with (
            pytest.raises(UnsafeError, match="ray-node"),
            open_runner(cluster.address, RunDirectory(cluster.run).work),
        ):
            pass
    finally:
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if os.fsencode(folder) in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
