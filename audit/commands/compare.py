"""`clinaudit compare` (docs/comparing-runs.md). Owns its options and what it prints and writes; computes nothing."""

from pathlib import Path
from typing import Any, get_args

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say
from clinaudit.errors import UsageError
from clinaudit.reports.schema.certificate import Trigger


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
    "--reference",
    type=PATH,
    metavar="RUN_R",
    help="Finished run of a model that was retrained without the patients of --forgotten: what it writes of them as "
    "well is no memory of them.",
)
@click.option(
    "--trigger",
    type=click.Choice(get_args(Trigger)),
    help="Why the patients of --forgotten must be forgotten, for the certificate (PHI); it decides nothing.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Pair the patients of both runs' evidence: exact figures (PHI), printed, and with --out written under "
    "DIR/evidence alone.",
)
@click.option(
    "--out",
    type=PATH,
    metavar="DIR",
    help="Write compare.json and compare.html here, and the certificate by patient (PHI) under DIR/evidence.",
)
@click.option("--json", "as_json", is_flag=True, help="Print compare.json instead of the table.")
def compare(run_a: Path, run_b: Path, *, out: Path | None, exact: bool, as_json: bool, **options: Any) -> int:
    """Set RUN_B (after a mitigation) beside RUN_A (before it).

    Both are finished runs with equal settings; only the model may differ. The published figures of both are compared,
    ranges like those of a report; with --exact the patients are paired.

    Exit status: 0 when compared. With --forgotten: 0 every named patient is forgotten, 1 some still leak, 8 collapsed
    (RUN_B writes nothing of use) or not shown (no data, too few patients never seen), which is no pass.

    \b
    Example:
      clinaudit compare before/ after/ --out comparison/
      clinaudit compare before/ after/ --forgotten ids.txt --out comparison/
      clinaudit compare before/ after/ --forgotten ids.txt --reference retrained/ --trigger gdpr-17 --out comparison/
    """
    from clinaudit.audit.comparison.comparison import compare_exactly, compare_runs, read_evidence, read_reference
    from clinaudit.audit.comparison.files import prepare_directory, write_comparison, write_exact_comparison
    from clinaudit.audit.comparison.run_pair import open_pair, require_evidence
    from clinaudit.audit.unlearning.deletion_certificate import EXIT_STATUS, certify
    from clinaudit.priors.corpus.patient_list import read_patient_list
    from clinaudit.reports.pages.comparison import comparison_json
    from clinaudit.reports.schema.comparison import ComparisonContent
    from clinaudit.reports.terminal.comparison import comparison_text

    forgotten, reference, trigger = (options[name] for name in ("forgotten", "reference", "trigger"))
    if forgotten is None and (reference is not None or trigger is not None):
        raise UsageError("--reference and --trigger say more of a certificate; name the patients with --forgotten")
    named = None if forgotten is None else read_patient_list(forgotten).ids
    if out is not None:
        prepare_directory(out, exact=exact)
    pair = open_pair(run_a, run_b, allow_different_corpus=options["allow_different_corpus"])
    if exact:
        require_evidence(pair)
    evidence = read_evidence(pair) if pair.paired else None
    certified = None
    if named is not None:
        certified = certify(
            named,
            pair,
            read_evidence(pair, included=named) if pair.paired else None,
            reference=None if reference is None else read_reference(pair, reference, included=named),
            trigger=trigger,
        )
    certificate = None if certified is None else certified.certificate
    if exact and evidence is not None:
        comparison, content = compare_exactly(pair, evidence, forgetting=None if certified is None else certified.exact)
        if out is not None:
            write_exact_comparison(out, comparison, content, certificate)
        text = comparison_json(comparison) if as_json else comparison_text(content)
    else:
        published = compare_runs(pair, evidence, forgetting=None if certified is None else certified.published)
        if out is not None:
            write_comparison(out, published, certificate)
        text = comparison_json(published) if as_json else comparison_text(ComparisonContent(published))
    say(text, nl=False)
    if out is not None and not as_json:
        page = out / "evidence" / "compare.html" if exact else out / "compare.html"
        say(f"comparison{' (PHI)' if exact else ''}: {page}")
        if certificate is not None:
            say(f"certificate by patient (PHI): {out / 'evidence' / 'certificate.html'}")
    return 0 if certificate is None else EXIT_STATUS[certificate.verdict]
