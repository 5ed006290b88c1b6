"""`clinaudit check`, `template learn` and `judge-check`: a corpus, or a judge, before an audit. Computes nothing."""

import json
from pathlib import Path
from typing import Any

import click

from clinaudit.audit.commands.options import PATH, TEMPLATE, options_of, policy_option, value_option, with_options
from clinaudit.audit.runtime.console import Progress, say, say_of_finished_work, warn
from clinaudit.audit.runtime.settings import AuditSettings, JudgeOptions, PromptOptions, read_settings
from clinaudit.errors import BadInputError
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.wording.escaped_text import harmless_text, shell_word
from clinaudit.reports.wording.numbers import counted


@click.command()
@click.argument("corpus", type=PATH)
@TEMPLATE
@policy_option(default="none: no rules are looked at")
@options_of(PromptOptions, "tier")[0]
@value_option("--prompts FILE", "Leave the prompts in this file, JSONL (PHI).")
@click.option("--quiet", is_flag=True, help="No progress.")
def check(
    corpus: Path, template: Path | None, policy: Path | None, tier: tuple[str, ...], prompts: Path | None, quiet: bool
) -> int:
    """Validate CORPUS and say what an audit of it would cover; runs no model.

    It says what the note template finds in the notes, whether the patients table is of the same patients, which tiers
    can be audited, and how much a model would be asked. Read its PROBLEMS before an audit: a prompt that does not fit
    makes a model look safer than it is.

    Its exit status is 0 wherever CORPUS can be read, with PROBLEMS or without; an audit then counts prompts that do not
    fit, and no rule can pass where there are too many. It is 3 too where the template names a fact in not_in_notes that
    most notes hold.

    With --policy it says with how many patients each rule can be decided and passed, and how many CORPUS has.

    \b
    Example:
      clinaudit check corpus/
      clinaudit check corpus/ --template ours.toml --prompts prompts.jsonl
      clinaudit check corpus/ --policy strict
    """
    settings = AuditSettings(model="", corpus=corpus, out=Path(), template=template, tier=tier or TIER_IDS)
    from clinaudit.audit.preview.fit import Kind
    from clinaudit.audit.preview.survey import survey_corpus, write_prompts
    from clinaudit.audit.results.gate.policy import Guards, load_policy
    from clinaudit.audit.runtime.run.directory import require_writable

    loaded = None if policy is None else load_policy(policy)
    if prompts is not None:
        require_writable(prompts, role="the file of prompts")
    guards = Guards() if loaded is None else loaded.guards
    survey = survey_corpus(settings, Progress(quiet=quiet), minimum_unbroken_share=guards.prompts)
    say(survey.text, nl=False)
    if loaded is not None:
        from clinaudit.audit.results.gate.power import needed_patients_text

        say(f"\n{needed_patients_text(loaded, survey.coverage)}")
    if prompts is not None:
        write_prompts(prompts, survey.priors)
        warn(f"{harmless_text(str(prompts))} holds PHI: it quotes patients' notes; remove it when you have looked")
    denied = [finding.text for finding in survey.findings if finding.kind is Kind.FACT_DENIED]
    if denied:
        raise BadInputError("the note template denies facts that stand in most notes; correct not_in_notes", denied)
    return 0


@click.group()
def template() -> None:
    """Propose a profile of your notes' layout.

    \b
    Example:
      clinaudit template learn corpus/ --out ours.toml
    """


@template.command()
@click.argument("corpus", type=PATH)
@value_option("--out PROFILE", "New file for the profile.", required=True)
def learn(corpus: Path, out: Path) -> int:
    """Propose a note-template profile for CORPUS: headers, labels and dates that recur in its notes.

    The profile is TOML with comments that say for how many patients each entry was found. A word of the notes enters it
    only where at least 5% of the patients, and no fewer than 5, have it; a header that a shipped profile knows where 2
    do. Review it before you use it, and before it leaves this machine. A file that exists
    is never overwritten.

    \b
    Example:
      clinaudit template learn corpus/ --out ours.toml
      clinaudit check corpus/ --template ours.toml
    """
    from clinaudit.audit.preview.learned_profile import learn_profile

    preview = learn_profile(corpus, out).preview
    say_of_finished_work(
        f"{preview}\n"
        f"profile: {harmless_text(str(out))}\n"
        "It is a proposal: read it, mend what is wrong (CHECK marks what is open), and try it.\n"
        "Its words are those of your notes: review it before it leaves this machine.\n"
        f"next: {harmless_text(f'clinaudit check {shell_word(corpus)} --template {shell_word(out)}')}"
    )
    return 0


@click.command("judge-check")
@click.argument("judge_labels", type=PATH, required=False, metavar="[LABELS]")
@with_options(options_of(JudgeOptions, but=("judge_note_tokens", "judge_labels")))
@value_option("--config", "TOML file of the audit: its judge, and diagnoses of your own.")
@policy_option()
@value_option(
    "--out FILE",
    "Write the figures, and the verdict on each text or why it has none, as JSON. Until then what a served judge "
    "answers is kept beside it, so that the same command goes on where it stopped.",
)
@value_option("--seed", "Seed of a served judge's model.  [default: 0]", click.IntRange(min=0))
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def judge_check(config: Path | None, out: Path | None, quiet: bool, **options: Any) -> int:
    """Score a judge on LABELS: how often it reads right, and how often a planted instruction sways it.

    LABELS is JSONL, one text a row with text, diagnosis, verdict (positive, negative, ambiguous or not_mentioned) and,
    for a table by kind of sentence, kind. Without it the judge is scored on the configuration's judge-labels, or on the
    synthetic texts that ship. FILE holds what was counted and no text, but counts of your own texts are exact in it.

    \b
    Example:
      clinaudit judge-check
      clinaudit judge-check labels.jsonl --out check.json
      clinaudit judge-check labels.jsonl --judge openai --served-url http://127.0.0.1:8000/v1 --served-model NAME
    """
    from clinaudit.audit.measures.judge.stage import (
        check_chosen_judge,
        count_reasons,
        describe_check,
        estimate_judge,
        read_by_kind,
    )
    from clinaudit.audit.results.gate.guards import why_judge_not_accepted
    from clinaudit.audit.results.gate.policy import load_policy
    from clinaudit.audit.runtime.run.directory import remove_sqlite, require_writable, write_atomically
    from clinaudit.reports.estimates.frame import Estimates
    from clinaudit.reports.terminal import judge_text

    settings = read_settings({"model": "", "corpus": Path(), "out": Path(), **options}, config=config)
    limits = load_policy(settings.policy)
    if out is not None:
        require_writable(out, role="what judge-check writes")
    answers = None if out is None else out.with_name(f".{out.name}.answers")
    judge, labelled, scored = check_chosen_judge(settings, answers=answers, progress=Progress(quiet=quiet))
    # What is printed is for whoever owns the texts: exact.
    figures = Estimates(estimate_judge({"scored_texts": scored.lazy()}))
    lack = why_judge_not_accepted(limits.guards, figures)
    complaint = None if lack is None else lack.reason
    if out is not None:
        document = describe_check(judge, labelled, scored, figures, complaint=complaint)
        write_atomically(out, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    if answers is not None:
        remove_sqlite(answers)
    say(judge_text(judge.name, labelled.source, figures, read_by_kind(scored).rows()))
    for reason, count in count_reasons(scored.filter(kind="labelled")["reason"]).items():
        say(f"Without a verdict, {counted(count, 'text')}: {reason}")
    policy_name = harmless_text(limits.name)
    say(f"Policy “{policy_name}”: {complaint or 'the judge is accepted.'}")
    return 0
