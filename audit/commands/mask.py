"""`clinaudit mask` and `unmask` (docs/mask.md). Owns their options and what they print; masks nothing itself."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clinaudit.audit.commands.options import PATH, options_of, value_option, with_options
from clinaudit.audit.pii.mask_options import MaskOptions
from clinaudit.audit.runtime.console import Progress, say_of_finished_work, warn
from clinaudit.audit.runtime.settings import ReadingOptions
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.numbers import counted

if TYPE_CHECKING:
    from clinaudit.audit.pii.masking.stage import MaskedFile

_WITHHELD = 1


@click.command()
@click.argument("prompts", type=PATH, metavar="PROMPTS")
@value_option("--out FILE", "Where the masked prompts go; a new file.", required=True)
@with_options(options_of(ReadingOptions, "template", "identifier_rules", "processes"))
@with_options(options_of(MaskOptions))
@click.option(
    "--explain", is_flag=True, help="Also print how often each rule or model found each kind of tag, and no text."
)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def mask(quiet: bool, explain: bool, **options: Any) -> int:
    """Mask identifiers in PROMPTS, except those that their questions need.

    PROMPTS is JSONL or CSV, one prompt a row: id, text and, if there is one, query; or a .txt file, which is one prompt
    as it stands; its question is --query. FILE is of the same form. It has one row per prompt: id, text with tags such
    as <PATIENT_1> or <DATE_2+14d> (14 days after the first date), how many tags there are, and how much was found and
    kept; for a .txt file it is the masked text alone. The id is copied unchanged: if it reveals more than a count does,
    such as the order of admissions, give --new-ids. Names, dates, numbers and addresses are masked wherever they are
    found; some are missed. An age or an occupation stays where rules see that the query needs it; they see it in half
    of the cases or fewer (docs/mask.md has both figures). Clinical content is not looked for: it stays unless it reads
    as somebody's name or number. A text is withheld where a detector fails, or still finds somebody after four rounds:
    its text is null, or FILE is empty.

    The map from tags to what they stand for is PHI, not readable by others; clinaudit unmask needs it. Nothing is
    overwritten, and a run that was stopped gives nothing out: give the command again.

    Exit status: 0 all masked, 1 some texts withheld, 2 usage, 3 bad input, 5 refused as unsafe, 6 storage, 130
    interrupted.

    \b
    Example:
      clinaudit mask prompt.txt --out masked.txt --query "Which inhaler suits her at her age?"
      clinaudit unmask answer.txt --map masked.txt.evidence/map.jsonl --out answer-read.txt
      clinaudit mask prompts.jsonl --out masked.jsonl
      clinaudit mask prompts.jsonl --out masked.jsonl --corpus corpus/
      clinaudit unmask answers.jsonl --map masked.jsonl.evidence/map.jsonl --out read.jsonl
    """
    from clinaudit.audit.pii.masking.stage import run_mask

    given = MaskOptions.of(**options)
    masked = run_mask(given, progress=Progress(quiet=quiet))
    if masked.failure is not None:
        warn(f"warning: a detector failed ({masked.failure}); please report this line")
    lines = [*_summary(masked, given), *(_explained(masked.found_by) if explain else [])]
    say_of_finished_work("\n".join(map(harmless_text, lines)))
    return _WITHHELD if masked.withheld else 0


def _summary(masked: "MaskedFile", options: MaskOptions) -> list[str]:
    rows = masked.rows
    given_out = rows.count - masked.withheld.total()
    tags = f"{counted(masked.kinds.total(), 'tag')}{_listed(masked.kinds)}"
    lines = [
        f"{given_out:,} of {counted(rows.count, 'prompt')} in {options.out}, with {tags}; "
        f"left by decision: {masked.stays.total():,}{_listed(masked.stays)}; looked for by {options.finders}",
        *(f"withheld: {number:,}, {why}" for why, number in sorted(masked.withheld.items())),
        f"the map is {options.map_path} (PHI)",
    ]
    if silent := rows.count - rows.asking:
        without = f"{rows.lacking:,} without the key, {silent - rows.lacking:,} with a blank one"
        if rows.is_one_text:
            without = "give its question by --query"
        lines.append(f"{counted(silent, 'prompt asks', 'prompts ask')} nothing ({without}): no quasi-identifier stays")
    if options.corpus is None:
        lines.append("without --corpus, names of the site's own patients are not known: some may be left")
    if options.rules_only:
        lines.append("with --rules-only, up to 3 times as many direct identifiers were left in a trial (docs/mask.md)")
    if rows.other_keys:
        lines.append(f"keys that are not passed on: {', '.join(rows.other_keys)}")
    return lines


def _listed(counts: Counter[str]) -> str:
    """Return counts in brackets, the largest first: ` (DATE 4, AGE 1)`."""
    listed = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))
    return f" ({listed})" if listed else ""


def _explained(found_by: Counter[tuple[str, str]]) -> Iterator[str]:
    for kind in sorted({kind for kind, _ in found_by}):
        yield f"{kind}{_listed(Counter({name: count for (of, name), count in found_by.items() if of == kind}))}"


@click.command()
@click.argument("answers", type=PATH, metavar="ANSWERS")
@value_option("--map FILE", "The map that clinaudit mask wrote.", required=True, name="map_file")
@value_option("--out FILE", "Where the answers go (PHI); a new file.", required=True)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def unmask(answers: Path, map_file: Path, out: Path, quiet: bool) -> int:
    """Put back into ANSWERS what the tags of their prompts stand for.

    ANSWERS is JSONL or CSV, one answer a row: id, that of its prompt, and text; or a .txt file, the answer to a prompt
    that was one. FILE is the same with the identifiers put back, and is PHI. A tag is known in other spellings too:
    [PATIENT_1], <patient 1>, &lt;PATIENT-1&gt;. Of the first date <DATE_1+42d> is the day 42 days later. Within JSON a
    value is escaped. A tag that the prompt does not have stays as it is, and is counted.

    Exit status: 0 done, 2 usage, 3 bad input, 6 storage, 130 interrupted.

    \b
    Example:
      clinaudit unmask answer.txt --map masked.txt.evidence/map.jsonl --out answer-read.txt
      clinaudit unmask answers.jsonl --map masked.jsonl.evidence/map.jsonl --out read.jsonl
    """
    from clinaudit.audit.pii.masking.stage import unmask_file

    done = unmask_file(answers, map_file, out, progress=Progress(quiet=quiet))
    lines = [f"{counted(done.rows.count, 'answer')} in {out} (PHI)"]
    if done.unknown_tags:
        tags = counted(done.unknown_tags, "tag is", "tags are")
        lines.append(f"{tags} of no prompt, or not clear: left as the answer writes them")
    if done.empty:
        lines.append(f"{counted(done.empty, 'answer')} without a text")
    if done.rows.other_keys:
        lines.append(f"keys that are not passed on: {', '.join(done.rows.other_keys)}")
    say_of_finished_work("\n".join(map(harmless_text, lines)))
    return 0
