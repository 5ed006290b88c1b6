"""`clinaudit policy`: the policies that ship. Owns its subcommands and what they print; decides nothing."""

import click

from clinaudit.audit.choices import SHIPPED
from clinaudit.audit.console.streams import say


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
    from clinaudit.audit.gate.policy import describe_shipped

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
    from clinaudit.audit.gate.policy import POLICIES_PATH
    from clinaudit.errors import BadInputError

    if name not in SHIPPED:
        raise BadInputError(f"no policy {name!r} ships; those that do: {', '.join(SHIPPED)}")
    say((POLICIES_PATH / f"{name}.toml").read_text(encoding="utf-8"), nl=False)
    return 0
