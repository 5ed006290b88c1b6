"""`clinaudit template`: note-template profiles. Owns its subcommands and what they print; learns nothing itself."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say_of_finished_work
from clinaudit.reports.wording.escaped_text import harmless_text, shell_word


@click.group()
def template() -> None:
    """Propose a profile of your notes' layout.

    \b
    Example:
      clinaudit template learn corpus/ --out ours.toml
    """


@template.command()
@click.argument("corpus", type=PATH)
@click.option("--out", type=PATH, metavar="PROFILE", required=True, help="New file for the profile.")
def learn(corpus: Path, out: Path) -> int:
    """Propose a note-template profile for CORPUS: headers, labels and layouts that recur in its notes.

    The profile is TOML with comments that say for how many patients each entry was found. A word of the notes enters it
    only where at least 5% of a layout's patients (a label: of all), and no fewer than 5, have it; a header that a
    shipped profile knows where 2 do. Review it before you use it, and before it leaves this machine. A file that exists
    is never overwritten.

    \b
    Example:
      clinaudit template learn corpus/ --out ours.toml
      clinaudit check corpus/ --template ours.toml
    """
    from clinaudit.audit.preview.learned_profile import learn_profile

    preview = learn_profile(corpus, out).preview
    say_of_finished_work(
        f"{preview}\n"
        f"profile: {harmless_text(str(out))}\n"
        "It is a proposal: read it, mend what is wrong, and try it.\n"
        "Its words are those of your notes: review it before it leaves this machine.\n"
        f"next: {harmless_text(f'clinaudit check {shell_word(corpus)} --template {shell_word(out)}')}"
    )
    return 0
