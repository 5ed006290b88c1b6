"""`clinaudit unlearn requests` (docs/comparing-runs.md, "Many requests"). Owns its options and what it prints."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say


@click.command()
@click.argument("comparisons", nargs=-1, required=True, metavar="COMPARISON...")
@click.option(
    "--out",
    type=PATH,
    metavar="DIR",
    required=True,
    help="Write requests.json and requests.html here; with the legal triggers, where certificates have any, under "
    "DIR/evidence (PHI).",
)
def requests(comparisons: tuple[str, ...], out: Path) -> int:
    """Put the certificates of many deletion requests on one page.

    COMPARISON is a folder that `clinaudit compare --forgotten IDS --out DIR` wrote, or NAME=DIR. Its name stands on the
    page: it must not tell who asked.

    The page gives each request its verdict, how many patients were forgotten at once, and what that cost others, those
    with the same disease apart: what the certificates publish, and no more. Nothing is added up over requests. Why each
    was asked for is PHI, and stands on a page of its own.

    Exit status: 0 when written, whatever the verdicts.

    \b
    Example:
      clinaudit unlearn requests q3/request-1 q3/request-2 --out q3-page/
      clinaudit unlearn requests 2026-014=c1/ 2026-015=c2/ --out q3-page/
    """
    from clinaudit.audit.unlearning.certificate.certified_requests import (
        PAGE,
        parse_comparison,
        prepare_directory,
        read_requests,
        write_requests,
    )
    from clinaudit.reports.terminal.requests import requests_text

    given = read_requests([parse_comparison(value) for value in comparisons])
    prepare_directory(out)
    write_requests(out, given)
    say(requests_text(given.published.requests), nl=False)
    say(f"requests: {out / PAGE}")
    if given.has_triggers:
        say(f"with their legal triggers (PHI): {out / 'evidence' / PAGE}")
    return 0
