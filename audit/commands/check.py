"""`clinaudit check`. Owns its options; computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH, policy_option, template_option
from clinaudit.audit.console.streams import say


@click.command()
@click.argument("corpus", type=PATH)
@template_option()
@policy_option(default="none: no rules are looked at")
def check(corpus: Path, template: Path | None, policy: Path | None) -> int:
    """Validate CORPUS and say what an audit of it would cover; runs no model.

    With --policy it says with how many patients each rule can be decided and passed, and how many CORPUS has.

    \b
    Example:
      clinaudit check corpus/
      clinaudit check corpus/ --policy strict
    """
    from clinaudit.priors.coverage import describe_coverage

    if policy is None:
        say(describe_coverage(corpus, template=template).text, nl=False)
        return 0
    from clinaudit.audit.gate.needed_patients import needed_patients_text
    from clinaudit.audit.gate.policy import load_policy

    loaded = load_policy(policy)
    coverage = describe_coverage(corpus, template=template)
    say(f"{coverage.text}\n{needed_patients_text(loaded, coverage)}")
    return 0
