"""A node of a Ray cluster that may hold PHI, as `clinaudit ray-node` starts it (docs/performance.md).

Owns the one way to start a node: with TLS and a token, no dashboard, no statistics, and all files in one private
directory. Everything else of Ray keeps its default.
"""

import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from clinaudit.audit.cluster.ray_security import (
    NODE_DIRECTORY,
    SWITCHES,
    require_own_certificate,
    require_secure_settings,
    require_short,
    require_tls,
)
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.library_confinement import confine_libraries, take_libraries_offline

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
    os.environ[NODE_DIRECTORY] = str(directory)
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
