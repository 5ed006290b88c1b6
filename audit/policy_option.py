"""The option that names a policy (contract, section 1). Owns its name and help; reads none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def policy_option() -> Callable[[Command], Command]:
    """Return the option; `clinaudit.audit.policy` reads what it names."""
    return click.option(
        "--policy",
        # Not `readable`: what cannot be read is told from what is no option's value, where it is opened.
        type=click.Path(path_type=Path, readable=False),
        metavar="FILE",
        help="TOML policy, or one that ships: strict, default, research.  [default: default]",
    )
