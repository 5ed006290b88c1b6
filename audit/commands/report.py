"""`clinaudit report`. Owns its options and what it prints; computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH, options_of, with_options
from clinaudit.audit.console.streams import say
from clinaudit.audit.settings import IdentityOptions


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.option("--pdf", is_flag=True, help="Write RUN/report.pdf, too, for paper (extra `pdf`, and Debian's Pango).")
@click.option("--one-page", is_flag=True, help="Write RUN/summary.pdf, too: two pages for a committee (extra `pdf`).")
@click.option(
    "--model-card",
    is_flag=True,
    help="Write RUN/model-card.yaml, too: what an audit can fill of the CHAI Applied Model Card.",
)
@click.option(
    "--exact", is_flag=True, help="Name RUN/evidence/report.html (PHI), too; an error where the run was purged."
)
@with_options(options_of(IdentityOptions))
def report(
    run_directory: Path, pdf: bool, one_page: bool, model_card: bool, exact: bool, **identity: str | None
) -> int:
    """Render the report of RUN again, from its published results; the exact one too, where the evidence is there.

    With --model-name, --institution or --date it says from now on which model was audited, by whom and when, and
    whatever was rendered before is rendered again.

    \b
    Example:
      clinaudit report run/ --pdf --one-page
      clinaudit report run/ --model-name "Scribe 3" --institution "St. Anne" --date 2026-11-22
      clinaudit report run/ --model-card
      clinaudit report run/ --exact
    """
    from clinaudit.audit.publication.identity import kept_identity
    from clinaudit.audit.publication.published_files import (
        MODEL_CARD,
        PDF,
        REPORT,
        SUMMARY,
        has_evidence,
        render_again,
        rendered_files,
    )
    from clinaudit.audit.run.directory import hold_lock_of_finished
    from clinaudit.audit.run.manifest import is_half_replaced, require_finished_run, verify
    from clinaudit.errors import BadInputError
    from clinaudit.reports.schema.identity import Identity

    given = Identity(**identity)
    finished = require_finished_run(run_directory)
    with hold_lock_of_finished(finished):
        if exact and not has_evidence(finished):
            raise BadInputError(f"{run_directory.name} has no evidence: it was purged; leave --exact out")
        wanted = {PDF: pdf, SUMMARY: one_page, MODEL_CARD: model_card}
        if given != Identity() or is_half_replaced(finished):
            # What was rendered before must not name another model than the rest, also where a stop left it half done.
            wanted = {name: asked or (finished.root / name).is_file() for name, asked in wanted.items()}
        exact_report = f"{finished.evidence.name}/{REPORT}"
        rendered = [REPORT, *(name for name, asked in wanted.items() if asked)]
        # All files but those rendered anew: the new manifest must not list a file that somebody changed.
        verify(finished, but=(*rendered, *rendered_files(finished)))
        render_again(
            finished,
            pdf=wanted[PDF],
            one_page=wanted[SUMMARY],
            model_card=wanted[MODEL_CARD],
            identity=None if given == Identity() else kept_identity(finished).updated(given).as_record(),
        )
    for name in rendered:
        say(f"report: {run_directory / name}")
    if exact:
        say(f"exact report (PHI): {run_directory / exact_report}")
    return 0
