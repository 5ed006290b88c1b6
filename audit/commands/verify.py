"""`clinaudit verify`. Owns its options and what it prints; computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
def verify(run_directory: Path) -> int:
    """Check every file of RUN against its manifest.

    \b
    Example:
      clinaudit verify run/
    """
    from clinaudit.audit.run.manifest import require_finished_run
    from clinaudit.audit.run.manifest import verify as verify_files

    count = verify_files(require_finished_run(run_directory))
    say(f"verified: {count} files are what the audit wrote")
    return 0
