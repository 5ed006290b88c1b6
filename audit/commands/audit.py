"""`clinaudit audit`, `analyze` and `demo`: what runs a model or reads its generations. Computes nothing."""

from pathlib import Path
from typing import Any

import click

from clinaudit.audit.commands.options import PATH, GroupedCommand, not_empty, options_of, value_option, with_options
from clinaudit.audit.commands.show import say_summary
from clinaudit.audit.runtime import settings as groups
from clinaudit.audit.runtime.console import say
from clinaudit.audit.runtime.settings import AuditSettings, ReadingOptions
from clinaudit.reports.wording.escaped_text import harmless_text, shell_word

_AUDIT_OPTIONS = [
    value_option("--config", "TOML file with any of these options."),
    *options_of(ReadingOptions, "progress", "quiet"),
    *options_of(groups.ModelOptions, title="The model"),
    *options_of(groups.ScoringOptions, title="Scores and the control model"),
    *options_of(ReadingOptions, but=("progress", "quiet"), title="Reading and matching notes"),
    *options_of(groups.PromptOptions, title="Patients and prompts"),
    *options_of(groups.JudgeOptions, title="The judge"),
    *options_of(groups.ReportOptions, title="The verdict and the report"),
]


@click.command(cls=GroupedCommand)
@click.argument("model", callback=not_empty)
@click.argument("corpus", type=PATH)
@value_option("--out RUN", "The run; resumed if it exists.", required=True)
@with_options(_AUDIT_OPTIONS)
def audit(config: Path | None, **options: Any) -> int:
    """Audit MODEL against CORPUS; the exit status is the verdict.

    MODEL is a Hugging Face model directory (safetensors), a LoRA adapter directory (with --base-model), or
    openai:BASE_URL#MODEL_NAME for a served model.

    Running the same command again resumes where it stopped. The report is RUN/report.html; everything under
    RUN/evidence is PHI.

    \b
    Example:
      clinaudit audit model/ corpus/ --out run/ --policy policy.toml
      clinaudit audit model/ corpus/ --out run/ --model-name "Scribe 3" --institution "St. Anne" --date 2026-11-22
    """
    return audit_and_say(groups.read_settings(options, config=config))


def audit_and_say(settings: AuditSettings) -> int:
    """Audit, print the summary, and return the verdict's exit status."""
    from clinaudit.audit.assembly.pipeline import run_audit
    from clinaudit.audit.results.gate.verdict import EXIT_STATUS
    from clinaudit.audit.results.publication.published_files import kept_identity
    from clinaudit.audit.runtime.run.directory import RunDirectory

    report = run_audit(settings)
    say_summary(report, settings.out / "report.html", quiet=settings.quiet)
    identity = kept_identity(RunDirectory(settings.out)).as_record()
    missing = [f"--{name.replace('_', '-')} …" for name, value in identity.items() if value is None]
    if missing and not settings.quiet:
        say(f"to say whose report it is: clinaudit report {shell_word(settings.out)} {' '.join(missing)}")
    verdict = report.results.verdict
    return EXIT_STATUS["inconclusive" if verdict is None else verdict.status]


@click.command()
@click.argument("generations", type=PATH)
@click.argument("corpus", type=PATH)
@value_option("--tokenizer DIR", "Directory of the model's tokenizer.", required=True)
@value_option("--out RUN", "Directory of the run.", required=True)
@with_options(options_of(ReadingOptions))
def analyze(**options: Any) -> int:
    """Analyse memorization and identifiers in GENERATIONS, made elsewhere.

    They are compared with CORPUS: what stands in the patients' notes, and whose identifiers are given.

    GENERATIONS is a .jsonl file (an object a line; also .jsonl.gz and .jsonl.zst) or a .parquet file. Columns, as text:
    generation_id (unique), patient_id, tier and text; optionally prompt, and as lists token_ids (whole numbers, of the
    tokenizer) and diagnoses (ids). docs/corpus-format.md says what each may hold.

    \b
    Example:
      clinaudit analyze generations.jsonl corpus/ --tokenizer model/ --out run/
    """
    from clinaudit.audit.assembly.pipeline import analyze_file

    settings = groups.AnalyzeSettings(**{name: value for name, value in options.items() if value is not None})
    report = analyze_file(settings)
    say_summary(report, settings.out / "report.html", quiet=settings.quiet)
    return 0


@click.command()
@click.argument("directory", type=PATH, default=Path("demo"), metavar="[DIR]")
@value_option("--seed", "Seed of the patients and the model.", click.IntRange(min=0), default=0)
@click.option("--quiet", is_flag=True, help="No progress and no table: only the verdict and the path of the report.")
def demo(directory: Path, seed: int, quiet: bool) -> int:
    """Make invented patients, train a small model on half of them, and audit it; all on this machine.

    Leaves DIR/corpus, DIR/base (the untrained model), DIR/model and DIR/run (DIR: demo). Takes some minutes the first
    time; stopped while it trains, it trains anew, and later goes on where it stopped. Exits 0 when the audit completes,
    whatever its verdict: this model memorized its notes, and should fail.

    \b
    Example:
      clinaudit demo demo/ --seed 1
    """
    from clinaudit.audit.demo.training import run_demo

    settings = run_demo(directory, seed=seed, quiet=quiet)
    audit_and_say(settings)
    if not quiet:
        run = shell_word(settings.out)
        lines = [
            "",
            "This was the demo: its patients are invented. It should fail: the model knows their notes by heart.",
            "What stands above is for real patients. Next here, after `. .venv/bin/activate` in a checkout:",
            f"  open {run}/report.html",
            f"  open {run}/evidence/evidence.html    (each text beside the note that it repeats)",
            "  clinaudit check YOUR-CORPUS    (what an audit of your own notes would cover: docs/tutorial.md)",
            "  docs/mask.md: a prompt to a model outside, with its identifiers masked",
            "  docs/forgetting.md: a patient asks to be forgotten",
        ]
        say("\n".join(map(harmless_text, lines)))
    return 0
