"""`clinaudit unmask` (docs/mask.md). Owns its options and what it prints; reads and writes nothing itself."""

from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say_of_finished_work
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.numbers import counted


@click.command()
@click.argument("answers", type=PATH, metavar="ANSWERS")
@click.option("--map", "map_file", type=PATH, required=True, metavar="FILE", help="The map that clinaudit mask wrote.")
@click.option("--out", type=PATH, required=True, metavar="FILE", help="Where the answers go (PHI); a new file.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def unmask(answers: Path, map_file: Path, out: Path, quiet: bool) -> int:
    """Put back into ANSWERS what the tags of their prompts stand for.

    ANSWERS is JSONL, one answer a row: id, that of its prompt, and text; or a .txt file, the answer to a prompt that
    was one. FILE is the same with the identifiers put back, and is PHI. A tag is known in other spellings too:
    [PATIENT_1], PATIENT_1, &lt;patient_1&gt;. Of the first date <DATE_1+42d> is the day 42 days later. A tag that the
    prompt does not have stays as it is, and is counted.

    Exit status: 0 done, 2 usage, 3 bad input, 6 storage, 130 interrupted.

    \b
    Example:
      clinaudit unmask answer.txt --map masked.txt.evidence/map.sqlite --out answer-read.txt
      clinaudit unmask answers.jsonl --map masked.jsonl.evidence/map.sqlite --out read.jsonl
    """
    from clinaudit.audit.console.progress import Progress
    from clinaudit.audit.pii.masking.unmasked_file import unmask_file

    done = unmask_file(answers, map_file, out, progress=Progress(quiet=quiet))
    lines = [f"{counted(done.rows, 'answer')} in {out} (PHI)"]
    if done.unknown_tags:
        tags = counted(done.unknown_tags, "tag is", "tags are")
        lines.append(f"{tags} of no prompt: made up by the model, and left as it wrote them")
    if done.empty:
        lines.append(f"{counted(done.empty, 'answer')} without a text")
    if done.other_keys:
        lines.append(f"keys that are not passed on: {', '.join(done.other_keys)}")
    say_of_finished_work("\n".join(map(harmless_text, lines)))
    return 0
