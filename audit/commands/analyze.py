"""`clinaudit analyze`. Owns its options; computes nothing."""

from typing import Any

import click

from clinaudit.audit.commands.options import PATH, options_of, with_options
from clinaudit.audit.settings import AnalyzeSettings, ReadingOptions


@click.command()
@click.argument("generations", type=PATH)
@click.argument("corpus", type=PATH)
@click.option("--tokenizer", type=PATH, required=True, metavar="DIR", help="Directory of the model's tokenizer.")
@click.option("--out", type=PATH, required=True, metavar="RUN", help="Directory of the run.")
@with_options(options_of(ReadingOptions))
def analyze(**options: Any) -> int:
    """Analyse memorization and identifiers in GENERATIONS, made elsewhere.

    They are compared with CORPUS: what stands in the patients' notes, and whose identifiers are given.

    GENERATIONS is a .jsonl file (an object a line; also .jsonl.gz and .jsonl.zst) or a .parquet file. Columns, as text:
    generation_id (unique), patient_id, tier and text; optionally prompt, and as lists token_ids (whole numbers, of the
    tokenizer) and diagnoses (ids). docs/corpus-format.md says what each may hold.

    \b
    Example:
      clinaudit analyze generations.jsonl corpus/ --tokenizer model/ --out run/
    """
    from clinaudit.audit.analyze_pipeline import analyze_file
    from clinaudit.audit.commands.summary import say_summary

    settings = AnalyzeSettings(**{name: value for name, value in options.items() if value is not None})
    results = analyze_file(settings)
    say_summary(results, settings.out / "report.html", quiet=settings.quiet)
    return 0
