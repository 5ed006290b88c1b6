"""`clinaudit compare` (docs/comparing-runs.md). Owns its options and what it prints and writes; computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say


@click.command()
@click.argument("run_a", type=PATH, metavar="RUN_A")
@click.argument("run_b", type=PATH, metavar="RUN_B")
@click.option(
    "--allow-different-corpus",
    is_flag=True,
    help="Compare runs on two corpora (de-duplicated, de-identified): the patients common to both, each against its "
    "own notes.",
)
@click.option(
    "--forgotten",
    type=PATH,
    metavar="IDS",
    help="File of patient ids, one a line, that RUN_B should have forgotten: makes a deletion certificate.",
)
@click.option(
    "--out",
    type=PATH,
    metavar="DIR",
    help="Write compare.json and compare.html here, and the certificate by patient (PHI) under DIR/evidence.",
)
@click.option("--json", "as_json", is_flag=True, help="Print compare.json instead of the table.")
def compare(
    run_a: Path, run_b: Path, allow_different_corpus: bool, forgotten: Path | None, out: Path | None, as_json: bool
) -> int:
    """Set RUN_B (after a mitigation) beside RUN_A (before it), patient by patient.

    Both are finished runs with equal settings; only the model may differ. What is printed and written is suppressed
    like a report. Without the evidence of both runs, published figures are compared, unpaired.

    Exit status: 0 when compared. With --forgotten: 0 every named patient is forgotten, 1 some still leak, 8 not shown
    (no data, too few held-out patients, or RUN_B writes nothing of use), which is no pass.

    \b
    Example:
      clinaudit compare before/ after/ --out comparison/
      clinaudit compare before/ after/ --forgotten ids.txt --out comparison/
    """
    from clinaudit.audit.comparison.comparison import compare_runs, read_evidence
    from clinaudit.audit.comparison.files import prepare_directory, write_comparison
    from clinaudit.audit.comparison.run_pair import open_pair
    from clinaudit.audit.unlearning.deletion_certificate import EXIT_STATUS, certify, read_ids
    from clinaudit.reports.pages.comparison import comparison_json
    from clinaudit.reports.terminal.comparison import comparison_text

    named = None if forgotten is None else read_ids(forgotten)
    if out is not None:
        prepare_directory(out)
    pair = open_pair(run_a, run_b, allow_different_corpus=allow_different_corpus)
    evidence = read_evidence(pair) if pair.paired else None
    comparison = compare_runs(pair, evidence)
    certificate = None
    if named is not None:
        certificate, forgetting = certify(named, pair, evidence)
        comparison = comparison.model_copy(update={"forgetting": forgetting})
    if out is not None:
        write_comparison(out, comparison, certificate)
    say(comparison_json(comparison) if as_json else comparison_text(comparison), nl=False)
    if out is not None and not as_json:
        say(f"comparison: {out / 'compare.html'}")
        if certificate is not None:
            say(f"certificate by patient (PHI): {out / 'evidence' / 'certificate.html'}")
    return 0 if certificate is None else EXIT_STATUS[certificate.verdict]
