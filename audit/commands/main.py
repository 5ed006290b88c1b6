"""The command line (docs/commands.md). Owns options, exit statuses and what is printed; computes nothing.

Everything heavy is imported inside the command that needs it, so that `--help` answers at once.
"""

import os
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

import clinaudit
from clinaudit.audit.commands.compare import compare
from clinaudit.audit.commands.evidence import evidence
from clinaudit.audit.commands.gate import gate
from clinaudit.audit.commands.judge_check import judge_check
from clinaudit.audit.commands.options import judge_options, policy_option
from clinaudit.audit.commands.purge import purge
from clinaudit.audit.console.streams import note, say
from clinaudit.errors import ClinauditError, StorageError
from clinaudit.priors.tiers import TIER_IDS

_INTERRUPTED = 130
_USAGE = 2
#: A fault of ours: what was finished is kept, and nothing may read it as a pass.
_BUG = 4
Command = TypeVar("Command", bound=Callable[..., Any])
#: As in settings.py, which takes too long to import here.
_MAX_NGRAM = 10_000
# Not `readable`: what cannot be read is told from what is no option's value, where it is opened.
_DIRECTORY = click.Path(path_type=Path, readable=False)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return the exit status. An error is one line on stderr, never a traceback."""
    # Libraries warn in words of their own, and may quote what they work on.
    warnings.simplefilter("ignore")
    if threading.current_thread() is threading.main_thread():
        # A shell's background job starts with the interrupt ignored; here it always stops the work, in good order.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        # Not `main.main`, which prints a line of its own when it is interrupted.
        with main.make_context("clinaudit", list(arguments)) as context:
            status = main.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError:
        note("error[USAGE]: no command given; see clinaudit --help")
        return _USAGE
    except click.ClickException as error:
        note(f"error[USAGE]: {_one_line(error.format_message())}; see clinaudit --help")
        return _USAGE
    except (KeyboardInterrupt, click.Abort):
        note("error[INTERRUPTED]: stopped; run the same command again to go on")
        return _INTERRUPTED
    except ClinauditError as error:
        from clinaudit.reports.wording.safe_text import harmless

        # A setting that a run recorded may be named, whatever it holds.
        note("\n".join(map(harmless, error.render().split("\n"))))
        return error.status
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        note(f"error[STORAGE]: {reason}; mend it and run the same command again")
        return StorageError.status
    except Exception as error:  # noqa: BLE001 (a traceback could hold note text; its last place tells where)
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        note(f"error[BUG]: {type(error).__name__} at {where}; please report this line")
        return _BUG
    return status if isinstance(status, int) else 0


def _one_line(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(clinaudit.__version__, message="clinaudit %(version)s")
def main() -> None:
    """Find out what a clinical language model gives away about the patients it was trained on.

    \b
    Examples:
      clinaudit demo                                   see it work on invented patients
      clinaudit check corpus/                          what an audit would cover
      clinaudit audit model/ corpus/ --out run/        the audit; the exit status is the verdict
      clinaudit gate run/ --policy policy.toml         the verdict again, under another policy

    Exit status: 0 pass, 1 fail, 2 usage, 3 bad input, 4 incomplete (run again to go on), 5 refused as unsafe,
    6 storage, 7 integrity, 8 inconclusive, 130 interrupted.

    Colour: on a terminal; never with NO_COLOR, always with FORCE_COLOR.
    """


main.add_command(gate)
main.add_command(compare)
main.add_command(judge_check)
main.add_command(purge)
main.add_command(evidence)


def _ray_option() -> Callable[[Command], Command]:
    return click.option(
        "--ray-address", metavar="HOST:PORT", help="Ray cluster that takes the work: same results (docs/scale.md)."
    )


def _audit_options(command: Command) -> Command:
    options = [
        click.option("--config", type=_DIRECTORY, help="TOML file with any of these options."),
        click.option(
            "--engine",
            type=click.Choice(["auto", "vllm", "transformers", "openai"]),
            help="What decodes; auto takes vLLM where it is installed.  [default: auto]",
        ),
        click.option("--tokenizer", type=_DIRECTORY, metavar="DIR", help="Tokenizer of a served MODEL."),
        click.option("--context-length", type=click.IntRange(min=1), help="Context of a served MODEL, in tokens."),
        click.option(
            "--phi-approved",
            multiple=True,
            metavar="HOST",
            help="Host other than loopback that a served MODEL or judge may stand on (repeatable).",
        ),
        *judge_options(),
        policy_option(),
        click.option(
            "--tier",
            type=click.Choice(TIER_IDS),
            multiple=True,
            help="Probe this tier only (repeatable).  [default: all]",
        ),
        click.option("--diagnosis", multiple=True, help="Audit this diagnosis only (repeatable).  [default: all]"),
        click.option("--seed", type=click.IntRange(min=0), help="Of every random choice.  [default: 0]"),
        click.option("--ngram", type=click.IntRange(1, _MAX_NGRAM), help="Tokens a match must hold.  [default: 30]"),
        click.option("--max-new-tokens", type=click.IntRange(min=1), help="Tokens to decode at most.  [default: 1000]"),
        click.option(
            "--patients-per-cell", type=click.IntRange(min=1), help="Patients in each cell of a cohort.  [default: 100]"
        ),
        click.option("--matcher", type=click.Choice(["psm", "optimal"]), help="How cohorts match.  [default: psm]"),
        click.option(
            "--caliper",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SD",
            help="Match no pair farther apart than this, in SDs of the propensity's logit.  [default: none]",
        ),
        click.option(
            "--second-matcher",
            type=click.Choice(["psm", "optimal"]),
            help="Give the disclosure deltas on this matcher's cohorts, too; more patients are probed.",
        ),
        click.option(
            "--controls",
            type=click.Choice(["sensitive", "any"]),
            help="Controls have some sensitive diagnosis, or any patient may be one.  [default: sensitive]",
        ),
        click.option("--template", type=_DIRECTORY, help="Note-template profile.  [default: the SOAP template]"),
        _ray_option(),
        click.option("--training-log", type=_DIRECTORY, help="JSONL with a row an epoch, for the report."),
        click.option(
            "--quiet",
            is_flag=True,
            default=None,
            help="No progress and no table: only the verdict and the path of the report.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@main.command()
@click.argument("model")
@click.argument("corpus", type=_DIRECTORY)
@click.option(
    "--out", type=_DIRECTORY, required=True, metavar="RUN", help="Directory of the run; resumed if it exists."
)
@_audit_options
def audit(config: Path | None, **options: Any) -> int:
    """Audit MODEL against CORPUS; the exit status is the verdict.

    MODEL is a Hugging Face model directory (safetensors), or openai:BASE_URL#MODEL_NAME for a served one.

    Running the same command again goes on where it stopped. The report is RUN/report.html; everything under
    RUN/evidence is PHI.

    \b
    Example:
      clinaudit audit model/ corpus/ --out run/ --policy policy.toml
    """
    from clinaudit.audit.settings import read_settings

    settings = read_settings(options, config=config)
    return _audit_and_say(settings)


def _audit_and_say(settings: Any) -> int:
    from clinaudit.audit.commands.summary import say_summary
    from clinaudit.audit.gate.evaluation import EXIT_STATUS
    from clinaudit.audit.pipeline import run_audit

    os.umask(0o077)
    results = run_audit(settings)
    say_summary(results, settings.out / "report.html", quiet=settings.quiet)
    return EXIT_STATUS[results.decision.status] if results.decision else EXIT_STATUS["inconclusive"]


@main.command()
@click.argument("directory", type=_DIRECTORY, default=Path("demo"), metavar="[DIR]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the patients and the model.")
@click.option("--quiet", is_flag=True, help="No progress and no table: only the verdict and the path of the report.")
def demo(directory: Path, seed: int, quiet: bool) -> int:
    """Make invented patients, train a small model on half of them, and audit it; all on this machine.

    Leaves DIR/corpus, DIR/model and DIR/run (DIR: demo). Takes some minutes the first time. Exits 0 when the audit
    completes, whatever its verdict: this model memorized its notes, and should fail.

    \b
    Example:
      clinaudit demo demo/ --seed 1
    """
    from clinaudit.audit.demo.run import run_demo

    os.umask(0o077)
    settings = run_demo(directory, seed=seed, quiet=quiet)
    _audit_and_say(settings)
    return 0


@main.command()
@click.argument("corpus", type=_DIRECTORY)
@click.option("--template", type=_DIRECTORY, help="Note-template profile.  [default: the SOAP template]")
def check(corpus: Path, template: Path | None) -> int:
    """Validate CORPUS and say what an audit of it would cover; runs no model.

    \b
    Example:
      clinaudit check corpus/
    """
    from clinaudit.priors.coverage import describe_coverage

    say(describe_coverage(corpus, template=template), nl=False)
    return 0


@main.command()
@click.argument("generations", type=_DIRECTORY)
@click.argument("corpus", type=_DIRECTORY)
@click.option("--tokenizer", type=_DIRECTORY, required=True, metavar="DIR", help="Directory of the model's tokenizer.")
@click.option("--out", type=_DIRECTORY, required=True, metavar="RUN", help="Directory of the run.")
@click.option("--template", type=_DIRECTORY, help="Note-template profile.  [default: the SOAP template]")
@click.option(
    "--ngram", type=click.IntRange(1, _MAX_NGRAM), default=30, show_default=True, help="Tokens a match must hold."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap.")
@_ray_option()
@click.option("--quiet", is_flag=True, help="No progress and no table: only the verdict and the path of the report.")
def analyze(
    generations: Path,
    corpus: Path,
    tokenizer: Path,
    out: Path,
    template: Path | None,
    ngram: int,
    seed: int,
    ray_address: str | None,
    quiet: bool,
) -> int:
    """Analyse memorization in GENERATIONS (.jsonl or .parquet), made elsewhere, against CORPUS.

    Columns: generation_id, patient_id, tier, text; optionally prompt, token_ids, diagnoses.

    \b
    Example:
      clinaudit analyze generations.jsonl corpus/ --tokenizer model/ --out run/
    """
    from clinaudit.audit.analyze_pipeline import analyze_file
    from clinaudit.audit.commands.summary import say_summary

    os.umask(0o077)
    results = analyze_file(
        generations,
        corpus,
        tokenizer_directory=tokenizer,
        out=out,
        template=template,
        ngram=ngram,
        seed=seed,
        quiet=quiet,
        ray_address=ray_address,
    )
    say_summary(results, out / "report.html", quiet=quiet)
    return 0


@main.command()
@click.argument("run_directory", type=_DIRECTORY, metavar="RUN")
@click.option("--pdf", is_flag=True, help="Write RUN/report.pdf, too, for paper (extra `pdf`, and Debian's Pango).")
def report(run_directory: Path, pdf: bool) -> int:
    """Render the report of RUN again, from its published results.

    \b
    Example:
      clinaudit report run/ --pdf
    """
    from clinaudit.audit.publication.published_files import PDF, REPORT, render_again
    from clinaudit.audit.run.directory import hold_lock_of_finished
    from clinaudit.audit.run.manifest import require_finished_run, verify

    finished = require_finished_run(run_directory)
    with hold_lock_of_finished(finished):
        # Everything but what is made anew: a new manifest must not bless a file that somebody changed.
        verify(finished, but=(REPORT, PDF) if pdf else (REPORT,))
        render_again(finished, pdf=pdf)
    say(f"report: {run_directory / (PDF if pdf else REPORT)}")
    return 0


@main.command()
@click.argument("run_directory", type=_DIRECTORY, metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="Print results.json instead.")
def show(run_directory: Path, as_json: bool) -> int:
    """Print the summary table of RUN and the path of its report, as at the end of the audit.

    \b
    Example:
      clinaudit show run/ --json
    """
    from clinaudit.audit.commands.summary import say_summary
    from clinaudit.audit.publication.published_files import REPORT, read_results
    from clinaudit.audit.run.manifest import is_as_written, require_finished_run, verify
    from clinaudit.reports.schema.results import to_json
    from clinaudit.reports.wording.safe_text import escape_in_json

    finished = require_finished_run(run_directory)
    verify(finished, but=(REPORT,))
    results = read_results(finished)
    if as_json:
        say(escape_in_json(to_json(results)), nl=False)
    else:
        say_summary(results, run_directory / REPORT)
    if not is_as_written(finished, REPORT):
        note(f"{REPORT} is missing or not what the audit wrote; `clinaudit report` makes it anew")
    return 0


@main.command()
@click.argument("run_directory", type=_DIRECTORY, metavar="RUN")
def verify(run_directory: Path) -> int:
    """Check every file of RUN against its manifest.

    \b
    Example:
      clinaudit verify run/
    """
    from clinaudit.audit.run.manifest import require_finished_run
    from clinaudit.audit.run.manifest import verify as verify_files

    count = verify_files(require_finished_run(run_directory))
    say(f"verified: {count} files are what the audit wrote")
    return 0
