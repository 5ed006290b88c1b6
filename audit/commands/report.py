"""`clinaudit report`. Owns its options and what it prints; computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.option("--pdf", is_flag=True, help="Write RUN/report.pdf, too, for paper (extra `pdf`, and Debian's Pango).")
def report(run_directory: Path, pdf: bool) -> int:
    """Render the report of RUN again, from its published results.

    \b
    Example:
      clinaudit report run/ --pdf
    """
    from clinaudit.audit.publication.published_files import PDF, REPORT, render_again
    from clinaudit.audit.run.directory import hold_lock_of_finished
    from clinaudit.audit.run.manifest import require_finished_run, verify

    finished = require_finished_run(run_directory)
    with hold_lock_of_finished(finished):
        # All files but those rendered anew: the new manifest must not list a file that somebody changed.
        verify(finished, but=(REPORT, PDF) if pdf else (REPORT,))
        render_again(finished, pdf=pdf)
    say(f"report: {run_directory / (PDF if pdf else REPORT)}")
    return 0
