"""`clinaudit index`. Owns its options and what it prints; computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say, warn
from clinaudit.reports.wording.numbers import counted


@click.command()
@click.argument("directory", type=PATH, metavar="DIR")
def index(directory: Path) -> int:
    """Write one page over all finished runs under DIR: DIR/index.html.

    A row a run: which model, of whom and when, the policy's verdict, its rules, and a link to the report. Each run is
    checked against its manifest; one that is not what its audit wrote is shown as changed. Links are not followed.

    \b
    Example:
      clinaudit index audits/
    """
    from clinaudit.audit.publication.index_page import INDEX_PAGE, write_index
    from clinaudit.reports.wording.escaped_text import harmless_text

    made = write_index(directory)
    for folder in made.skipped:
        warn(harmless_text(f"skipped: {folder.place}: {folder.reason}"))
    for run in made.runs:
        if run.changed is not None:
            warn(harmless_text(f"changed since the audit: {run.place}: {run.changed}"))
    shown, skipped = len(made.runs), len(made.skipped)
    say(f"{counted(shown, 'run')} shown, {skipped} skipped")
    say(f"index: {directory / INDEX_PAGE}")
    return 0
