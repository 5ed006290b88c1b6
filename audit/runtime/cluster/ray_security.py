"""The security checks before PHI goes to a Ray cluster, and the one way to start a node (docs/performance.md).

TLS, token authentication, no dashboard, no statistics, all files in one private directory: checked for the driver, for
each node, and for the start of a node. Knows nothing of Ray's API.
"""

import importlib.util
import os
import platform
import resource
import socket
import ssl
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from clinaudit.audit.runtime.run.directory import (
    RunDirectory,
    confine_libraries,
    library_versions,
    take_libraries_offline,
)
from clinaudit.errors import IncompleteError, UnsafeError, UsageError
from clinaudit.version import VERSION

_TLS_FILES = ("RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")
#: Set by `clinaudit ray-node`: the directory of everything that a node writes.
_NODE_DIRECTORY = "CLINAUDIT_RAY_DIRECTORY"
#: Ray's own settings, for the driver and the nodes alike; read when Ray is imported.
SWITCHES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_LOG_TO_DRIVER": "0",
    "RAY_DEDUP_LOGS": "0",
    # Only workers that asked for a GPU see one.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",
}
_ON = ("1", "true")
_TIMEOUT_S = 10
#: sockaddr_un.sun_path holds 108 bytes with the final zero.
_SOCKET_PATH_BYTES = 107
#: What Ray appends: /session_YYYY-MM-DD_HH-MM-SS_microseconds_pid/sockets/plasma_store, with a pid of seven digits.
_SESSION_BYTES = len("/session_2026-01-01_00-00-00_000000_1234567/sockets/plasma_store")


@dataclass(frozen=True, slots=True)
class NodeReport:
    """A node's report on itself."""

    #: What is unsafe there, in words.
    problems: tuple[str, ...]
    #: What results depend on.
    versions: Mapping[str, str]


def security_problems(environment: Mapping[str, str]) -> list[str]:
    """Return what Ray's settings lack for safety, one line each."""
    problems = []
    if environment.get("RAY_USE_TLS", "").lower() not in _ON:
        problems.append("TLS is off (RAY_USE_TLS=1)")
    for name in _TLS_FILES:
        problems += _file_problems(environment, name, secret=name.endswith("KEY"))
    if environment.get("RAY_AUTH_MODE", "").lower() != "token":
        problems.append("token authentication is off (RAY_AUTH_MODE=token)")
    if not environment.get("RAY_AUTH_TOKEN"):
        problems += _file_problems(environment, "RAY_AUTH_TOKEN_PATH", secret=True)
    return problems


def _file_problems(environment: Mapping[str, str], name: str, *, secret: bool) -> list[str]:
    value = environment.get(name)
    if not value:
        return [f"{name} is not set"]
    try:
        with Path(value).open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
    except OSError:
        return [f"{name} names no file that can be read"]
    return [f"others may read the file of {name} (chmod 600)"] if secret and mode & 0o077 else []


def require_secure_settings(address: str) -> None:
    """Check address and environment; opens no connection and imports no Ray.

    Raises `UsageError` for a bad address or where Ray is not installed, `UnsafeError` for unsafe settings.
    """
    _split_address(address)
    if importlib.util.find_spec("ray") is None:
        raise UsageError("--ray-address needs Ray, which is not installed; install clinaudit[ray]")
    problems = security_problems(os.environ)
    if problems:
        raise UnsafeError(f"PHI would travel unprotected: {'; '.join(problems)}; see docs/performance.md")


def _split_address(address: str) -> tuple[str, int]:
    """Return host and port; raises `UsageError` where the address is no HOST:PORT."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError("--ray-address takes HOST:PORT, where the cluster's head listens")
    return host.strip("[]"), int(port)


def require_answer(address: str) -> None:
    """Raise `IncompleteError` where nothing listens at the cluster's address any more."""
    try:
        socket.create_connection(_split_address(address), timeout=_TIMEOUT_S).close()
    except OSError:
        raise IncompleteError(
            f"no Ray cluster answers at {address}; what was finished is kept; "
            "start the cluster, then run the same command again"
        ) from None


