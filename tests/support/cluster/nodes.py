"""Ray nodes on this machine, with a certificate and a token of their own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from clinaudit.audit.runtime.cluster import SETTINGS

#: In the environment of all processes of a node: the directory of its files.
_MARK = "CLUSTER_NODE"


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
        **SETTINGS,
        "RAY_TLS_SERVER_CERT": str(folder / "node.crt"),
        "RAY_TLS_SERVER_KEY": str(folder / "node.key"),
        "RAY_TLS_CA_CERT": str(folder / "ca.crt"),
        "RAY_AUTH_TOKEN_PATH": str(folder / "token"),
    }


@dataclass(frozen=True)
class Secrets:
    folder: Path
    ip: str
    settings: dict[str, str]


@dataclass
class Cluster:
    """Two nodes, and a run: the files of the nodes lie in `head` and `other`."""

    address: str
    run: Path
    head: Path
    other: Path
    environment: dict[str, str]
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list)


def start_node(files: Path, ip: str, environment: dict[str, str], *options: str) -> subprocess.Popen[bytes]:
    command = [str(Path(sys.executable).with_name("ray")), "start", "--block", f"--node-ip-address={ip}"]
    command += [f"--temp-dir={files}", "--num-cpus=1", "--num-gpus=0", f"--object-store-memory={100 << 20}"]
    with (files.parent / f"{files.name}.log").open("wb") as log:
        return subprocess.Popen(
            [*command, *options],
            env=environment | {_MARK: str(files)},
            stdout=log,
            stderr=log,
            start_new_session=True,
            umask=0o077,
        )


def free_port(ip: str) -> int:
    with socket.create_server((ip, 0)) as server:
        return int(server.getsockname()[1])


def wait_for(seen: Callable[[], object], node: subprocess.Popen[bytes]) -> None:
    # On busy cores a node of Ray takes a minute and more to start.
    for _ in range(1800):
        if seen():
            return
        assert node.poll() is None, "the node ended"
        time.sleep(0.1)
    raise AssertionError("the node did not start")


@contextmanager
def two_nodes(secrets: Secrets, folder: Path) -> Iterator[Cluster]:
    """Start a cluster of two nodes in a folder, with one processor each; stop it after the block."""
    ip = secrets.ip
    home = folder / "home"
    home.mkdir(parents=True)
    # The shard functions of tests/support must be found by the workers.
    paths = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, **secrets.settings, "HOME": str(home), "PYTHONPATH": paths}
    cluster = Cluster(f"{ip}:{free_port(ip)}", *(folder / name for name in ("run", "head", "other")), environment)
    port = cluster.address.rpartition(":")[2]
    as_head = ("--head", f"--port={port}", "--include-dashboard=false")
    cluster.nodes = [start_node(cluster.head, ip, environment, *as_head)]
    try:
        wait_for(lambda: next(cluster.head.glob("*/sockets/plasma_store*"), None), cluster.nodes[0])
        start_other(cluster, ip)
        wait_for(lambda: next(cluster.other.glob("*/sockets/plasma_store*"), None), cluster.nodes[1])
        yield cluster
        # Nothing of Ray's lies in its usual places.
        assert not list(home.iterdir())
    finally:
        for node in reversed(cluster.nodes):
            node.terminate()
        for node in cluster.nodes:
            try:
                node.wait(timeout=15)
            except subprocess.TimeoutExpired:
                os.killpg(node.pid, signal.SIGKILL)
                node.wait()


def start_other(cluster: Cluster, ip: str) -> None:
    """Start the node that is not the head."""
    cluster.nodes.append(start_node(cluster.other, ip, cluster.environment, f"--address={cluster.address}"))


def kill_node(files: Path) -> None:
    """Kill a node of these files: its raylet, its workers and all that belongs to them."""
    mark = os.fsencode(f"{_MARK}={files}")
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


def kill_other(cluster: Cluster) -> None:
    """Kill the node that is not the head."""
    kill_node(cluster.other)
    cluster.nodes.pop().wait()
