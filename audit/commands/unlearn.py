"""`clinaudit unlearn`: make a model forget patients, and know what it cost (docs/unlearning.md).

Owns the group, and the options of `evaluate` and `score`; evaluates and scores nothing itself. Subcommands that make
something have modules of their own.
"""

from os.path import realpath
from pathlib import Path
from typing import Any

import click

from clinaudit.audit.commands.options import PATH, form_option, value_option, with_options
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
      clinaudit unlearn score bench/ answers.jsonl --out scores/
    """


unlearn.add_command(build)
unlearn.add_command(finetune)
unlearn.add_command(run)
#: Of both commands, in the order of the help.
_with_scoring_options = with_options(
    [
        value_option("--out RESULT", "Directory of the result, new or its own.", required=True),
        click.option(
            "--split",
            "split_name",
            metavar="SPLIT",
            help="Whom models made elsewhere were to forget, such as random:10.  [default of score: the first]",
        ),
        form_option("How questions are asked: what stands in them is no leak."),
        click.option(
            "--before", metavar="NAME", help="The model that the others are compared with.  [default: the baseline]"
        ),
        value_option("--embeddings DIR", "An encoder for CS instead of the installed one."),
        value_option("--nli DIR", "A model of inference for ES instead of rules."),
        value_option("--corpus CORPUS", "Where the benchmark's corpus lies now, if it was moved."),
        value_option("--seed", "Of samples and intervals.", click.IntRange(0, 2**31), default=0),
    ]
)


@unlearn.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@value_option("--bench BENCH", "The benchmark that asks.", required=True)
@_with_scoring_options
@value_option("--base-model DIR", "The model that adapters among MODEL were trained on.")
@click.option("--no-robustness", is_flag=True, help="Leave the trials out; far quicker.")
@value_option(
    "--samples N",
    "Answers sampled a question; leak@k is told for those of k = 1, 8, 32 that N reaches.",
    click.IntRange(1, 10_000),
    default=32,
)
@value_option("--relearning-steps N", "Steps of relearning.", click.IntRange(1), default=20)
@value_option(
    "--relearning-rate RATE", "Highest rate of relearning; a small model needs a higher one.", RATE, default=2e-5
)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def evaluate(
    models: tuple[str, ...],
    no_robustness: bool,
    samples: int,
    relearning_steps: int,
    relearning_rate: float,
    quiet: bool,
    **options: Any,
) -> int:
    """Ask models the questions of a benchmark, and score their answers, exact memorization included.

    MODEL is a model directory, or NAME=DIR. What `clinaudit unlearn finetune` and `run` wrote says itself whom it was
    to forget; of others --split says it. One tuned on everybody is the baseline that the others are compared with; one
    tuned without the patients of a split is the split's retrained reference.

    RESULT gets report.html and figures.csv, and what they were made of under evidence/. It is as private as the
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
    from clinaudit.audit.unlearning.evaluation.relearning import RelearningPlan
    from clinaudit.audit.unlearning.evaluation.result_files import evaluation_text
    from clinaudit.audit.unlearning.evaluation.trials import TrialOptions

    places = tuple(parse_model(value) for value in models)
    trials = TrialOptions(
        samples=samples, relearning=RelearningPlan(steps=relearning_steps, learning_rate=relearning_rate)
    )
    request = EvaluationRequest(models=places, has_trials=not no_robustness, trials=trials, **options)
    take_libraries_offline()
    say_of_finished_work(evaluation_text(evaluate_models(request, Progress(quiet=quiet))))
    return 0


@unlearn.command()
@click.argument("bench", type=PATH)
@click.argument("answers", type=PATH)
@_with_scoring_options
@click.option("--quiet", is_flag=True, help="Print nothing.")
def score(quiet: bool, **options: Any) -> int:
    """Score ANSWERS, made elsewhere, to the questions of BENCH.

    ANSWERS is JSONL, one line a model and question: model, qa_id, text, and token_ids (without the end of sequence)
    where they are known. Every model must answer every question. RESULT gets figures.csv, and scores by answer and
    patient under evidence/: keep it as private as the benchmark.

    \b
    Example:
      clinaudit unlearn score bench/ answers.jsonl --out scores/
      clinaudit unlearn score bench/ answers.jsonl --split cancer:10 --before original --out scores/
    """
    from clinaudit.audit.runtime.run.directory import take_libraries_offline
    from clinaudit.audit.unlearning.benchmark.files import corpus_place
    from clinaudit.audit.unlearning.evaluation.evaluate import ScoreRequest, score_given_answers
    from clinaudit.audit.unlearning.evaluation.given_answers import ANSWER_FIELDS
    from clinaudit.audit.unlearning.evaluation.result_files import evaluation_text
    from clinaudit.priors.corpus.files import printable
    from clinaudit.priors.corpus.header import Header

    request = ScoreRequest(**options)
    # Not `resolve`, which fails on a link that leads to itself.
    out = Path(realpath(request.out))
    corpus = corpus_place(request.bench, corpus=request.corpus)
    for given, what in ((request.bench, "the benchmark"), (corpus, "the corpus")):
        if Path(realpath(given)) in (out, *out.parents):
            raise UsageError(
                f"--out {printable(request.out.name)} lies in {what}, which is not written to; name another"
            )
    take_libraries_offline()
    header = Header(ANSWER_FIELDS)
    evaluation = score_given_answers(request, header=header, progress=Progress(quiet=quiet))
    if not quiet:
        if header.unread:
            # Counted, not named: in a broken file a name may stand in the place of a field.
            fields = ", ".join(ANSWER_FIELDS)
            name = printable(request.answers.name)
            warn(f"note: of {name} only {fields} are read; fields of other names: {len(header.unread)}")
        say_of_finished_work(evaluation_text(evaluation))
    return 0
