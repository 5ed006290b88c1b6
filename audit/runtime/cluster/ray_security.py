"""What a Ray cluster must have before PHI goes to it (docs/performance.md, "What is checked").

These are Ray's own settings for TLS, token and statistics, files that nobody else reads, and equal versions. Imports no
Ray.
"""

import importlib.util
import os
import platform
import resource
import socket
import ssl
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

from clinaudit.audit.runtime.run.directory import confine_libraries, library_versions, take_libraries_offline
from clinaudit.errors import IncompleteError, UnsafeError, UsageError

#: Ray's own settings, for the driver and each node: with these Ray refuses whoever lacks certificate or token.
SETTINGS: Final = {"RAY_USE_TLS": "1", "RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0"}
_TLS_FILES: Final = ("RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")


def require_secure_settings(address: str | None) -> None:
    """Check address (None: no cluster is used) and environment; opens no connection.

    Raises `UsageError` for a bad address or where Ray is not installed, `UnsafeError` for settings that Ray must have.
    """
    if address is None:
        return
    _split_address(address)
    if importlib.util.find_spec("ray") is None:
        raise UsageError("--ray-address needs Ray, which is not installed; install clinaudit[ray]")
    missing = _missing_settings()
    if missing:
        raise UnsafeError(f"PHI would travel unprotected: Ray lacks {', '.join(missing)}; see docs/performance.md")


def _missing_settings() -> list[str]:
    missing = [f"{name}={value}" for name, value in SETTINGS.items() if os.environ.get(name) != value]
    return missing + [name for name in _TLS_FILES if not os.environ.get(name)]


def _split_address(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError("--ray-address takes HOST:PORT, where the cluster's head listens")
    return host.strip("[]"), int(port)


def _connect(address: str) -> socket.socket:
    return socket.create_connection(_split_address(address), timeout=10)


def require_answer(address: str) -> None:
    """Raise `IncompleteError` where nothing listens at the cluster's address any more."""
    try:
        _connect(address).close()
    except OSError:
        raise IncompleteError(
            f"no Ray cluster answers at {address}; what was finished is kept; "
            "start the cluster, then run the same command again"
        ) from None


def require_tls(address: str) -> None:
    """Make a TLS handshake with the cluster's head: where it fails, Ray itself would try again for minutes.

    Raises `UnsafeError` where the handshake fails, `IncompleteError` where nothing answers.
    """
    require_answer(address)
    try:
        context = ssl.create_default_context(cafile=os.environ["RAY_TLS_CA_CERT"])
        context.load_cert_chain(os.environ["RAY_TLS_SERVER_CERT"], os.environ["RAY_TLS_SERVER_KEY"])
        context.set_alpn_protocols(["h2"])
        with _connect(address) as plain:
            context.wrap_socket(plain, server_hostname=_split_address(address)[0]).close()
    except OSError as error:  # ssl.SSLError is one
        raise UnsafeError(
            f"the cluster at {address} does not prove itself by TLS ({type(error).__name__}); it needs a certificate "
            "of RAY_TLS_CA_CERT that names this address; see docs/performance.md"
        ) from None


def own_versions() -> dict[str, str]:
    """Return the versions that must be equal on all nodes for equal results."""
    return {"clinaudit": version("clinaudit"), "python": platform.python_version(), **library_versions()}


def require_safe_node(session: Path) -> None:
    """Raise `UnsafeError` where this node lacks a setting, or others may read what Ray writes below `session`."""
    problems = [f"it lacks {name}" for name in _missing_settings()]
    # Ray opens its own folders to all; one above them must be closed.
    if all(folder.stat().st_mode & 0o077 for folder in (session, *session.parents)):
        problems.append("others may read its files (give `ray start` a --temp-dir in a directory of mode 700)")
    if problems:
        raise UnsafeError(f"a node of the cluster is not safe for PHI: {'; '.join(problems)}; see docs/performance.md")


def prepare_worker(session: Path, versions: Mapping[str, str]) -> None:
    """Check the node of this worker, and confine what is loaded from now on to the node's `session`.

    Raises `UnsafeError`, and `UsageError` where versions differ from the driver's.
    """
    require_safe_node(session)
    own = own_versions()
    differing = sorted(name for name in {*versions, *own} if versions.get(name) != own.get(name))
    if differing:
        raise UsageError(
            f"a node of the cluster has other versions of {', '.join(differing)} than this machine, so that its "
            "results could differ; install the same there"
        )
    # A core dump would hold PHI, in whatever place the system writes it to.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    take_libraries_offline(session)
    confine_libraries(session)
    # One worker for each processor: a library's own threads would overload it.
    os.environ.update(dict.fromkeys(("RAYON_NUM_THREADS", "POLARS_MAX_THREADS"), "1"))
