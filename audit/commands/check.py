"""`clinaudit check`. Owns its options; computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH, template_option
from clinaudit.audit.console.streams import say


@click.command()
@click.argument("corpus", type=PATH)
@template_option()
def check(corpus: Path, template: Path | None) -> int:
    """Validate CORPUS and say what an audit of it would cover; runs no model.

    \b
    Example:
      clinaudit check corpus/
    """
    from clinaudit.priors.coverage import describe_coverage

    say(describe_coverage(corpus, template=template), nl=False)
    return 0
