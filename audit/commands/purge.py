"""`clinaudit purge` (docs/results.md, "Purging").

Owns its options, its question and its messages; removes nothing itself.
"""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say
from clinaudit.reports.wording.numbers import counted

_CAVEAT = (
    "Removed is not erased: file systems, snapshots and backups may keep the blocks, and copies made elsewhere stay."
)


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal to ask at.")
@click.option("--unfinished", is_flag=True, help="RUN has not finished: remove all of it.")
def purge(run_directory: Path, yes: bool, unfinished: bool) -> int:
    """Remove the evidence of RUN, which is PHI; its report and aggregates stay.

    Prompts, generations, labels, exact figures and the state that an audit resumes from go for good. `report`,
    `show` and `verify` work as before; `gate` gives the recorded verdict. Nothing is overwritten: file systems,
    snapshots and backups may keep what was removed. Stopped half-way, the same command finishes.

    \b
    Example:
      clinaudit purge run/
      clinaudit purge run/ --yes
    """
    import sys

    from clinaudit.audit.publication.purge import prepare_purge
    from clinaudit.errors import UsageError

    with prepare_purge(run_directory, unfinished=unfinished) as planned:
        if planned is None:
            say("nothing to remove: this run was purged before")
            return 0
        what = f"{counted(planned.contents.files, 'file')} ({_size(planned.contents.size_bytes)})"
        goes = "everything in this unfinished run" if planned.unfinished else "the evidence of this run, which is PHI"
        if not yes:
            if not sys.stdin.isatty():
                raise UsageError(f"{what} would be removed for good; give --yes where there is no terminal to ask at")
            if not click.confirm(f"Remove {what}: {goes}? This cannot be undone", err=True):
                click.echo("nothing was removed", err=True)
                return 130
        planned.carry_out()
    say(f"purged: {what} removed, {goes}")
    if not unfinished:
        say(f"report: {run_directory / 'report.html'}")
    say(_CAVEAT)
    return 0


def _size(size_bytes: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size_bytes >= size:
            return f"{size_bytes / size:.1f} {unit}"
    return f"{size_bytes} bytes"
