"""Starts a node of a Ray cluster that may hold PHI: `python -m clinaudit.audit.cluster.ray_node`.

Owns the one way to start a node with TLS, token, no dashboard, no statistics, and all files in one private directory.
Everything else of Ray keeps its default. Stays in the foreground; stop it as you stop any program.
"""

import os
import resource
import sys
from pathlib import Path

import click

from clinaudit.audit.cluster.ray_security import (
    NODE_DIRECTORY,
    SWITCHES,
    require_own_certificate,
    require_secure_settings,
    require_short,
    require_tls,
)
from clinaudit.audit.run.confinement import confine_libraries, take_libraries_offline
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.errors import ClinauditError

#: Below the run's `work/`.
_FOLDER = "ray"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="The run (head), or a private directory (other nodes).",
)
@click.option("--head", is_flag=True, help="Start the cluster; without it, --address.")
@click.option("--address", metavar="HOST:PORT", help="The head of the cluster to join.")
@click.option("--ip", required=True, metavar="ADDRESS", help="This node's address, which its certificate names.")
@click.option("--port", type=click.IntRange(1, 65535), default=6379, show_default=True, help="Where the head listens.")
@click.option("--num-cpus", type=click.IntRange(min=0), help="Processors to give.  [default: all]")
@click.option("--num-gpus", type=click.IntRange(min=0), help="GPUs to give.  [default: all]")
@click.option("--object-store-bytes", type=click.IntRange(min=80 << 20), help="Shared memory.  [default: Ray's]")
def main(
    out: Path,
    head: bool,
    address: str | None,
    ip: str,
    port: int,
    num_cpus: int | None,
    num_gpus: int | None,
    object_store_bytes: int | None,
) -> None:
    """Start a node of a Ray cluster for `clinaudit audit --ray-address`; see docs/scale.md.

    \b
    Example:
      python -m clinaudit.audit.cluster.ray_node --head --out run/ --ip 10.0.0.1
      python -m clinaudit.audit.cluster.ray_node --address 10.0.0.1:6379 --out /secure/node --ip 10.0.0.2
    """
    if head == (address is not None):
        raise click.UsageError("give either --head or --address")
    try:
        arguments = _arguments(out.absolute(), address, ip, port)
    except ClinauditError as error:
        print(error.render(), file=sys.stderr)
        sys.exit(error.status)
    except OSError as error:
        print(f"error[STORAGE]: {os.strerror(error.errno or 0)}: --out; name another directory", file=sys.stderr)
        sys.exit(6)
    sizes = {"num-cpus": num_cpus, "num-gpus": num_gpus, "object-store-memory": object_store_bytes}
    arguments += [f"--{name}={value}" for name, value in sizes.items() if value is not None]
    os.execv(sys.executable, [sys.executable, "-m", "ray.scripts.scripts", "start", *arguments])


def _arguments(out: Path, address: str | None, ip: str, port: int) -> list[str]:
    """Check everything, prepare the environment that the node's workers inherit, and return Ray's arguments."""
    require_secure_settings(address or f"{ip}:{port}")
    run = RunDirectory(out)
    directory = run.work / _FOLDER
    require_short(directory)
    require_own_certificate(ip)
    if address is not None:
        require_tls(address)
    os.umask(0o077)
    # A core dump would hold PHI and lie wherever the system puts it.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    run.create()
    take_libraries_offline(run.work)
    confine_libraries(run.work)
    os.environ.update(SWITCHES)
    # One worker a processor: what a library starts by itself would be too much.
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


if __name__ == "__main__":
    main()