def require_tls(address: str) -> None:
    """Make a TLS handshake with the cluster's head before anything is sent: Ray itself would retry for minutes.

    Raises `UnsafeError` where the handshake fails, `IncompleteError` where nothing answers.
    """
    require_answer(address)
    host, port = _split_address(address)
    try:
        context = ssl.create_default_context(cafile=os.environ["RAY_TLS_CA_CERT"])
        context.load_cert_chain(os.environ["RAY_TLS_SERVER_CERT"], os.environ["RAY_TLS_SERVER_KEY"])
        context.set_alpn_protocols(["h2"])
        with socket.create_connection((host, port), timeout=_TIMEOUT_S) as plain:
            context.wrap_socket(plain, server_hostname=host).close()
    except OSError as error:  # ssl.SSLError is one
        raise UnsafeError(
            f"the cluster at {address} does not prove itself by TLS ({type(error).__name__}); it needs a certificate "
            "of RAY_TLS_CA_CERT that names this address; see docs/performance.md"
        ) from None


def require_own_certificate(host: str) -> None:
    """Check by a handshake in memory that the authority signed this node's certificate and that it names this node.

    Raises `UnsafeError`. With a wrong certificate, `ray start` would wait for itself for ever.
    """
    try:
        server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=os.environ["RAY_TLS_CA_CERT"])
        client = ssl.create_default_context(cafile=os.environ["RAY_TLS_CA_CERT"])
        server.load_cert_chain(os.environ["RAY_TLS_SERVER_CERT"], os.environ["RAY_TLS_SERVER_KEY"])
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        ends = (
            client.wrap_bio(to_client, to_server, server_hostname=host),
            server.wrap_bio(to_server, to_client, server_side=True),
        )
        for _ in range(3):
            for end in ends:
                try:
                    end.do_handshake()
                except ssl.SSLWantReadError:
                    continue
    except OSError as error:
        reason = getattr(error, "verify_message", "") or type(error).__name__
        raise UnsafeError(
            f"this node's certificate does not do: {reason}; it must be of RAY_TLS_CA_CERT and name the address {host}"
        ) from None


def require_short(directory: Path) -> None:
    """Raise `UsageError` for a directory in which the paths of Ray's sockets would be too long."""
    room = _SOCKET_PATH_BYTES - _SESSION_BYTES
    if len(os.fsencode(directory)) > room:
        raise UsageError(
            f"the path of Ray's files may have {room} bytes and would have {len(os.fsencode(directory))}; "
            "give --out as a short symbolic link to the directory"
        )


def report_node() -> NodeReport:
    """Return the report of the node on which this runs; call it in one of the node's workers."""
    problems = security_problems(os.environ)
    if os.environ.get("RAY_USAGE_STATS_ENABLED") != "0":
        problems.append("usage statistics are on")
    if _NODE_DIRECTORY not in os.environ:
        problems.append("not started by `clinaudit ray-node`, so that its files may lie anywhere")
    return NodeReport(tuple(problems), own_versions())


def own_versions() -> dict[str, str]:
    """Return the versions that must be equal on all nodes for equal results."""
    return {"clinaudit": VERSION, "python": platform.python_version(), **library_versions()}


#: Below the run's `work/`.
_FOLDER = "ray"


def prepare_node(out: Path, *, address: str | None, ip: str, port: int) -> list[str]:
    """Check everything, prepare the environment that the node's workers inherit, and return Ray's arguments.

    Without an `address` to join, the node is a cluster's head. Raises `UnsafeError` where the node would not be safe.
    """
    require_secure_settings(address or f"{ip}:{port}")
    run = RunDirectory(out)
    directory = run.work / _FOLDER
    require_short(directory)
    require_own_certificate(ip)
    if address is not None:
        require_tls(address)
    # A core dump would hold PHI, in whatever place the system writes it to.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    run.create()
    take_libraries_offline(run.work)
    confine_libraries(run.work)
    os.environ.update(SWITCHES)
    # One worker for each processor: a library's own threads would overload it.
    os.environ["RAYON_NUM_THREADS"] = "1"
    os.environ[_NODE_DIRECTORY] = str(directory)
    place = ["--head", f"--port={port}", "--include-dashboard=false"] if address is None else [f"--address={address}"]
    return [
        *place,
        f"--node-ip-address={ip}",
        f"--temp-dir={directory}",
        "--include-log-monitor=false",
        "--disable-usage-stats",
        "--log-color=false",
        "--block",
    ]


def become_node(arguments: Sequence[str]) -> NoReturn:
    """Replace this process by Ray, which stays in the foreground."""
    os.execv(sys.executable, [sys.executable, "-m", "ray.scripts.scripts", "start", *arguments])
