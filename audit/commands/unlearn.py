"""`clinaudit unlearn`: make a model forget patients, and know what it cost (docs/unlearning.md).

Owns the group, its options and what is printed; builds, trains, evaluates and scores nothing itself.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from clinaudit.audit.commands import options as shared
from clinaudit.audit.commands.options import PATH, Command, form_option, value_option, with_options
from clinaudit.audit.runtime.choices import UnlearningMethod
from clinaudit.audit.runtime.console import Progress, say_of_finished_work
from clinaudit.audit.runtime.settings import ServedModelOptions
from clinaudit.errors import UsageError

if TYPE_CHECKING:
    from clinaudit.audit.unlearning.benchmark.build import BuildRequest
    from clinaudit.audit.unlearning.benchmark.files import Bench, Keyword
    from clinaudit.audit.unlearning.methods.texts import TrainingPlan
    from clinaudit.audit.unlearning.methods.unlearn import Job


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


def _source_option(flag: str, offline: str, who: str) -> Callable[[Command], Command]:
    return click.option(
        flag, metavar=f"{offline}|served|FILE", default=offline, show_default=True, callback=shared.not_empty, help=who
    )


@unlearn.command()
@click.argument("corpus", type=PATH, metavar="CORPUS")
@value_option("--out BENCH", "Directory of the benchmark, new or its own.", required=True)
@_source_option("--qa", "templates", "Source of the questions: templates, a served model, or a file.")
@_source_option(
    "--categories", "notes", "Source of each patient's disease category: the latest note, a served model, or a file."
)
@value_option(
    "--percent P",
    "Share of the patients to be forgotten (repeatable).  [default: 5, 10, 15, 20, 25]",
    click.IntRange(1, 50),
    multiple=True,
    name="percents",
)
@value_option("--request FILE", "File of patient ids, one a line, to be forgotten as one more split.", name="forgotten")
@shared.TEMPLATE
@with_options(shared.options_of(ServedModelOptions))
@value_option("--panel FILE", "Three served judges, who check up to 900 categories and 1,000 questions.")
@value_option("--seed", "Seed of questions and splits.", click.IntRange(0, 2**31), default=0)
@click.option("--quiet", is_flag=True, help="Print nothing.")
def build(quiet: bool, **options: Any) -> int:
    """Build a benchmark of unlearning: questions on each patient of CORPUS, and who is to be forgotten.

    Each patient gets a disease category and eight questions, four of recall and four that infer something; one of each
    is withheld from all training. Templates suit notes with sections, such as the demo's; for other notes give a served
    model or a file. Forget sets are nested, at random and of one disease; --request adds the set of patients who must
    be forgotten. BENCH is PHI, as CORPUS is. The same command resumes a stopped build.

    \b
    Example:
      clinaudit unlearn build corpus/ --out bench/
      clinaudit unlearn build corpus/ --out bench/ --request ids.txt
      clinaudit unlearn build corpus/ --out bench/ --qa questions.jsonl --categories categories.csv
      clinaudit unlearn build corpus/ --out bench/ --qa served --served-url http://127.0.0.1:8000/v1 --served-model NAME
      clinaudit unlearn build corpus/ --out bench/ --panel judges.toml
    """
    from clinaudit.audit.unlearning.benchmark.build import KeywordSource, build_bench
    from clinaudit.audit.unlearning.benchmark.statistics import bench_text
    from clinaudit.audit.unlearning.metrics.keywords import EnglishParser, extract_keywords, load_seeds

    progress, request = Progress(quiet=quiet), _request(**options)
    seeds = load_seeds()
    parser = EnglishParser(seeds.lexicon)

    def read(bench: "Bench") -> "list[Keyword]":
        with progress.stage("reading keywords", total=len(bench.questions), unit="questions") as advance:
            return extract_keywords(bench, parser, seeds=seeds, advance=advance)

    counts = build_bench(request, progress, keywords=KeywordSource(parser.name, read, seeds.of_patient))
    if not quiet:
        say_of_finished_work(bench_text(counts))
    return 0


def _request(*, qa: str, categories: str, **options: Any) -> "BuildRequest":
    from clinaudit.audit.unlearning.benchmark.build import PERCENTS, BuildRequest, Source

    # The judges of a panel may need them, too.
    approved = options["phi_approved"]
    served, is_asked = shared.take_served(options), "served" in (qa, categories)
    if is_asked and served is None:
        raise UsageError("served was asked for, and no model is named; give --served-url and --served-model")
    if served is not None and not is_asked:
        raise UsageError("--served-url and --served-model go with --qa served or --categories served")

    def source(value: str, offline: str) -> Source | Path:
        return "offline" if value == offline else "served" if value == "served" else Path(value)

    return BuildRequest(
        questions=source(qa, "templates"),
        categories=source(categories, "notes"),
        percents=tuple(sorted(set(options.pop("percents")))) or PERCENTS,
        served=served,
        approved_hosts=approved,
        **{name: value for name, value in options.items() if value is not None},
    )


class _Rate(click.FloatRange):
    """A number above 0; FloatRange lets nan and infinity through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        rate: float = super().convert(value, param, ctx)
        if not math.isfinite(rate):
            self.fail("it takes a finite number above 0", param, ctx)
        return rate


