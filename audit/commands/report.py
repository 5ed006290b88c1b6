"""`clinaudit report` and `evidence`: the pages of finished runs. Computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH, options_of, value_option, with_options
from clinaudit.audit.runtime.console.streams import say
from clinaudit.audit.runtime.settings import IdentityOptions
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.identity import Identity


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.option(
    "--exact", is_flag=True, help="Name RUN/evidence/report.html (PHI), too; an error where the run was purged."
)
@with_options(options_of(IdentityOptions))
def report(run_directory: Path, exact: bool, **identity: str | None) -> int:
    """Render the report of RUN again, from its published results; the exact one too, where the evidence is there.

    With --model-name, --institution, --date or --intended-use both say from now on which model was audited, by whom,
    when, and for which use.

    \b
    Example:
      clinaudit report run/
      clinaudit report run/ --model-name "Scribe 3" --institution "St. Anne" --date 2026-11-22
      clinaudit report run/ --intended-use "Drafts visit notes that clinicians edit"
      clinaudit report run/ --exact
    """
    from clinaudit.audit.results.publication.published_files import ANNEX, REPORT, has_evidence, render_again
    from clinaudit.audit.runtime.run.directory import hold_lock_of_finished
    from clinaudit.audit.runtime.run.manifest import require_finished_run

    finished = require_finished_run(run_directory)
    with hold_lock_of_finished(finished):
        if exact and not has_evidence(finished):
            raise BadInputError(f"{run_directory.name} has no evidence: it was purged; leave --exact out")
        render_again(finished, Identity(**identity))
    say(f"report: {run_directory / REPORT} (and {ANNEX} beside it)")
    if exact:
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
