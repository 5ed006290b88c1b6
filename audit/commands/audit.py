"""`clinaudit audit`. Owns its options, and the exit status of each verdict; computes nothing."""

from pathlib import Path
from typing import Any, get_args

import click

from clinaudit.audit.choices import Controls, EngineChoice, Matcher
from clinaudit.audit.commands.options import (
    PATH,
    Command,
    identity_options,
    judge_options,
    not_empty,
    policy_option,
    ray_option,
    template_option,
    with_options,
)
from clinaudit.audit.console.streams import say
from clinaudit.audit.settings import MAX_NGRAM, AuditSettings, read_settings
from clinaudit.priors.chat import ChatRequest
from clinaudit.priors.renderings import Fragment, PromptFormChoice
from clinaudit.priors.tiers import TIER_IDS


def _audit_options(command: Command) -> Command:
    options = [
        click.option("--config", type=PATH, help="TOML file with any of these options."),
        click.option(
            "--engine",
            type=click.Choice(get_args(EngineChoice)),
            help="What decodes; auto takes vLLM where it is installed.  [default: auto]",
        ),
        click.option("--tokenizer", type=PATH, metavar="DIR", help="Tokenizer of a served MODEL."),
        click.option("--context-length", type=click.IntRange(min=1), help="Context of a served MODEL, in tokens."),
        click.option(
            "--base-model", type=PATH, metavar="DIR", help="The model that an adapter (MODEL) was trained on."
        ),
        click.option("--max-batch", type=click.IntRange(min=1), help="Prompts to decode at once.  [default: 64]"),
        click.option(
            "--threads",
            type=click.IntRange(min=1),
            help="Threads of the processor to decode with.  [default: OMP_NUM_THREADS; else 1 for a model below 1 GiB,"
            " and one a core]",
        ),
        click.option("--tensor-parallel", type=click.IntRange(min=1), metavar="N", help="GPUs to spread vLLM over."),
        click.option(
            "--gpu-memory",
            type=click.FloatRange(0, 1, min_open=True),
            metavar="SHARE",
            help="Share of a GPU's memory that vLLM takes.  [default: vLLM's own]",
        ),
        click.option(
            "--drift-check/--no-drift-check",
            default=None,
            help="Decode some prompts alone, too, and count what comes out otherwise.  [default: on]",
        ),
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
        click.option(
            "--fragment",
            type=click.Choice(get_args(Fragment)),
            help="How tiers that quote a note begin it: as the note does (opening), with the facts alone, or both."
            "  [default: both]",
        ),
        click.option(
            "--prompt-form",
            type=click.Choice(get_args(PromptFormChoice)),
            help="Ask every tier as plain text, in a chat, or both; auto is both where there is a chat template."
            "  [default: auto]",
        ),
        click.option(
            "--chat-request",
            type=click.Choice(get_args(ChatRequest)),
            help="What a chat asks for: to continue the note, to write it, or what is known.  [default: write]",
        ),
        click.option("--diagnosis", multiple=True, help="Audit this diagnosis only (repeatable).  [default: all]"),
        click.option("--seed", type=click.IntRange(min=0), help="Of every random choice.  [default: 0]"),
        click.option("--ngram", type=click.IntRange(1, MAX_NGRAM), help="Tokens a match must hold.  [default: 30]"),
        click.option("--max-new-tokens", type=click.IntRange(min=1), help="Tokens to decode at most.  [default: 1000]"),
        click.option(
            "--patients-per-cell", type=click.IntRange(min=1), help="Patients in each cell of a cohort.  [default: 100]"
        ),
        click.option("--matcher", type=click.Choice(get_args(Matcher)), help="How cohorts match.  [default: psm]"),
        click.option(
            "--caliper",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SD",
            help="Match no pair farther apart than this, in SDs of the propensity's logit.  [default: none]",
        ),
        click.option(
            "--no-refine",
            is_flag=True,
            default=None,
            help="Keep the matcher's own pairs, as the paper does: nobody is exchanged or left out for balance.",
        ),
        click.option(
            "--controls",
            type=click.Choice(get_args(Controls)),
            help="Controls have some sensitive diagnosis, or any patient may be one.  [default: sensitive]",
        ),
        click.option(
            "--include-patients",
            type=PATH,
            metavar="FILE",
            help="Probe these patients too, one id a line; their results stay in RUN/evidence, and in no figure.",
        ),
        template_option(),
        ray_option(),
        click.option(
            "--training-length",
            type=click.IntRange(min=1),
            metavar="TOKENS",
            help="Longest text that the model was trained on; longer notes are reported.  [default: its context]",
        ),
        click.option("--training-log", type=PATH, help="JSONL with a row an epoch, for the report."),
        *identity_options(),
        click.option(
            "--quiet",
            is_flag=True,
            default=None,
            help="No progress and no table: only the verdict and the path of the report.",
        ),
    ]
    return with_options(options)(command)


@click.command()
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
