"""`clinaudit show`. Owns its options and what it prints; computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say, warn


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.option("--exact", is_flag=True, help="Read the exact figures of RUN/evidence, and print them (PHI).")
@click.option("--json", "as_json", is_flag=True, help="Print results.json instead; with --exact the evidence's.")
def show(run_directory: Path, exact: bool, as_json: bool) -> int:
    """Print what was found in RUN: the verdict, what to do next, the rules, and where the report stands.

    \b
    Example:
      clinaudit show run/
      clinaudit show run/ --exact
      clinaudit show run/ --json
    """
    from clinaudit.audit.commands.summary import say_summary
    from clinaudit.audit.publication.published_files import (
        REPORT,
        read_exact,
        read_published,
    )
    from clinaudit.audit.publication.run_verdict import require_told
    from clinaudit.audit.run.manifest import matches_manifest, require_finished_run, verify
    from clinaudit.reports.schema.results import to_json
    from clinaudit.reports.wording.escaped_text import escape_in_json

    finished = require_finished_run(run_directory)
    verify(finished, but=(REPORT,))
    report = finished.evidence / REPORT if exact else run_directory / REPORT
    if as_json:
        text = to_json(read_exact(finished) if exact else read_published(finished))
        say(escape_in_json(text), nl=False)
    elif exact:
        say_summary(read_exact(finished), report, exact=True)
    else:
        results = read_published(finished)
        require_told(results)
        say_summary(results, report)
    if not matches_manifest(finished, REPORT):
        warn(f"{REPORT} is missing or not what the audit wrote; `clinaudit report` makes it anew")
    return 0