RATE = _Rate(0, min_open=True)
#: Texts of a step, whatever fits into memory at once [choice].
STEP: Final = 8


#: Of both commands, in the order of the help.
_with_training_options = with_options(
    [
        click.argument("model", type=PATH),
        click.argument("bench", type=PATH),
        value_option("--out DIR", "Directory of the new model.", required=True),
        value_option("--base-model DIR", "The model that an adapter (MODEL) was trained on."),
        value_option("--corpus CORPUS", "Where the corpus of the benchmark lies now, if it was moved."),
        value_option("--epochs", "Passes over the texts.", click.IntRange(1, 1000), default=3),
        value_option(
            "--batch N", f"Texts read at once; a step has at least {STEP}.", click.IntRange(1, 4096), default=4
        ),
        form_option(),
        value_option("--seed", "Seed of the order of the texts.", click.IntRange(0, 2**31), default=0),
        click.option("--quiet", is_flag=True, help="No progress on stderr."),
    ]
)


@unlearn.command()
@value_option("--method", "How to unlearn.", click.Choice(get_args(UnlearningMethod)), required=True)
@click.option(
    "--forget", metavar="SPLIT", required=True, help="The split to forget, such as random:10, cancer:5 or request:4."
)
@value_option("--learning-rate RATE", "Highest rate.  [default: 2e-5]", RATE)
@value_option("--layer N", "The layer to train or steer.  [default: in proportion to 7 of 32]", click.IntRange(0))
@value_option(
    "--train",
    "The layer's parameters alone, LoRA's, or all.  [default: layer; for rmu all]",
    click.Choice(["layer", "lora", "all"]),
    name="scope",
)
@_with_training_options
def run(**options: Any) -> int:
    """Make MODEL forget the patients of a split; the new model goes to DIR. An interim measure.

    Only a model that is trained again without them is sure to have forgotten them: `finetune --forget`.

    MODEL is a Hugging Face model directory (safetensors), or a LoRA adapter's with --base-model: it is merged first.
    BENCH is a benchmark of `clinaudit unlearn build`. DIR is a model directory of the same kind, as private as the
    corpus, with unlearn.json beside the weights; DIR/evidence tells of patients (PHI) and must not be handed on. The
    same command resumes a stopped run.

    \b
    Example:
      clinaudit unlearn run model/ bench/ --method sim_npo --forget random:10 --out forgot/
      clinaudit unlearn run model/ bench/ --method rmu --forget cancer:10 --learning-rate 6e-4 --out forgot/
    """
    from clinaudit.audit.unlearning.methods.unlearn import plan_unlearning, unlearn

    job, training = _job(**options), training_plan(options, layer=options["layer"], form=options["form"])
    plan = plan_unlearning(options["method"], seed=options["seed"], scope=options["scope"], training=training)
    unlearn(job, job.bench.split(options["forget"]), plan)
    _done(options["out"])
    say_of_finished_work(
        f"This is an interim measure ({plan.method}, {plan.training.scope}): only a model that is trained again "
        "without the patients is sure to have forgotten them\n"
    )
    return 0


@unlearn.command()
@click.option(
    "--forget", metavar="SPLIT", help="Leave out the patients of this split: for a model that never saw them."
)
@value_option("--learning-rate RATE", "Highest rate.  [default: 2e-5]", RATE)
@value_option("--train", "All parameters, or LoRA's.", click.Choice(["all", "lora"]), name="scope", default="all")
@_with_training_options
def finetune(**options: Any) -> int:
    """Train MODEL on the benchmark's notes and questions: the model that unlearning begins with.

    With --forget, and a MODEL that never saw these patients, it is the retrained reference that unlearned models are
    compared with. DIR is as in `clinaudit unlearn run`.

    \b
    Example:
      clinaudit unlearn finetune model/ bench/ --out tuned/
      clinaudit unlearn finetune never-saw-them/ bench/ --forget random:10 --out retrained/
    """
    from clinaudit.audit.unlearning.methods.unlearn import finetune as tune

    job, forget = _job(**options), options["forget"]
    plan = training_plan(options, scope=options["scope"], form=options["form"])
    tune(job, plan, without=None if forget is None else job.bench.split(forget))
    _done(options["out"])
    return 0


def training_plan(options: Mapping[str, Any], **more: Any) -> "TrainingPlan":
    """Return the plan that options of training ask for, with `more` of its fields."""
    from clinaudit.audit.unlearning.methods.texts import DEFAULT_TRAINING

    rate = {} if options["learning_rate"] is None else {"learning_rate": options["learning_rate"]}
    sizes = {"micro_batch": options["batch"], "micro_batches": math.ceil(STEP / options["batch"])}
    return replace(DEFAULT_TRAINING, epochs=options["epochs"], **sizes, **rate, **more)


