"""`clinaudit gate` and `policy` (docs/policy.md): the verdict under a policy, and the policies that ship."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH, policy_option
from clinaudit.audit.commands.show import say_rules
from clinaudit.audit.runtime.choices import SHIPPED
from clinaudit.audit.runtime.console import say
from clinaudit.errors import BadInputError


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@policy_option(default="the run's own")
@click.option("--exact", is_flag=True, help="Print the exact figures of RUN/evidence beside the rules (PHI).")
@click.option("--json", "as_json", is_flag=True, help="Print gate.json instead.")
@click.option("--quiet", is_flag=True, help="Print nothing: the exit status is the verdict.")
def gate(run_directory: Path, policy: Path | None, exact: bool, as_json: bool, quiet: bool) -> int:
    """Give the verdict on RUN, rule by rule; the exit status is the verdict. Decides nothing anew for RUN's own policy.

    With the policy of the audit this is the verdict that the audit recorded, before and after a purge. Another policy
    is decided on the exact figures in RUN/evidence. Verdicts under many limits would tell a figure, so what is printed
    of another policy stays where PHI does; after a purge no other policy can be decided.

    \b
    Example:
      clinaudit gate run/
      clinaudit gate run/ --exact
      clinaudit gate run/ --policy strict
    """
    from clinaudit.audit.results.gate.verdict import EXIT_STATUS
    from clinaudit.audit.results.publication.published_files import find_verdict, read_exact, read_published
    from clinaudit.audit.runtime.run.manifest import require_finished_run, verify
    from clinaudit.reports.exports import verdict_json

    finished = require_finished_run(run_directory)
    verify(finished)
    verdict, _ = find_verdict(finished, given=policy)
    if as_json and not quiet:
        say(verdict_json(verdict), nl=False)
    elif not quiet:
        say_rules(verdict, read_exact(finished) if exact else read_published(finished))
    return EXIT_STATUS[verdict.status]


@click.group()
def policy() -> None:
    """List the policies that ship, or print one to copy and change.

    \b
    Example:
      clinaudit policy list
      clinaudit policy show strict > ours.toml
    """


@policy.command("list")
def list_policies() -> int:
    """List the policies that ship, the strictest first: what each is for, and its limits.

    \b
    Example:
      clinaudit policy list
    """
    from clinaudit.audit.results.gate.policy import describe_shipped

    say(describe_shipped())
    return 0


@policy.command()
@click.argument("name", metavar="NAME")
def show(name: str) -> int:
    """Print the policy NAME as it ships: TOML that explains its limits.

    \b
    Example:
      clinaudit policy show strict
      clinaudit policy show default > ours.toml
    """
    from clinaudit.audit.results.gate.policy import POLICIES_PATH

    if name not in SHIPPED:
        raise BadInputError(f"no policy {name!r} ships; those that do: {', '.join(SHIPPED)}")
    say((POLICIES_PATH / f"{name}.toml").read_text(encoding="utf-8"), nl=False)
    return 0
