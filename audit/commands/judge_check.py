"""`clinaudit judge-check` (docs/methods.md, section 5, "Labelled texts").

Owns its options and what it prints and writes; computes nothing.
"""

from pathlib import Path

import click

from clinaudit.audit.commands.options import policy_option, price_option
from clinaudit.audit.console.streams import say
from clinaudit.audit.served.cost import Price

_DIRECTORY = click.Path(path_type=Path)


@click.command("judge-check")
@click.argument("labels", type=_DIRECTORY, required=False, metavar="[LABELS]")
@click.option("--judge", type=click.Choice(["lexicon", "openai"]), help="Who is scored.  [default: lexicon]")
@click.option("--judge-url", metavar="URL", help="Where a served judge answers, such as http://127.0.0.1:8000/v1.")
@click.option("--judge-model", metavar="NAME", help="The name by which the server knows the model.")
@click.option("--judge-key-file", type=_DIRECTORY, metavar="FILE", help="File that holds the server's API key.")
@price_option()
@click.option(
    "--phi-approved",
    multiple=True,
    metavar="HOST",
    help="Host other than loopback that may be sent LABELS (repeatable).",
)
@click.option("--config", type=_DIRECTORY, help="TOML file of the audit: its judge, and diagnoses of your own.")
@policy_option()
@click.option(
    "--out",
    type=_DIRECTORY,
    metavar="FILE",
    help="Write the figures, and the verdict on each text, as JSON. Until it is written, what a served judge answers "
    "is kept beside it, so that the same command goes on where it stopped.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Of the bootstrap, and of a served judge's model.  [default: 0]"
)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def judge_check(
    labels: Path | None,
    judge: str | None,
    judge_url: str | None,
    judge_model: str | None,
    judge_key_file: Path | None,
    judge_price: Price | None,
    phi_approved: tuple[str, ...],
    config: Path | None,
    policy: Path | None,
    out: Path | None,
    seed: int | None,
    quiet: bool,
) -> int:
    """Score a judge on LABELS: how often it reads right, and how often a planted instruction sways it.

    LABELS is JSONL, one text a row with text, diagnosis, and verdict: positive, negative, ambiguous or not_mentioned.
    Without it the judge is scored on the configuration's judge-labels, or on the synthetic texts that ship. FILE holds
    what was counted and no text, but counts of your own texts are not suppressed in it.

    \b
    Example:
      clinaudit judge-check
      clinaudit judge-check labels.jsonl --out check.json
      clinaudit judge-check labels.jsonl --judge openai --judge-url http://127.0.0.1:8000/v1 --judge-model NAME
    """
    import json
    import os

    from clinaudit.audit.console.progress import Progress
    from clinaudit.audit.gate.judge_acceptance import why_not_accepted
    from clinaudit.audit.gate.policy import load_policy
    from clinaudit.audit.judge.ledger import MemoryLedger
    from clinaudit.audit.judge.scoring.judge_score import describe_check, score_judge
    from clinaudit.audit.judge.scoring.labelled_texts import load_labelled_set
    from clinaudit.audit.judge.selection import make_judge, remember_answers, require_no_endpoint
    from clinaudit.audit.run.durable_files import require_place_for, write_atomically
    from clinaudit.audit.served.addresses import JudgeEndpoint
    from clinaudit.audit.served.answer_cache import drop_cache_file, open_cache_file, open_memory_cache
    from clinaudit.audit.settings import read_settings
    from clinaudit.priors.diagnoses import load_panel
    from clinaudit.reports.terminal.summary import judge_summary
    from clinaudit.reports.wording.safe_text import harmless

    os.umask(0o077)
    given = {
        "judge": judge,
        "judge_url": judge_url,
        "judge_model": judge_model,
        "judge_key_file": judge_key_file,
        "judge_price": judge_price,
        "phi_approved": phi_approved,
        "policy": policy,
        "seed": seed,
        "judge_labels": labels,
    }
    settings = read_settings({"model": "", "corpus": Path(), "out": Path(), **given}, config=config)
    panel = load_panel(settings.diagnoses)
    limits = load_policy(settings.policy)
    labelled = load_labelled_set(settings.judge_labels, panel)
    endpoint = JudgeEndpoint.from_settings(settings)
    # The file may be that of an audit whose second judge is the served one.
    if "openai" not in (settings.judge, settings.second_judge):
        require_no_endpoint(endpoint)
    scored = make_judge(settings.judge, endpoint, panel=panel, approved_hosts=settings.phi_approved, seed=settings.seed)
    progress = Progress(quiet=quiet)
    answers = None if out is None else out.with_name(f".{out.name}.answers")
    if out is not None:
        require_place_for(out, role="what judge-check writes")
    keep_in = open_memory_cache() if answers is None else open_cache_file(answers)
    with remember_answers([scored], progress, price=settings.judge_price, keep_in=keep_in):
        quality, outcomes = score_judge(scored, labelled, MemoryLedger(), progress, seed=settings.seed)
    complaint = why_not_accepted(limits.judge, quality)
    if out is not None:
        document = describe_check(quality, outcomes, labelled, identity=scored.identity(), complaint=complaint)
        write_atomically(out, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    if answers is not None:
        drop_cache_file(answers)
    say(judge_summary(quality))
    policy_name = harmless(limits.name)
    say(f"Policy “{policy_name}”: {complaint or 'the judge is accepted.'}")
    if complaint is None and limits.to_pass.judge is not None:
        lack = why_not_accepted(limits.to_pass.judge, quality)
        say(f"For a pass, too: {lack or 'the judge is accepted.'}")
    return 0
