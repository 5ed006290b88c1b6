"""`clinaudit audit`. Owns its options, and the exit status of each verdict; computes nothing."""

from pathlib import Path
from typing import Any

import click

from clinaudit.audit.commands.options import PATH, Command, GroupedCommand, not_empty, options_of, with_options
from clinaudit.audit.console.streams import say
from clinaudit.audit.settings import (
    AuditSettings,
    JudgeOptions,
    ModelOptions,
    PromptOptions,
    ReadingOptions,
    ReportOptions,
    read_settings,
)


def _audit_options(command: Command) -> Command:
    options = [
        click.option("--config", type=PATH, help="TOML file with any of these options."),
        *options_of(ReadingOptions, "quiet"),
        *options_of(ModelOptions, title="The model"),
        *options_of(ReadingOptions, but=("quiet",), title="Reading and matching notes"),
        *options_of(PromptOptions, title="Patients and prompts"),
        *options_of(JudgeOptions, title="The judge"),
        *options_of(ReportOptions, title="The verdict and the report"),
    ]
    return with_options(options)(command)


@click.command(cls=GroupedCommand)
@click.argument("model", callback=not_empty)
@click.argument("corpus", type=PATH)
@click.option("--out", type=PATH, required=True, metavar="RUN", help="Directory of the run; resumed if it exists.")
@_audit_options
def audit(config: Path | None, **options: Any) -> int:
    """Audit MODEL against CORPUS; the exit status is the verdict.

    MODEL is a Hugging Face model directory (safetensors), a LoRA adapter's (with --base-model), or
    openai:BASE_URL#MODEL_NAME for a served one.

    Running the same command again goes on where it stopped. The report is RUN/report.html; everything under
    RUN/evidence is PHI.

    \b
    Example:
      clinaudit audit model/ corpus/ --out run/ --policy policy.toml
      clinaudit audit model/ corpus/ --out run/ --model-name "Scribe 3" --institution "St. Anne" --date 2026-11-22
    """
    settings = read_settings(options, config=config)
    return audit_and_say(settings)


def audit_and_say(settings: AuditSettings) -> int:
    """Audit, print the summary, and return the verdict's exit status."""
    from clinaudit.audit.commands.summary import say_summary
    from clinaudit.audit.gate.rules import EXIT_STATUS
    from clinaudit.audit.pipeline import run_audit
    from clinaudit.audit.publication.identity import kept_identity
    from clinaudit.audit.run.directory import RunDirectory
    from clinaudit.reports.wording.escaped_text import shell_word

    results = run_audit(settings)
    say_summary(results, settings.out / "report.html", quiet=settings.quiet)
    identity = kept_identity(RunDirectory(settings.out)).as_record()
    missing = [f"--{name.replace('_', '-')} …" for name, value in identity.items() if value is None]
    if missing and not settings.quiet:
        say(f"to say whose report it is: clinaudit report {shell_word(settings.out)} {' '.join(missing)}")
    return EXIT_STATUS[results.decision.status] if results.decision else EXIT_STATUS["inconclusive"]
