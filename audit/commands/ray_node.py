"""`clinaudit ray-node`. Owns its options; starts nothing itself."""

import os
from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.errors import StorageError


@click.command("ray-node")
@click.option(
    "--out", type=PATH, required=True, metavar="DIR", help="The run (head), or a private directory (other nodes)."
)
@click.option("--head", is_flag=True, help="Start the cluster; without it, --address.")
@click.option("--address", metavar="HOST:PORT", help="The head of the cluster to join.")
@click.option("--ip", required=True, metavar="ADDRESS", help="This node's address, which its certificate names.")
@click.option("--port", type=click.IntRange(1, 65535), default=6379, show_default=True, help="Where the head listens.")
@click.option("--num-cpus", type=click.IntRange(min=0), help="Processors to give.  [default: all]")
@click.option("--num-gpus", type=click.IntRange(min=0), help="GPUs to give.  [default: all]")
@click.option(
    "--object-store-bytes",
    "object_store_memory",
    type=click.IntRange(min=80 << 20),
    metavar="BYTES",
    help="Shared memory.  [default: Ray's]",
)
def ray_node(out: Path, head: bool, address: str | None, ip: str, port: int, **sizes: int | None) -> None:
    """Start a node of a Ray cluster for `clinaudit audit --ray-address` (docs/performance.md).

    It stays in the foreground; stop it as you stop any program.

    \b
    Example:
      clinaudit ray-node --head --out run/ --ip 10.0.0.1
      clinaudit ray-node --address 10.0.0.1:6379 --out /secure/node --ip 10.0.0.2
    """
    from clinaudit.audit.cluster.ray_security import become_node, prepare_node

    if head == (address is not None):
        raise click.UsageError("give either --head or --address")
    try:
        arguments = prepare_node(out.absolute(), address=address, ip=ip, port=port)
    except OSError as error:
        raise StorageError(f"{os.strerror(error.errno or 0)}: --out; name another directory") from None
    given = [f"--{name.replace('_', '-')}={value}" for name, value in sizes.items() if value is not None]
    become_node([*arguments, *given])
