"""`clinaudit unlearn`: make a model forget patients, and know what it cost.

Owns the group; each subcommand has its own module.
"""

import click

from clinaudit.audit.commands.unlearn_build import build
from clinaudit.audit.commands.unlearn_run import finetune, run


@click.group()
def unlearn() -> None:
    """Make a model forget patients, and measure what is left and what it cost (docs/unlearning-benchmark.md).

    \b
    Example:
      clinaudit unlearn build corpus/ --out bench/
      clinaudit unlearn finetune model/ bench/ --out tuned/
      clinaudit unlearn run tuned/ bench/ --method sim_npo --forget random:10 --out forgot/
    """


unlearn.add_command(build)
unlearn.add_command(finetune)
unlearn.add_command(run)
