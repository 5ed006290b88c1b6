"""`clinaudit unlearn score` (docs/unlearning-scores.md). Owns its options and what it writes; computes nothing."""

from os.path import realpath
from pathlib import Path
from typing import Any

import click

from clinaudit.audit.commands.options import PATH, form_option, value_option
from clinaudit.audit.runtime.console.streams import say_of_finished_work, warn


@click.command()
@click.argument("bench", type=PATH)
@click.argument("answers", type=PATH)
@value_option("--out FILE", "Write the scores here, as JSON; replaced.", required=True)
@click.option("--split", "split_name", metavar="NAME", help="Who is forgotten, as random:10.  [default: the first]")
@form_option("How the questions were asked: what stands in them is no leak.")
@click.option("--before", metavar="MODEL", help="The model in ANSWERS before unlearning: compare the others with it.")
@value_option("--embeddings DIR", "An encoder for CS instead of the installed one.")
@value_option("--nli DIR", "A model of inference for ES instead of rules.")
@value_option("--corpus DIR", "Where the benchmark's corpus lies now, if it was moved.")
@value_option("--seed", "Of the bootstrap.", click.IntRange(min=0), default=0)
@click.option("--quiet", is_flag=True, help="Print nothing.")
def score(out: Path, quiet: bool, **options: Any) -> int:
    """Score ANSWERS, made elsewhere, to the questions of BENCH.

    ANSWERS is JSONL, one line a model and question: model, qa_id, text, and token_ids (without the end of sequence)
    where they are known. Every model must answer every question. FILE holds no text, but ids of patients: keep it as
    private as the benchmark.

    \b
    Example:
      clinaudit unlearn score bench/ answers.jsonl --out scores.json
      clinaudit unlearn score bench/ answers.jsonl --split cancer:10 --before original --out scores.json
    """
    from clinaudit.audit.runtime.console.progress import Progress
    from clinaudit.audit.runtime.run.directory import take_libraries_offline
    from clinaudit.audit.runtime.run.durable_files import require_writable, write_atomically
    from clinaudit.audit.unlearning.benchmark.files import corpus_place
    from clinaudit.audit.unlearning.metrics.given_answers import (
        ANSWER_FIELDS,
        ScoreRequest,
        score_given_answers,
        score_text,
    )
    from clinaudit.errors import UsageError
    from clinaudit.priors.corpus.files import printable
    from clinaudit.priors.corpus.header import Header

    request = ScoreRequest(**options)
    # Not `resolve`, which fails on a link that leads to itself.
    place = Path(realpath(out))
    if place == Path(realpath(request.answers)):
        raise UsageError(f"--out {printable(out.name)} is what is to be scored; name another file")
    if Path(realpath(request.bench)) in place.parents:
        raise UsageError(f"--out {printable(out.name)} lies in the benchmark, whose files are fixed; name another")
    # A corpus may be one file.
    corpus = Path(realpath(corpus_place(request.bench, corpus=request.corpus)))
    if corpus in (place, *place.parents):
        raise UsageError(f"--out {printable(out.name)} lies in the corpus, which is not to be written to; name another")
    require_writable(out, role="the scores")
    take_libraries_offline()
    header = Header(ANSWER_FIELDS)
    document = score_given_answers(request, header=header, progress=Progress(quiet=quiet))
    write_atomically(out, document.text())
    if not quiet:
        if header.unread:
            # Counted, not named: in a broken file a name may stand in the place of a field.
            fields = ", ".join(ANSWER_FIELDS)
            name = printable(request.answers.name)
            warn(f"note: of {name} only {fields} are read; fields of other names: {len(header.unread)}")
        say_of_finished_work(score_text(document))
    return 0
