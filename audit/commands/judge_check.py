"""`clinaudit judge-check` (docs/methods.md, section 5, "Labelled texts").

Owns its options and what it prints and writes; computes nothing.
"""

import json
from pathlib import Path
from typing import Any

import click

from clinaudit.audit.commands.options import PATH, options_of, policy_option, with_options
from clinaudit.audit.runtime.console.streams import say
from clinaudit.audit.runtime.settings import JudgeOptions, read_settings


@click.command("judge-check")
@click.argument("judge_labels", type=PATH, required=False, metavar="[LABELS]")
@with_options(options_of(JudgeOptions, but=("judge_note_tokens", "judge_labels", "second_judge")))
@click.option("--config", type=PATH, help="TOML file of the audit: its judge, and diagnoses of your own.")
@policy_option()
@click.option(
    "--out",
    type=PATH,
    metavar="FILE",
    help="Write the figures, and the verdict on each text, as JSON. Until it is written, what a served judge answers "
    "is kept beside it, so that the same command goes on where it stopped.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Of the bootstrap, and of a served judge's model.  [default: 0]"
)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def judge_check(config: Path | None, out: Path | None, quiet: bool, **options: Any) -> int:
    """Score a judge on LABELS: how often it reads right, and how often a planted instruction sways it.

    LABELS is JSONL, one text a row with text, diagnosis, and verdict: positive, negative, ambiguous or not_mentioned.
    Without it the judge is scored on the configuration's judge-labels, or on the synthetic texts that ship. FILE holds
    what was counted and no text, but counts of your own texts are exact in it.

    \b
    Example:
      clinaudit judge-check
      clinaudit judge-check labels.jsonl --out check.json
      clinaudit judge-check labels.jsonl --judge openai --served-url http://127.0.0.1:8000/v1 --served-model NAME
    """
    from clinaudit.audit.measures.judge.scoring.judge_score import check_chosen_judge, describe_check, tally_judge
    from clinaudit.audit.results.gate.judge_acceptance import why_not_accepted
    from clinaudit.audit.results.gate.policy import load_policy
    from clinaudit.audit.results.ranges.results import derive_judge
    from clinaudit.audit.runtime.console.progress import Progress
    from clinaudit.audit.runtime.run.durable_files import remove_sqlite, require_writable, write_atomically
    from clinaudit.reports.terminal.judge import judge_text
    from clinaudit.reports.wording.escaped_text import harmless_text

    settings = read_settings({"model": "", "corpus": Path(), "out": Path(), **options}, config=config)
    limits = load_policy(settings.policy)
    if out is not None:
        require_writable(out, role="what judge-check writes")
    answers = None if out is None else out.with_name(f".{out.name}.answers")
    checked = check_chosen_judge(settings, answers=answers, progress=Progress(quiet=quiet))
    # What is printed is for whoever owns the texts: exact, in the records of a report.
    quality = derive_judge(tally_judge(checked.quality))
    complaint = why_not_accepted(limits.judge, quality)
    if out is not None:
        document = describe_check(checked, complaint=complaint)
        write_atomically(out, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    if answers is not None:
        remove_sqlite(answers)
    say(judge_text(quality))
    policy_name = harmless_text(limits.name)
    say(f"Policy “{policy_name}”: {complaint or 'the judge is accepted.'}")
    if complaint is None and limits.to_pass.judge is not None:
        lack = why_not_accepted(limits.to_pass.judge, quality)
        say(f"For a pass, too: {lack or 'the judge is accepted.'}")
    return 0
