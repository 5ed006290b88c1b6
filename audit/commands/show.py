"""`clinaudit show`, `report`, `evidence`, `again`, `verify` and `purge`: what is done with a finished run.

Computes nothing.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clinaudit.audit.commands.options import PATH, options_of, value_option, with_options
from clinaudit.audit.runtime.choices import EngineChoice
from clinaudit.audit.runtime.console import say, warn
from clinaudit.audit.runtime.settings import IdentityOptions
from clinaudit.errors import UsageError
from clinaudit.reports.schema.identity import Identity
from clinaudit.reports.wording.numbers import counted

if TYPE_CHECKING:
    from clinaudit.reports.schema.run_results import RunReport, Verdict


def say_summary(report: "RunReport", page: Path, *, quiet: bool = False) -> None:
    """Print the summary of a run (`quiet`: its verdict alone) and the path of its report."""
    from clinaudit.reports.terminal import report_text, verdict_line

    verdict = report.results.verdict
    if not quiet:
        say(f"{report_text(report)}\n")
    elif verdict is not None:
        say(verdict_line(verdict))
    say(f"report: {page}")


def say_rules(verdict: "Verdict", report: "RunReport") -> None:
    """Print a verdict rule by rule, with the figures of a report."""
    from clinaudit.reports.terminal import verdict_text

    say(verdict_text(verdict, report.estimates))


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
    from clinaudit.audit.results.publication import published_files as files
    from clinaudit.audit.results.publication.evidence_page import find_worst_texts
    from clinaudit.audit.results.publication.published_files import REPORT
    from clinaudit.audit.runtime.run.manifest import matches_manifest, require_finished_run, verify
    from clinaudit.reports.exports import run_json
    from clinaudit.reports.terminal import command_again, worst_texts
    from clinaudit.reports.wording.escaped_text import escape_in_json

    finished = require_finished_run(run_directory)
    verify(finished, but=files.PAGES)
    published = files.read_published(finished)
    if worst is not None:
        # PHI, which goes to stdout alone, because the user asked for it.
        found = find_worst_texts(finished, worst)
        if as_json:
            rows = [{**text, "again": command_again(finished.root, text["generation_id"])} for text in found]
            say(escape_in_json(json.dumps(rows, indent=1, ensure_ascii=False)))
        else:
            say(worst_texts(found, finished.root), nl=False)
        return 0
    files.require_concluded(published)
    shown = files.read_exact(finished) if exact else published
    if as_json:
        say(escape_in_json(run_json(shown)), nl=False)
    else:
        say_summary(shown, finished.evidence / REPORT if exact else run_directory / REPORT)
    if not matches_manifest(finished, REPORT):
        warn(f"{REPORT} is missing or not what the audit wrote; `clinaudit report` makes it anew")
    return 0


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
    from clinaudit.audit.results.publication import published_files as files
    from clinaudit.audit.runtime.run import manifest

    finished = manifest.require_finished_run(run_directory)
    count = manifest.verify(finished)
    published = files.read_published(finished)
    files.require_concluded(published)
    files.require_decided(finished)
    if published.results.verdict is not None:
        files.require_same_verdict(finished, published.results.verdict)
    say(f"verified: {count} files are what the audit wrote")
    say(f"run digest sha256:{manifest.run_digest(finished)}: write it into the minutes")
    return 0


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
    if planned.links:
        say(f"{counted(planned.links, 'link')} among them: what they led to stays; remove it by hand where it is PHI")
    if not unfinished:
        say(f"report: {run_directory / 'report.html'}")
    kept = "file systems, snapshots and backups may keep the blocks, and copies made elsewhere stay"
    say(f"Removed is not erased: {kept}.")
    return 0


def _size(size_bytes: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size_bytes >= size:
            return f"{size_bytes / size:.1f} {unit}"
    return f"{size_bytes} bytes"


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@with_options(options_of(IdentityOptions))
def report(run_directory: Path, **identity: str | None) -> int:
    """Render the report of RUN again, from its published results; the exact one too, where the evidence is there.

    With --model-name, --institution, --date or --intended-use both say from now on which model was audited, by whom,
    when, and for which use.

    \b
    Example:
      clinaudit report run/
      clinaudit report run/ --model-name "Scribe 3" --institution "St. Anne" --date 2026-11-22
      clinaudit report run/ --intended-use "Drafts visit notes that clinicians edit"
    """
    from clinaudit.audit.results.publication.published_files import ANNEX, REPORT, has_evidence, render_again
    from clinaudit.audit.runtime.run.directory import hold_lock_of_finished
    from clinaudit.audit.runtime.run.manifest import require_finished_run

    finished = require_finished_run(run_directory)
    with hold_lock_of_finished(finished):
        render_again(finished, Identity(**identity))
    say(f"report: {run_directory / REPORT} (and {ANNEX} beside it)")
    if has_evidence(finished):
        say(f"exact report (PHI): {finished.evidence / REPORT}")
    return 0


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.argument("corpus", type=PATH)
@value_option("--template", "Note-template profile of the audit.  [default: soap]")
@value_option(
    "--limit",
    "Generations on the page: the ones with most text of patients, own or others'.",
    click.IntRange(min=1),
    default=500,
)
def evidence(run_directory: Path, corpus: Path, template: Path | None, limit: int) -> int:
    """Write a page that shows the texts of RUN beside the notes they repeat. It is PHI.

    The page is RUN/evidence/evidence.html, for readers who may see the notes: it opens from the file, without a
    server, and sends nothing anywhere. A row is one text: how much of it stands in the patient's notes or in another
    patient's, what the judge read in it, and whether that is true. The page can be searched, sorted and filtered, and
    each text has an address. CORPUS is the one that RUN audited; `clinaudit purge` removes the page with the rest of
    the evidence.

    \b
    Example:
      clinaudit evidence run/ corpus/
      clinaudit evidence run/ corpus/ --limit 2000
    """
    from clinaudit.audit.results.publication.evidence_page import EVIDENCE_PAGE, write_page_again

    page = write_page_again(run_directory, corpus, template=template, limit=limit)
    if len(page.texts) < page.found:
        say(f"{len(page.texts):,} of {page.found:,} generations shown; the others stand in the tables")
    say(f"evidence (PHI): {run_directory / 'evidence' / EVIDENCE_PAGE}")
    return 0


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.argument("generation_id", metavar="ID")
@click.argument("model", type=PATH)
@click.option("--engine", type=click.Choice(["auto", "vllm", "transformers"]), default="auto", show_default=True)
@value_option("--base-model DIR", "The model that an adapter (MODEL) was trained on.", name="base_model")
def again(run_directory: Path, generation_id: str, model: Path, engine: EngineChoice, base_model: Path | None) -> int:
    """Generate text ID of RUN anew from its prompt, and print it. It is PHI.

    `clinaudit show RUN --worst N` and the evidence page give ids. MODEL must be the files that RUN audited. Nothing is
    written. The last digits of a model's numbers depend on the batch, so now and then a text differs.

    \b
    Example:
      clinaudit again run/ g1f0b9c model/
    """
    from clinaudit.audit.assembly.again import make_again
    from clinaudit.reports.wording.escaped_text import harmless_text

    text, before = make_again(run_directory, generation_id, model, engine=engine, base=base_model)
    say("\n".join(map(harmless_text, text.splitlines())))
    other = "another text than in the run: another machine, engine or batch may decide a close call otherwise"
    warn("the same text as in the run" if text == before else other)
    return 0
