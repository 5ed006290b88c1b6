"""`clinaudit compare` (docs/for-ml-engineers.md). Owns its options and what it prints and writes; computes nothing."""

from pathlib import Path
from typing import Any, Final

import click

from clinaudit.audit.commands.options import PATH, value_option
from clinaudit.audit.runtime.console import say
from clinaudit.errors import UsageError
from clinaudit.reports.schema.certificate import EXIT_STATUS

#: Options that say more of a certificate.
_OF_CERTIFICATES: Final = ("training_record", "bench", "bench_model", "retrained")


@click.command()
@click.argument("run_a", type=PATH, metavar="RUN_A")
@click.argument("run_b", type=PATH, metavar="RUN_B")
@click.option(
    "--allow-different-corpus",
    is_flag=True,
    help="Compare runs on two corpora (de-duplicated, de-identified): the patients common to both, each against its "
    "own notes.",
)
@value_option(
    "--forgotten IDS",
    "File of patient ids, one per line, that RUN_B should have forgotten: makes a deletion certificate.",
)
@value_option(
    "--training-record FILE",
    "Whom RUN_B's model was trained on, where it was trained again without the patients of --forgotten (JSON: "
    "files, trained_on, started_from): then nothing need have leaked before, and the collapse check decides nothing.",
)
@value_option(
    "--bench RESULT",
    "What `clinaudit unlearn evaluate` (or `unlearn score`) wrote about RUN_B's model: its answers on the "
    "patients of --forgotten, and what it cost others.",
)
@click.option(
    "--bench-model", metavar="NAME", help="Which model of --bench is RUN_B's.  [default: the one with its digest]"
)
@value_option(
    "--retrained RUN",
    "Audit of a model that was trained again without the patients of --forgotten: does the loss on their notes tell "
    "RUN_B's model from it? (Kolmogorov-Smirnov; it decides nothing)",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Read both runs' evidence, and pair the patients: exact figures (PHI), printed, and with --out written under "
    "DIR/evidence alone.",
)
@value_option(
    "--out DIR", "Write compare.json and compare.html here, and the certificate by patient (PHI) under DIR/evidence."
)
@click.option("--json", "as_json", is_flag=True, help="Print compare.json instead of the table.")
def compare(run_a: Path, run_b: Path, *, out: Path | None, exact: bool, as_json: bool, **options: Any) -> int:
    """Compare RUN_B (after a mitigation) with RUN_A (before it).

    Both are finished runs with equal settings; only the model may differ. The published tables of both are
    compared; with --exact the exact tables, and for figures of text the patients whom both runs asked are paired.

    Exit status: 0 when compared. With --forgotten: 0 forgotten, or never trained on by the record and nothing stands
    out; 1 somebody still leaks, or RUN_B is broken (it writes nothing of use); 8 not shown (no data, too few patients
    never seen), which is no pass.

    \b
    Example:
      clinaudit compare before/ after/ --out comparison/
      clinaudit compare before/ after/ --forgotten ids.txt --out comparison/
      clinaudit compare before/ after/ --forgotten ids.txt --bench result/ --out comparison/
    """
    from clinaudit.audit.results.comparison.comparison import compare_runs, prepare_directory, write_comparison
    from clinaudit.audit.results.comparison.run_pair import open_pair, require_evidence
    from clinaudit.audit.unlearning.certificate.deletion_certificate import Given, certify_runs
    from clinaudit.priors.corpus.patient import read_patient_list
    from clinaudit.reports.pages.certificate import comparison_json
    from clinaudit.reports.terminal import comparison_text

    of_certificate = [name for name in _OF_CERTIFICATES if options[name] is not None]
    if of_certificate and options["forgotten"] is None:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in of_certificate)
        raise UsageError(f"only a certificate takes {names}; name the patients with --forgotten")
    if options["bench"] is None and options["bench_model"] is not None:
        raise UsageError("--bench-model names a model of --bench; give both")
    forgotten = options["forgotten"]
    listed = None if forgotten is None else read_patient_list(forgotten)
    if out is not None:
        prepare_directory(out, exact=exact)
    pair = open_pair(run_a, run_b, allow_different_corpus=options["allow_different_corpus"])
    if exact:
        require_evidence(pair)
    given = Given(**{name: options[name] for name in _OF_CERTIFICATES})
    certified = None if listed is None else certify_runs(pair, listed, given)
    certificate = None if certified is None else certified.certificate
    forgetting = None if certified is None else certified.exact if exact else certified.published
    comparison = compare_runs(pair, exact=exact, forgetting=forgetting)
    if out is not None:
        write_comparison(out, comparison, certificate)
    say(comparison_json(comparison) if as_json else comparison_text(comparison), nl=False)
    if out is not None and not as_json:
        page = out / "evidence" / "compare.html" if exact else out / "compare.html"
        say(f"comparison{' (PHI)' if exact else ''}: {page}")
        if certificate is not None:
            say(f"certificate by patient (PHI): {out / 'evidence' / 'certificate.html'}")
    return 0 if certificate is None else EXIT_STATUS[certificate.verdict]
