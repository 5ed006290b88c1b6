"""`clinaudit gate` (docs/policy.md). Owns its options, what it prints and where it writes; decides nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH, policy_option
from clinaudit.audit.console.streams import say


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@policy_option()
@click.option(
    "--out", type=PATH, metavar="DIR", help="Write gate.json, junit.xml and gate.sarif of this verdict to DIR."
)
@click.option("--json", "as_json", is_flag=True, help="Print gate.json instead.")
@click.option("--quiet", is_flag=True, help="Print nothing: the exit status is the verdict.")
def gate(run_directory: Path, policy: Path | None, out: Path | None, as_json: bool, quiet: bool) -> int:
    """Evaluate a policy against RUN; the exit status is the verdict. Changes nothing in RUN.

    A purged RUN is decided on what is published: a rule that needs a suppressed figure is inconclusive.

    \b
    Example:
      clinaudit gate run/ --policy strict
      clinaudit gate run/ --policy policy.toml --out verdict/
    """
    from clinaudit.audit.commands.summary import say_rules
    from clinaudit.audit.gate.evaluation import EXIT_STATUS, evaluate, misses_planned_units
    from clinaudit.audit.gate.policy import load_policy
    from clinaudit.audit.publication.published_files import (
        gate_json,
        has_unsuppressed_results,
        publish_decision,
        read_results,
        write_verdict,
    )
    from clinaudit.audit.run.durable_files import make_private_directory
    from clinaudit.audit.run.manifest import is_run, require_finished_run, verify
    from clinaudit.errors import UsageError

    loaded = load_policy(policy)
    finished = require_finished_run(run_directory)
    if out is not None and any(map(is_run, (out.resolve(), *out.resolve().parents))):
        raise UsageError("--out names a directory of RUN or of another run, whose files are fixed; name one outside it")
    if out is not None and out.exists() and not out.is_dir():
        raise UsageError("--out names something that is not a directory; name a new or an existing directory")
    unsuppressed = has_unsuppressed_results(finished)
    verify(finished)
    results = read_results(finished, unsuppressed=unsuppressed)
    decision = evaluate(loaded, results, planned_missing=misses_planned_units(results))
    published = publish_decision(results, decision, unsuppressed=unsuppressed)
    if out is not None:
        if not out.is_dir():
            make_private_directory(out)
        write_verdict(out, published)
    if as_json and not quiet:
        say(gate_json(published), nl=False)
    elif not quiet:
        say_rules(decision)
    return EXIT_STATUS[decision.status]
