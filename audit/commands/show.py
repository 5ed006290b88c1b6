"""`clinaudit show`. Owns its options and what it prints; computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say, warn


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="Print results.json instead.")
def show(run_directory: Path, as_json: bool) -> int:
    """Print the summary table of RUN and the path of its report, as at the end of the audit.

    \b
    Example:
      clinaudit show run/ --json
    """
    from clinaudit.audit.commands.summary import say_summary
    from clinaudit.audit.publication.published_files import REPORT, read_results
    from clinaudit.audit.run.manifest import matches_manifest, require_finished_run, verify
    from clinaudit.reports.schema.results import to_json
    from clinaudit.reports.wording.escaped_text import escape_in_json

    finished = require_finished_run(run_directory)
    verify(finished, but=(REPORT,))
    results = read_results(finished)
    if as_json:
        say(escape_in_json(to_json(results)), nl=False)
    else:
        say_summary(results, run_directory / REPORT)
    if not matches_manifest(finished, REPORT):
        warn(f"{REPORT} is missing or not what the audit wrote; `clinaudit report` makes it anew")
    return 0
