"""`clinaudit import` (docs/importing.md). Owns its options and what it prints; reads and writes nothing itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from clinaudit.audit.commands.options import PATH, value_option
from clinaudit.audit.runtime.console import Progress, say_of_finished_work
from clinaudit.audit.runtime.settings import read_settings
from clinaudit.priors.importers import Kind, System, plan_import
from clinaudit.reports.wording.escaped_text import harmless_text, shell_word

if TYPE_CHECKING:
    from clinaudit.priors.importers.export import Imported

_MB = 1_000_000
_SYSTEMS = click.Choice(get_args(System))


@click.command("import")
@click.argument("kind", type=click.Choice(get_args(Kind)), metavar="KIND")
@click.argument("source", type=PATH, metavar="SOURCE")
@click.argument("dest", type=PATH, metavar="DEST")
@value_option("--columns FILE", "Column map (TOML) of csv and excel: which column holds what.")
@value_option(
    "--train-patients IDS",
    "File of the ids of the patients trained on, one a line; all others are nontrain. Without it the corpus has "
    "no split.",
)
@value_option(
    "--codes-complete",
    "The export holds every diagnosis in codes of this system, and the panel names all of its codes: a patient "
    "without one does not have the diagnosis. Repeatable.  [default: such a patient is unknown]",
    _SYSTEMS,
    multiple=True,
)
@value_option("--source-values", "OMOP: the codes that condition_source_value holds.", _SYSTEMS)
@value_option(
    "--blank WORD",
    "A word of tables that means that a cell is blank, beside NULL, NA and the like. Repeatable.",
    click.STRING,
    multiple=True,
)
@value_option("--config FILE", "TOML file whose [diagnoses] tables change the panel, as for audit.")
@click.option(
    "--allow-rejected", is_flag=True, help="Leave out records that cannot be used, which else stop the import."
)
@click.option("--quiet", is_flag=True, help="No progress.")
def import_corpus(kind: Kind, source: Path, dest: Path, config: Path | None, quiet: bool, **given: Any) -> int:
    """Read a site's export, SOURCE, into a corpus, the new directory DEST (PHI, closed to others).

    KIND is mimic-iv-note (a folder with note/ and hosp/), omop (a folder of CDM tables, CSV or Parquet), fhir (R4: a
    folder of NDJSON files or of Bundles, or one file), csv or excel (one table, a row a note).

    Every record is read or rejected, and listed in DEST/rejected.csv where rejected; nothing is fetched from a network.

    \b
    Example:
      clinaudit import mimic-iv-note physionet/ corpus/ --train-patients trained-on.txt
      clinaudit import omop cdm/ corpus/ --codes-complete icd10
      clinaudit import fhir bulk-export/ corpus/
      clinaudit import csv notes.csv corpus/ --columns columns.toml
    """
    from clinaudit.priors.diagnoses import load_panel
    from clinaudit.priors.importers.corpus_writer import left_behind
    from clinaudit.priors.importers.export import ImportRequest

    diagnoses = read_settings({"model": "", "corpus": dest, "out": dest}, config=config).diagnoses
    complete = given.pop("codes_complete")
    request = ImportRequest(
        kind=kind, source=source, destination=dest, panel=load_panel(diagnoses), complete=complete, **given
    )
    plan = plan_import(request)
    with Progress(quiet=quiet).stage("reading", total=round(plan.total_bytes / _MB), unit="MB") as advance:
        imported = plan.run(lambda read_bytes: advance(read_bytes / _MB))
    left = [
        f"note: {path} (PHI) is of an import that was killed, or that still runs; if none does, remove it"
        for path in left_behind(dest)
    ]
    say_of_finished_work("\n".join(map(harmless_text, [*_summary(imported, dest, complete), *left])))
    return 0


def _summary(imported: "Imported", dest: Path, complete: Sequence[str]) -> list[str]:
    ledger = imported.ledger
    lines = [f"{imported.notes:,} notes of {imported.patients:,} patients are in {dest} (PHI)", ""]
    width = max(map(len, ledger.tables))
    lines.append(f"{'':{width}}  {'total':>12}  {'read':>12}  {'used':>12}  {'rejected':>12}")
    lines.extend(
        f"{name:{width}}  {count.total:12,}  {count.read:12,}  {count.used:12,}  {count.rejected.total():12,}"
        for name, count in sorted(ledger.tables.items())
    )
    lines.append("read + rejected = total, in each line")
    reasons = sorted({(why, name) for name, count in ledger.tables.items() for why in count.rejected})
    lines.extend(f"rejected: {ledger.tables[name].rejected[why]:,} of {name}: {why}" for why, name in reasons)
    lines.extend(f"left blank: {number:,} times {what}" for what, number in sorted(ledger.left_blank.items()))
    lines.extend(f"left aside: {number:,} {what}" for what, number in sorted(ledger.left_aside.items()))
    lines.extend(
        f"taken off (blanks around it, marks that nobody sees): {number:,} times {what}"
        for what, number in sorted(ledger.trimmed.items())
    )
    lines.extend(f"look: {hint}" for hint in ledger.hints)
    if ledger.columns_not_read:
        lines.append(f"columns not read: {', '.join(ledger.columns_not_read)}")
    lines.append("")
    if imported.train is None:
        lines.append("split: none; every patient will count as train. --train-patients IDS says who was trained on.")
    else:
        lines.append(f"split: {imported.train:,} train, {imported.patients - imported.train:,} nontrain")
        if imported.train_not_found:
            lines.append(f"{imported.train_not_found:,} ids of the train list have no note in this export")
    if not imported.has_labels:
        lines.append("diagnoses: no codes were given; labels will be read off the notes")
    elif not complete:
        lines += [
            "diagnoses: a patient without a code is unknown, so nobody can be a control. Where the codes are complete",
            "say --codes-complete; to have labels read off the notes instead, remove diagnoses.csv.",
        ]
    else:
        lines.append(f"diagnoses: no code means no diagnosis ({', '.join(complete)})")
        if imported.unreadable:
            lines.append(f"{imported.unreadable:,} patients have other codes too; what they lack is unknown")
    return [*lines, f"next: clinaudit check {shell_word(dest)}"]
