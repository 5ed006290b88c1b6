"""`clinaudit show`, `verify` and `purge`: what is done with a finished run. Computes nothing."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.runtime.console.streams import say, warn
from clinaudit.errors import UsageError
from clinaudit.reports.wording.numbers import counted

if TYPE_CHECKING:
    from clinaudit.audit.runtime.run.directory import RunDirectory
    from clinaudit.reports.schema.run_results import RunReport
    from clinaudit.reports.schema.verdict import Verdict


def say_summary(report: "RunReport", page: Path, *, quiet: bool = False) -> None:
    """Print the summary of a run (`quiet`: its verdict alone) and the path of its report."""
    from clinaudit.reports.terminal.layout import wants_colour
    from clinaudit.reports.terminal.verdict import report_text, verdict_line

    colour, verdict = wants_colour(sys.stdout, os.environ), report.results.verdict
    if not quiet:
        say(f"{report_text(report, colour=colour)}\n", color=colour)
    elif verdict is not None:
        say(verdict_line(verdict, colour=colour), color=colour)
    say(f"report: {page}")


def say_rules(verdict: "Verdict", report: "RunReport") -> None:
    """Print a verdict rule by rule, with the figures of a report."""
    from clinaudit.reports.terminal.layout import wants_colour
    from clinaudit.reports.terminal.verdict import verdict_text

    colour = wants_colour(sys.stdout, os.environ)
    say(verdict_text(verdict, report.estimates, colour=colour), color=colour)


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.option("--exact", is_flag=True, help="Read the exact figures of RUN/evidence, and print them (PHI).")
@click.option(
    "--worst",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print the N texts with most of the patients' own text instead, and how to make each again (PHI).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead: results.json, or the texts of --worst.")
def show(run_directory: Path, exact: bool, worst: int | None, as_json: bool) -> int:
    """Print what was found in RUN: the verdict, what to do next, the rules, and where the report stands.

    \b
    Example:
      clinaudit show run/
      clinaudit show run/ --exact
      clinaudit show run/ --worst 10
      clinaudit show run/ --json
    """
    from clinaudit.audit.results.publication.published_files import PAGES, REPORT, read_exact, read_published
    from clinaudit.audit.results.publication.run_verdict import require_concluded
    from clinaudit.audit.runtime.run.manifest import matches_manifest, require_finished_run, verify
    from clinaudit.reports.exports.verdict_files import run_json
    from clinaudit.reports.wording.escaped_text import escape_in_json

    finished = require_finished_run(run_directory)
    verify(finished, but=PAGES)
    published = read_published(finished)
    if worst is not None:
        _say_worst(finished, worst, as_json=as_json)
        return 0
    require_concluded(published)
    shown = read_exact(finished) if exact else published
    if as_json:
        say(escape_in_json(run_json(shown)), nl=False)
    else:
        say_summary(shown, finished.evidence / REPORT if exact else run_directory / REPORT)
    if not matches_manifest(finished, REPORT):
        warn(f"{REPORT} is missing or not what the audit wrote; `clinaudit report` makes it anew")
    return 0


def _say_worst(run: "RunDirectory", number: int, *, as_json: bool) -> None:
    """Print the texts that give most away: PHI, which goes to stdout alone, because the user asked for it."""
    from clinaudit.audit.results.publication.worst_texts import find_worst_texts
    from clinaudit.reports.terminal.worst_texts import command_again, worst_texts
    from clinaudit.reports.wording.escaped_text import escape_in_json

    found = find_worst_texts(run, number)
    if not as_json:
        say(worst_texts(found, run.root), nl=False)
        return
    rows = [{**text, "again": command_again(run.root, text["generation_id"])} for text in found]
    say(escape_in_json(json.dumps(rows, indent=1, ensure_ascii=False)))


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
def verify(run_directory: Path) -> int:
    """Check every file of RUN against its manifest, its verdict against its figures, and print one digest of the run.

    The digest stands for every file of the run: whoever wrote it into the minutes can tell later whether anything was
    changed. Rendering again and purging change the run: its digest is another one then.

    \b
    Example:
      clinaudit verify run/
    """
    from clinaudit.audit.results.publication.published_files import read_published, require_same_verdict
    from clinaudit.audit.results.publication.run_verdict import require_concluded, require_decided
    from clinaudit.audit.runtime.run.manifest import require_finished_run, run_digest
    from clinaudit.audit.runtime.run.manifest import verify as verify_files

    finished = require_finished_run(run_directory)
    count = verify_files(finished)
    published = read_published(finished)
    require_concluded(published)
    require_decided(finished)
    if published.results.verdict is not None:
        require_same_verdict(finished, published.results.verdict)
    say(f"verified: {count} files are what the audit wrote")
    say(f"run digest sha256:{run_digest(finished)}: write it into the minutes")
    return 0


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
    from clinaudit.audit.results.publication.purge import prepare_purge

    with prepare_purge(run_directory, unfinished=unfinished) as planned:
        if planned is None:
            say("nothing to remove: this run was purged before")
            return 0
        what = f"{counted(planned.files, 'file')} ({_size(planned.size_bytes)})"
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
