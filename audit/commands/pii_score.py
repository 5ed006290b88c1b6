"""`clinaudit pii score` (docs/pii.md). Owns its options and what it prints and writes; computes nothing."""

import json
from collections.abc import Sequence
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.runtime.console.streams import say_of_finished_work, warn

if TYPE_CHECKING:
    from clinaudit.audit.pii.benchmark.scoring.scores import SampleScores


@click.command()
@click.argument("samples", type=PATH)
@click.argument("predictions", type=PATH)
@click.option("--out", type=PATH, metavar="FILE", required=True, help="Write the scores here, as JSON; replaced.")
@click.option(
    "--real",
    type=PATH,
    nargs=2,
    metavar="TEXTS PREDICTIONS",
    help="Real texts labelled as samples are, and predictions of the same systems on them: whether both tell the same.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def score(samples: Path, predictions: Path, out: Path, real: tuple[Path, Path] | None, seed: int, quiet: bool) -> int:
    """Score PREDICTIONS, made elsewhere, on SAMPLES of the benchmark.

    SAMPLES is JSONL as `clinaudit pii samples` writes it. PREDICTIONS is JSONL, one row a sample and system: sample,
    system, and any of subjects (what was found of each), query_related (the texts that the question needs) and masked
    (the texts that it does not need). A sample without a prediction scores 0 and is counted. FILE holds no text.

    \b
    Example:
      clinaudit pii score samples.jsonl predictions.jsonl --out scores.json
      clinaudit pii score samples.jsonl.gz predictions.jsonl.gz --out scores.json --seed 1
      clinaudit pii score samples.jsonl predictions.jsonl --real texts.jsonl on-texts.jsonl --out scores.json
    """
    from clinaudit.audit.pii.benchmark.scoring.score_document import describe_real, describe_scores
    from clinaudit.audit.pii.benchmark.terminal_text import score_text
    from clinaudit.audit.runtime.run.durable_files import require_writable, write_atomically
    from clinaudit.errors import UsageError
    from clinaudit.priors.corpus.files import printable

    # Not `Path.resolve`, which knows no name for links that lead in a circle.
    if realpath(out) in {realpath(path) for path in (samples, predictions, *(real or ()))}:
        raise UsageError(f"--out {printable(out.name)} is what is to be scored; name another file")
    require_writable(out, role="the scores")
    count, rows, notes = _score(samples, predictions, is_real=False)
    document = describe_scores(rows, samples=count, seed=seed)
    if real is not None:
        count, rows, more = _score(*real, is_real=True)
        document["real"] = describe_real(document, rows, samples=count, seed=seed)
        notes += more
    write_atomically(out, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    if not quiet:
        for note in notes:
            warn(note)
        say_of_finished_work(score_text(document))
    return 0


def _score(samples: Path, predictions: Path, *, is_real: bool) -> tuple[int, "Sequence[SampleScores]", list[str]]:
    """Return how many samples there are, the scores, and what is to be noted of the file of predictions.

    Samples must be sound; of real texts, which somebody labelled, only the answers are needed.
    """
    from clinaudit.audit.pii.benchmark.sample import Sample
    from clinaudit.audit.pii.benchmark.sample_file import (
        PREDICTION_FIELDS,
        check_sample,
        iter_predictions,
        iter_samples,
    )
    from clinaudit.audit.pii.benchmark.scoring.scores import AnsweredSample, check_answers, gold_of, score_predictions
    from clinaudit.priors.corpus.files import printable
    from clinaudit.priors.corpus.header import Header

    if is_real:
        gold = [gold_of(sample) for sample in iter_samples(samples, AnsweredSample, check=check_answers)]
    else:
        gold = [gold_of(sample) for sample in iter_samples(samples, Sample, check=check_sample)]
    header = Header(PREDICTION_FIELDS)
    known = {answers.sample for answers in gold}
    rows = score_predictions(gold, iter_predictions(predictions, samples=known, header=header))
    # Counted, not named: in a broken file a name may stand in the place of a field.
    fields, unread = ", ".join(PREDICTION_FIELDS), len(header.unread)
    name = printable(predictions.name)
    note = f"note: of {name} only {fields} are read; fields of other names: {unread}"
    return len(gold), rows, [note] if unread else []
