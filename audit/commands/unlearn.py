"""`clinaudit unlearn`: make a model forget patients, and know what it cost.

Owns the group; each subcommand has its own module.
"""

import click

from clinaudit.audit.commands.unlearn_build import build
from clinaudit.audit.commands.unlearn_evaluate import evaluate
from clinaudit.audit.commands.unlearn_run import finetune, run
from clinaudit.audit.commands.unlearn_score import score


@click.group()
def unlearn() -> None:
    """Make a model forget patients, and measure what is left and what it cost (docs/unlearning.md).

    \b
    Example:
      clinaudit unlearn build corpus/ --out bench/
      clinaudit unlearn finetune model/ bench/ --out tuned/
      clinaudit unlearn run tuned/ bench/ --method sim_npo --forget random:10 --out forgot/
      clinaudit unlearn evaluate tuned/ forgot/ --bench bench/ --out result/
      clinaudit unlearn score bench/ answers.jsonl --out scores.json
    """


unlearn.add_command(build)
unlearn.add_command(finetune)
unlearn.add_command(run)
unlearn.add_command(evaluate)
unlearn.add_command(score)
