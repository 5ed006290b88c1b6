"""`clinaudit demo`. Owns its options; computes nothing."""

from pathlib import Path

import click

from clinaudit.audit.commands.audit import audit_and_say
from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say
from clinaudit.reports.wording.escaped_text import harmless_text, shell_word


@click.command()
@click.argument("directory", type=PATH, default=Path("demo"), metavar="[DIR]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the patients and the model.")
@click.option("--quiet", is_flag=True, help="No progress and no table: only the verdict and the path of the report.")
def demo(directory: Path, seed: int, quiet: bool) -> int:
    """Make invented patients, train a small model on half of them, and audit it; all on this machine.

    Leaves DIR/corpus, DIR/model and DIR/run (DIR: demo). Takes some minutes the first time. Exits 0 when the audit
    completes, whatever its verdict: this model memorized its notes, and should fail.

    \b
    Example:
      clinaudit demo demo/ --seed 1
    """
    from clinaudit.audit.demo.run import run_demo

    settings = run_demo(directory, seed=seed, quiet=quiet)
    audit_and_say(settings)
    if not quiet:
        run, corpus = shell_word(settings.out), shell_word(settings.corpus)
        lines = [
            "",
            "This was the demo: its patients are invented. It should fail: the model knows their notes by heart.",
            "What stands above is for real patients. Next here, after `. .venv/bin/activate` in a checkout:",
            f"  open {run}/report.html",
            f"  clinaudit evidence {run} {corpus}    (writes each text beside the note that it repeats)",
            "  clinaudit check YOUR-CORPUS    (what an audit of your own notes would cover: docs/tutorial.md)",
            "  docs/tutorial-mask.md: a prompt to a model outside, with its identifiers masked",
            "  docs/tutorial-forget.md: a patient asks to be forgotten",
        ]
        say("\n".join(map(harmless_text, lines)))
    return 0
