"""`clinaudit evidence`. Owns its options and what it prints; computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.argument("corpus", type=PATH)
@click.option("--template", type=PATH, help="Note-template profile of the audit.  [default: soap]")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    # A browser opens a page of some tens of megabytes; so many with their notes are a few.
    default=500,
    show_default=True,
    help="Generations on the page, those with the most text of patients, own or others'.",
)
def evidence(run_directory: Path, corpus: Path, template: Path | None, limit: int) -> int:
    """Write a page that shows the texts of RUN beside the notes they repeat. It is PHI.

    The page is RUN/evidence/evidence.html, for those cleared to see the notes: it opens from the file, without a
    server, and sends nothing anywhere. A row is one text: how much of it stands in the patient's notes, whose notes
    hold what is another patient's, what the judge read in it, and whether that is true. It can be searched, sorted
    and filtered, and each text has an address. CORPUS is the one that RUN audited; `clinaudit purge` removes the
    page with the rest of the evidence.

    \b
    Example:
      clinaudit evidence run/ corpus/
      clinaudit evidence run/ corpus/ --limit 2000
    """
    from clinaudit.audit.publication.evidence_page import EVIDENCE_PAGE, write_evidence_page

    page = write_evidence_page(run_directory, corpus, template=template, limit=limit)
    if len(page.texts) < page.found:
        say(f"{len(page.texts):,} of {page.found:,} generations shown; the others stand in the tables")
    say(f"evidence (PHI): {run_directory / 'evidence' / EVIDENCE_PAGE}")
    return 0
