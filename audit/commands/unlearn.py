"""`clinaudit unlearn`: make a model forget patients, and know what it cost (docs/unlearning.md).

Owns the group, and the options of `evaluate` and `score`; evaluates and scores nothing itself. Subcommands that make
something have modules of their own.
"""

from os.path import realpath
from pathlib import Path
from typing import Any

import click

from clinaudit.audit.commands.options import PATH, form_option, value_option
from clinaudit.audit.commands.unlearn_build import build
from clinaudit.audit.commands.unlearn_run import RATE, finetune, run
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.console.streams import say_of_finished_work, warn
from clinaudit.errors import UsageError


@click.group()
def unlearn() -> None:
    """Make a model forget patients, and measure what is left and what it cost (docs/unlearning.md).

    \b
    Example:
      clinaudit unlearn build corpus/ --out bench/
      clinaudit unlearn finetune model/ bench/ --out tuned/
      clinaudit unlearn run tuned/ bench/ --method sim_npo --forget random:10 --out forgot/
      clinaudit unlearn evaluate tuned/ forgot/ --bench bench/ --out result/
      clinaudit unlearn score bench/ answers.jsonl --out scores.json
    """


unlearn.add_command(build)
unlearn.add_command(finetune)
unlearn.add_command(run)


@unlearn.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@value_option("--bench BENCH", "The benchmark that asks.", required=True)
@value_option("--out RESULT", "Directory of the result.", required=True)
@click.option(
    "--split", "split_name", metavar="SPLIT", help="Whom a MODEL made elsewhere was to forget, such as random:10."
)
@form_option()
@click.option("--before", metavar="NAME", help="The MODEL that the others are compared with.  [default: the baseline]")
@value_option("--base-model DIR", "The model that adapters among MODEL were trained on.")
@value_option("--embeddings DIR", "An encoder for CS instead of the installed one.")
@value_option("--nli DIR", "A model of inference for ES instead of rules.")
@value_option("--corpus CORPUS", "Where the benchmark's corpus lies now, if it was moved.")
@value_option("--seed", "Of samples and intervals.", click.IntRange(0, 2**31), default=0)
@click.option("--no-robustness", is_flag=True, help="Leave the robustness tests out; far quicker.")
@value_option(
    "--samples N",
    "Answers sampled a question; leak@k is told for those of k = 1, 8, 32 that N reaches.  [default: 32]",
    click.IntRange(1, 10_000),
)
@value_option("--relearning-steps N", "Steps of relearning.  [default: 20]", click.IntRange(1))
@value_option(
    "--relearning-rate RATE", "Highest rate of relearning; a small model needs a higher one.  [default: 2e-5]", RATE
)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def evaluate(
    models: tuple[str, ...],
    no_robustness: bool,
    samples: int | None,
    relearning_steps: int | None,
    relearning_rate: float | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Ask models the questions of a benchmark, and score their answers, exact memorization included.

    MODEL is a model directory, or NAME=DIR. What `clinaudit unlearn finetune` and `run` wrote says itself whom it was
    to forget; of others --split says it. One tuned on everybody is the baseline that the others are compared with; one
    tuned without the patients of a split is the split's retrained reference.

    RESULT gets report.html with tables/*.csv, and the documents behind them under evidence/. It is as private as the
    benchmark. A stopped evaluation goes on with the same command, and one more MODEL may be given then.

    \b
    Example:
      clinaudit unlearn evaluate tuned/ forgot/ --bench bench/ --out result/
      clinaudit unlearn evaluate tuned/ npo=forgot/ retrained/ --bench bench/ --out result/
    """
    from clinaudit.audit.runtime.run.directory import take_libraries_offline
    from clinaudit.audit.unlearning.evaluation.evaluate import EvaluationRequest
    from clinaudit.audit.unlearning.evaluation.evaluate import evaluate as evaluate_models
    from clinaudit.audit.unlearning.evaluation.given_models import parse_model
    from clinaudit.audit.unlearning.evaluation.result_files import evaluation_text
    from clinaudit.audit.unlearning.evaluation.robustness.parts import RobustnessOptions

    places = tuple(parse_model(value) for value in models)
    tried = {"--samples": samples, "--relearning-steps": relearning_steps, "--relearning-rate": relearning_rate}
    given = next((name for name, value in tried.items() if value is not None), None)
    if no_robustness and given is not None:
        raise UsageError(f"--no-robustness runs no robustness test; leave {given} out")
    robustness = RobustnessOptions.of(samples=samples, steps=relearning_steps, learning_rate=relearning_rate)
    request = EvaluationRequest(models=places, has_robustness=not no_robustness, robustness=robustness, **options)
    take_libraries_offline()
    say_of_finished_work(evaluation_text(evaluate_models(request, Progress(quiet=quiet))))
    return 0


@unlearn.command()
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
    from clinaudit.audit.runtime.run.directory import take_libraries_offline
    from clinaudit.audit.runtime.run.durable_files import require_writable, write_atomically
    from clinaudit.audit.unlearning.benchmark.files import corpus_place
    from clinaudit.audit.unlearning.metrics.given_answers import (
        ANSWER_FIELDS,
        ScoreRequest,
        score_given_answers,
        score_text,
    )
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
