"""`clinaudit unlearn run` and `finetune` (docs/unlearning.md). Owns their options; trains nothing itself."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from clinaudit.audit.commands.options import PATH, form_option, value_option, with_options
from clinaudit.audit.runtime.choices import UnlearningMethod
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.console.streams import say_of_finished_work

if TYPE_CHECKING:
    from clinaudit.audit.unlearning.methods.texts import TrainingPlan
    from clinaudit.audit.unlearning.methods.unlearn import Job


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
            "--batch N",
            f"Texts that are read at once; a step has {STEP} at least.",
            click.IntRange(1, 4096),
            default=4,
        ),
        form_option(),
        value_option("--seed", "Of the order of the texts.", click.IntRange(0, 2**31), default=0),
        click.option("--quiet", is_flag=True, help="No progress on stderr."),
    ]
)


@click.command()
@value_option("--method", "How to unlearn.", click.Choice(get_args(UnlearningMethod)), required=True)
@click.option(
    "--forget", metavar="SPLIT", required=True, help="Whom to forget, such as random:10, cancer:5 or request:4."
)
@value_option("--learning-rate RATE", "Highest rate.  [default: 2e-5]", RATE)
@value_option("--layer N", "The layer trained or steered.  [default: as 7 is of 32]", click.IntRange(0))
@value_option(
    "--train",
    "The layer's parameters alone, LoRA's, or all.  [default: layer; of rmu all]",
    click.Choice(["layer", "lora", "all"]),
    name="scope",
)
@_with_training_options
def run(**options: Any) -> int:
    """Make MODEL forget the patients of a split; the new model goes to DIR. An interim measure.

    Only a model that is trained again without them is sure to have forgotten them: `finetune --forget`.

    MODEL is a Hugging Face model directory (safetensors), or a LoRA adapter's with --base-model: it is merged first.
    BENCH is a benchmark of `clinaudit unlearn build`. DIR is a model directory of the same kind, as private as the
    corpus, with unlearn.json beside the weights; DIR/evidence holds what tells of patients (PHI) and goes nowhere. A
    stopped run goes on with the same command.

    \b
    Example:
      clinaudit unlearn run model/ bench/ --method sim_npo --forget random:10 --out forgot/
      clinaudit unlearn run model/ bench/ --method rmu --forget cancer:10 --learning-rate 6e-4 --out forgot/
    """
    from clinaudit.audit.unlearning.methods.unlearn import plan_unlearning, unlearn

    job = _job(**options)
    plan = plan_unlearning(
        options["method"],
        seed=options["seed"],
        scope=options["scope"],
        training=_training(**options),
    )
    unlearn(job, job.bench.split(options["forget"]), plan)
    _done(options["out"])
    say_of_finished_work(
        f"This is an interim measure ({plan.method}, {plan.training.scope}): only a model that is trained again "
        "without the patients is sure to have forgotten them\n"
    )
    return 0


@click.command()
@click.option("--forget", metavar="SPLIT", help="Leave out whom this split forgets: for a model that never saw them.")
@value_option("--learning-rate RATE", "Highest rate.  [default: 2e-5]", RATE)
@value_option("--train", "All parameters, or LoRA's.", click.Choice(["all", "lora"]), name="scope", default="all")
@_with_training_options
def finetune(**options: Any) -> int:
    """Train MODEL on the benchmark's notes and questions: the model that unlearning begins with.

    With --forget, and a MODEL that never saw these patients, it is the retrained reference that unlearned models are
    compared with. DIR is as that of `clinaudit unlearn run`.

    \b
    Example:
      clinaudit unlearn finetune model/ bench/ --out tuned/
      clinaudit unlearn finetune never-saw-them/ bench/ --forget random:10 --out retrained/
    """
    from clinaudit.audit.unlearning.methods.unlearn import finetune as tune

    job, forget = _job(**options), options["forget"]
    plan = replace(_training(**options), scope=options["scope"])
    tune(job, plan, without=None if forget is None else job.bench.split(forget))
    _done(options["out"])
    return 0


def _training(
    *, learning_rate: float | None, epochs: int, batch: int, form: Any, layer: int | None = None, **_: Any
) -> "TrainingPlan":
    from clinaudit.audit.unlearning.methods.texts import DEFAULT_TRAINING, TrainingPlan

    return TrainingPlan(
        epochs=epochs,
        learning_rate=DEFAULT_TRAINING.learning_rate if learning_rate is None else learning_rate,
        layer=layer,
        micro_batch=batch,
        micro_batches=math.ceil(STEP / batch),
        form=form,
    )


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
