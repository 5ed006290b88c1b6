"""`clinaudit pii score` (docs/pii-scores.md). Owns its options and what it prints and writes; computes nothing."""

import json
from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say_of_finished_work, warn


@click.command()
@click.argument("samples", type=PATH)
@click.argument("predictions", type=PATH)
@click.option("--out", type=PATH, metavar="FILE", required=True, help="Write the scores here, as JSON; replaced.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def score(samples: Path, predictions: Path, out: Path, seed: int, quiet: bool) -> int:
    """Score PREDICTIONS, made elsewhere, on SAMPLES of the benchmark.

    SAMPLES is JSONL as `clinaudit pii samples` writes it. PREDICTIONS is JSONL, one row a sample and system: sample,
    system, and any of subjects (what was found of each), query_related (the texts that the question needs) and masked
    (the texts that it does not need). A sample without a prediction scores 0 and is counted. FILE holds no text.

    \b
    Example:
      clinaudit pii score samples.jsonl predictions.jsonl --out scores.json
      clinaudit pii score samples.jsonl.gz predictions.jsonl.gz --out scores.json --seed 1
    """
    from clinaudit.audit.pii.benchmark.samples.sample_file import iter_samples
    from clinaudit.audit.pii.benchmark.scoring.gold_answers import AnsweredSample, gold_of
    from clinaudit.audit.pii.benchmark.scoring.predictions import PREDICTION_FIELDS, iter_predictions
    from clinaudit.audit.pii.benchmark.scoring.score_document import describe_scores
    from clinaudit.audit.pii.benchmark.scoring.score_table import score_text
    from clinaudit.audit.pii.benchmark.scoring.scores import score_predictions
    from clinaudit.audit.run.durable_files import require_writable, write_atomically
    from clinaudit.errors import UsageError
    from clinaudit.priors.corpus.files import printable
    from clinaudit.priors.corpus.header import Header

    if out.resolve() in (samples.resolve(), predictions.resolve()):
        raise UsageError(f"--out {printable(out.name)} is what is to be scored; name another file")
    require_writable(out, role="the scores")
    gold = [gold_of(sample) for sample in iter_samples(samples, AnsweredSample)]
    known = {answers.sample for answers in gold}
    header = Header(PREDICTION_FIELDS)
    rows = score_predictions(gold, iter_predictions(predictions, samples=known, header=header))
    document = describe_scores(rows, samples=len(gold), seed=seed)
    write_atomically(out, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    if not quiet:
        if header.unread:
            # Counted, not named: in a broken file a name may stand in the place of a field.
            fields = ", ".join(PREDICTION_FIELDS)
            name = printable(predictions.name)
            warn(f"note: of {name} only {fields} are read; fields of other names: {len(header.unread)}")
        say_of_finished_work(score_text(document))
    return 0