def _job(*, model: Path, bench: Path, out: Path, base_model: Path | None, **options: Any) -> "Job":
    from clinaudit.audit.runtime.model.files import inspect_adapted, inspect_model
    from clinaudit.audit.runtime.run.directory import take_libraries_offline
    from clinaudit.audit.unlearning.benchmark.files import read_bench
    from clinaudit.audit.unlearning.methods.unlearn import Job

    take_libraries_offline()
    return Job(
        files=inspect_model(model) if base_model is None else inspect_adapted(model, base=base_model),
        bench=read_bench(bench, corpus=options["corpus"]),
        out=out,
        seed=options["seed"],
        progress=Progress(quiet=options["quiet"]),
    )


def _done(out: Path) -> None:
    say_of_finished_work(
        f"{out}: the new model, as private as the corpus; {out}/evidence is PHI, and goes nowhere with it\n"
    )


#: Of both commands, in the order of the help.
_with_scoring_options = with_options(
    [
        value_option("--out RESULT", "Directory of the result, new or its own.", required=True),
        click.option(
            "--split",
            "split_name",
            metavar="SPLIT",
            help="The split that models made elsewhere forgot, such as random:10.  [default of score: the first]",
        ),
        form_option("How questions are asked: what stands in them is no leak."),
        click.option(
            "--before", metavar="NAME", help="The model that the others are compared with.  [default: the baseline]"
        ),
        value_option("--embeddings DIR", "An encoder for CS instead of the installed one."),
        value_option("--nli DIR", "A model of inference for ES instead of rules."),
        value_option("--corpus CORPUS", "Where the benchmark's corpus lies now, if it was moved."),
        value_option("--seed", "Seed of samples and intervals.", click.IntRange(0, 2**31), default=0),
    ]
)


@unlearn.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@value_option("--bench BENCH", "The benchmark with the questions.", required=True)
@_with_scoring_options
@value_option("--base-model DIR", "The model that adapters among MODEL were trained on.")
@click.option("--no-robustness", is_flag=True, help="Leave the trials out; far quicker.")
@value_option(
    "--samples N",
    "Answers sampled a question; leak@k is given for k = 1, 8, 32 up to N.",
    click.IntRange(1, 10_000),
    default=32,
)
@value_option("--relearning-steps N", "Steps of relearning.", click.IntRange(1), default=20)
@value_option(
    "--relearning-rate RATE", "Highest rate of relearning; a small model needs a higher one.", RATE, default=2e-5
)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def evaluate(quiet: bool, no_robustness: bool, samples: int, **options: Any) -> int:
    """Ask models the questions of a benchmark, and score their answers, exact memorization included.

    MODEL is a model directory, or NAME=DIR. A model of `clinaudit unlearn finetune` or `run` records whom it was to
    forget; for any other model --split says it. A model tuned on everybody is the baseline that the others are compared
    with; a model tuned without the patients of a split is the split's retrained reference.

    RESULT gets report.html and figures.csv, and the tables behind them under evidence/. It is as private as the
    benchmark. The same command resumes a stopped evaluation, and may name one more MODEL.

    \b
    Example:
      clinaudit unlearn evaluate tuned/ forgot/ --bench bench/ --out result/
      clinaudit unlearn evaluate tuned/ npo=forgot/ retrained/ --bench bench/ --out result/
    """
    from clinaudit.audit.runtime.run.directory import take_libraries_offline
    from clinaudit.audit.unlearning.evaluation.evaluate import EvaluationRequest, evaluation_text
    from clinaudit.audit.unlearning.evaluation.evaluate import evaluate as evaluate_models
    from clinaudit.audit.unlearning.evaluation.given_models import parse_model
    from clinaudit.audit.unlearning.evaluation.trials import RelearningPlan, TrialOptions

    places = tuple(map(parse_model, options.pop("models")))
    steps, rate = options.pop("relearning_steps"), options.pop("relearning_rate")
    trials = TrialOptions(samples=samples, relearning=RelearningPlan(steps=steps, learning_rate=rate))
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
    from clinaudit.audit.unlearning.evaluation.evaluate import ScoreRequest, evaluation_text, score_given_answers
    from clinaudit.audit.unlearning.evaluation.given_models import ANSWER_FIELDS
    from clinaudit.priors.corpus.header import Header

    request = ScoreRequest(**options)
    take_libraries_offline()
    header = Header(ANSWER_FIELDS)
    evaluation = score_given_answers(request, header=header, progress=Progress(quiet=quiet))
    if not quiet:
        shared.warn_of_unread(header, request.answers)
        say_of_finished_work(evaluation_text(evaluation))
    return 0
