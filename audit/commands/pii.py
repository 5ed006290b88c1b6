"""`clinaudit pii`: how good a filter for identifying text is. Owns the group; each subcommand has its own module."""

import click

from clinaudit.audit.commands.pii_bench import bench
from clinaudit.audit.commands.pii_review import review
from clinaudit.audit.commands.pii_samples import samples
from clinaudit.audit.commands.pii_score import score


@click.group()
def pii() -> None:
    """Measure how well identifying text is found and masked (docs/pii.md).

    \b
    Example:
      clinaudit pii samples --out samples.jsonl
      clinaudit pii score samples.jsonl predictions.jsonl --out scores.json
      clinaudit pii bench --out bench/
      clinaudit pii review bench/samples.jsonl --out page/
    """


pii.add_command(samples)
pii.add_command(score)
pii.add_command(bench)
pii.add_command(review)
