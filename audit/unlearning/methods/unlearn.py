"""Unlearning and fine-tuning, from a model and a benchmark to a model: the door of this room. Read this first.

Owns the plan of a method, the order of the steps, and the choice of a learning rate from a fixed grid [choice]: each is
tried in full; the largest counts with which the mean loss a token on retained patients, who are neither trained on nor
evaluated, rises by no more than a tenth of a nat (10% of perplexity). A stopped run goes on from its last checkpoint
with equal bytes (docs/unlearning.md).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.runtime.choices import UnlearningMethod
from clinaudit.audit.unlearning.benchmark.records import Split
from clinaudit.audit.unlearning.methods.batches import DEFAULT_TRAINING, Example, TrainingPlan, order_steps
from clinaudit.audit.unlearning.methods.examples import flatten, read_examples
from clinaudit.audit.unlearning.methods.model_folder import RECORD_FILE, ModelFolder, RateChoice, TriedRate
from clinaudit.audit.unlearning.methods.model_in_training import Job, ModelInTraining, make_model
from clinaudit.audit.unlearning.methods.objectives import GradDiff, KlMin, Likelihood, Objective, Rmu, SimNpo
from clinaudit.audit.unlearning.methods.trained_network import Scope
from clinaudit.audit.unlearning.methods.training import DivergedError, Schedule
from clinaudit.errors import BadInputError
from clinaudit.reports.terminal.layout import align_columns

#: How far the loss may rise, in nats a token.
MOST_RISE: Final = 0.1
#: Of the retained patients, in percent, and at most so many.
_TUNING_PERCENT: Final = 10
_MOST_TUNING: Final = 20
#: Retained patients without whom no rate can be chosen.
_LEAST_RETAINED: Final = 10


def tuning_patients(split: Split) -> tuple[str, ...]:
    """Return the retained patients of a split who are set aside to choose a rate: a tenth, at most 20, by a hash.

    No evaluation may count them. Raises `BadInputError` where too few are retained.
    """
    if len(split.retain) < _LEAST_RETAINED:
        raise BadInputError(
            f"the split {split.name} retains {len(split.retain)} patients, too few to set some aside and choose a "
            "learning rate; give one with --learning-rate"
        )
    ordered = sorted(split.retain, key=lambda one: hashlib.sha256(f"{split.name}\0{one}".encode()).digest())
    return tuple(sorted(ordered[: min(_MOST_TUNING, len(ordered) * _TUNING_PERCENT // 100)]))


def choose_rate(tried: Sequence[TriedRate], *, before: float) -> int | None:
    """Return the place of the largest rate that is borne; None where none is. `before` is the loss before any."""
    borne = [
        place
        for place, one in enumerate(tried)
        if one.tuning_loss is not None and one.tuning_loss <= before + MOST_RISE
    ]
    return max(borne, key=lambda place: tried[place].learning_rate, default=None)


#: Learning rates that are tried where one is to be chosen, the paper's first, higher ones for small models [choice].
RATE_GRID: Final = (2e-5, 2e-4, 6e-4, 2e-3, 6e-3)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearningPlan:
    """How to unlearn."""

    method: UnlearningMethod
    objective: Objective
    scope: Scope
    #: None: the layer that stands where layer 7 of 32 does.
    layer: int | None = None
    #: The learning rates to choose from; empty: that of `training`.
    rates: tuple[float, ...] = ()
    training: TrainingPlan = DEFAULT_TRAINING

    def record(self) -> dict[str, Any]:
        """Return the plan as `unlearn.json` holds it."""
        shown = asdict(self)
        shown["rates"] = list(self.rates)
        return shown


def plan_unlearning(
    method: UnlearningMethod,
    *,
    seed: int,
    scope: Scope | None = None,
    layer: int | None = None,
    chooses_rate: bool = False,
    training: TrainingPlan = DEFAULT_TRAINING,
) -> UnlearningPlan:
    """Return the plan of a method with its default coefficients; `scope` None: the method's own.

    `seed` is that of RMU's direction.
    """
    made: Mapping[UnlearningMethod, Objective] = {
        "grad_diff": GradDiff(),
        "kl_min": KlMin(),
        "sim_npo": SimNpo(),
        "rmu": Rmu(seed=seed),
    }
    objective = made[method]
    return UnlearningPlan(
        method=method,
        objective=objective,
        scope=objective.default_scope if scope is None else scope,
        layer=layer,
        rates=RATE_GRID if chooses_rate else (),
        training=training,
    )


def finetune(job: Job, plan: TrainingPlan, *, without: Split | None = None) -> Path:
    """Train on the texts of all patients trained on but those whom `without` forgets; return `job.out`.

    All parameters are trained. Raises `UsageError` where the directory holds something else or was begun with other
    settings, and `BadInputError` where the training diverges: then nothing is left there.
    """
    left_out = set() if without is None else set(without.forget)
    learned = [one.patient_id for one in job.bench.patients if one.is_trained and one.patient_id not in left_out]

    def make(folder: ModelFolder) -> None:
        texts = flatten(read_examples(job, learned, plan), learned)
        model = ModelInTraining(job, folder, layer=None, scope="all")
        schedule = Schedule(epochs=order_steps(texts, (), plan, seed=job.seed), checkpoint_steps=job.checkpoint_steps)
        model.train(Likelihood(), schedule, plan)
        counts = {"patients": {"learned": len(learned)}, "texts": {"learned": len(texts)}}
        # Whom a model that was made here before learned, this record could not say.
        is_first = not (job.files.directory / RECORD_FILE).is_file()
        model.finish(plan.learning_rate, counts, learned if is_first else None)

    shown = {"without": without.public_name if without else None, "training": asdict(plan)}
    return make_model(job, job.settings("finetune", shown, {"learned": learned}), make)


def unlearn(job: Job, split: Split, plan: UnlearningPlan) -> Path:
    """Make the model forget the split's patients; return the new model's directory, which is `job.out`.

    Raises `UsageError` where the directory holds something else or was begun with other settings, and `BadInputError`
    where the training diverges: then nothing is left there.
    """
    tuning = tuning_patients(split) if plan.rates else ()
    roles = {
        "forget": split.forget,
        "retain": tuple(patient for patient in split.retain if patient not in set(tuning)),
        "tuning": tuning,
    }

    def make(folder: ModelFolder) -> None:
        texts = read_examples(job, [*split.forget, *split.retain], plan.training)
        forget, retain, held_out = (flatten(texts, patients) for patients in roles.values())
        if not forget or not retain:
            raise BadInputError("the split's forgotten or retained patients have no text; build the benchmark again")
        model = ModelInTraining(job, folder, layer=plan.layer, scope=plan.scope)
        epochs = order_steps(forget, retain, plan.training, seed=job.seed)
        schedule = Schedule(epochs=epochs, checkpoint_steps=job.checkpoint_steps)
        exact: dict[str, Any] = {
            "patients": {role: len(ids) for role, ids in roles.items()},
            "texts": {"forget": len(forget), "retain": len(retain)},
        }
        rate = plan.training.learning_rate
        if plan.rates:
            rate, choice = _try_rates(model, plan, schedule, forget=forget, held_out=held_out)
            exact["rate_choice"] = choice.model_dump()
        else:
            model.train(plan.objective, schedule, plan.training)
        model.finish(rate, exact)

    settings = job.settings("unlearn", {"split": split.public_name, **plan.record()}, roles)
    return make_model(job, settings, make)


def _try_rates(
    model: ModelInTraining,
    plan: UnlearningPlan,
    schedule: Schedule,
    *,
    forget: Sequence[Example],
    held_out: Sequence[Example],
) -> tuple[float, RateChoice]:
    """Leave the model as the rate that is chosen made it; return the rate, and what the record says of the choice."""
    trainings = {f"rate-{place}": replace(plan.training, learning_rate=rate) for place, rate in enumerate(plan.rates)}
    before = model.measure(held_out, plan.training)
    tried: list[TriedRate] = []
    for name, training in trainings.items():
        losses: tuple[float | None, float | None] = None, None
        try:
            model.train(plan.objective, schedule, training, name=name)
            losses = model.measure(held_out, training), model.measure(forget, training)
        except DivergedError:
            # A rate that is too high is what the grid is there to find.
            pass
        tried.append(TriedRate(learning_rate=training.learning_rate, tuning_loss=losses[0], forget_loss=losses[1]))
    place = choose_rate(tried, before=before)
    if place is None:
        raise BadInputError(
            "with every learning rate of the grid the patients set aside lose more than a tenth of a nat a token, and "
            "no model was written; give a rate with --learning-rate, or another method"
        )
    name, training = list(trainings.items())[place]
    # From its last checkpoint: nothing is trained again.
    model.train(plan.objective, schedule, training, name=name)
    choice = RateChoice(tuning_loss_before=before, most_rise=MOST_RISE, tried=tried)
    return training.learning_rate, choice


def rate_text(learning_rate: float, choice: RateChoice) -> str:
    """Return the rates that were tried and the one chosen."""
    rows = [("learning rate", "loss: retained, set aside", "to be forgotten")]
    rows.append(("before", _loss(choice.tuning_loss_before), ""))
    rows += [(f"{one.learning_rate:g}", _loss(one.tuning_loss), _loss(one.forget_loss)) for one in choice.tried]
    chosen = f"chosen: {learning_rate:g}, the largest with which the retained lose {choice.most_rise:g} at most"
    if learning_rate == max(one.learning_rate for one in choice.tried):
        chosen += "; the largest of all, so a larger one (--learning-rate) may forget more"
    return f"{align_columns(rows)}\n{chosen}"


def _loss(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.3f}"
