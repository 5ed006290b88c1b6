"""`clinaudit unlearn`: make a model forget patients, and know what it cost.

Owns the group; each subcommand has its own module.
"""

import click

from clinaudit.audit.commands.unlearn_build import build


@click.group()
def unlearn() -> None:
    """Make a model forget patients, and measure what is left and what it cost (docs/unlearning-benchmark.md).

    \b
    Example:
      clinaudit unlearn build corpus/ --out bench/
    """


unlearn.add_command(build)
