"""Unlearning, from a model and a split to a model: the door of this room, with `finetune.py`. Read this first.

Owns the order: what the weights depend on, the texts, the training at one rate or at each of a grid, the result. A
stopped run goes on from its last checkpoint with equal bytes (docs/unlearning.md).
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clinaudit.audit.unlearning.benchmark.records import Split
from clinaudit.audit.unlearning.methods.batches import Example
from clinaudit.audit.unlearning.methods.examples import flatten, read_examples
from clinaudit.audit.unlearning.methods.job import Job
from clinaudit.audit.unlearning.methods.model_folder import ModelFolder
from clinaudit.audit.unlearning.methods.model_in_training import ModelInTraining, make_model
from clinaudit.audit.unlearning.methods.plan import UnlearningPlan
from clinaudit.audit.unlearning.methods.rate_choice import (
    TriedRate,
    choose_rate,
    describe_choice,
    tuning_patients,
)
from clinaudit.audit.unlearning.methods.training import DivergedError, Schedule
from clinaudit.errors import BadInputError


def unlearn(job: Job, split: Split, plan: UnlearningPlan) -> Path:
    """Make the model forget the split's patients; return the new model's directory, which is `job.out`.

    Raises `UsageError` where the directory holds something else or was begun with other settings, and `BadInputError`
    where the training diverges: then nothing is left there.
    """
    job.require_sound(plan.training)
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
        schedule = Schedule.of(forget, retain, plan.training, seed=job.seed, checkpoint_steps=job.checkpoint_steps)
        exact: dict[str, Any] = {
            "patients": {role: len(ids) for role, ids in roles.items()},
            "texts": {"forget": len(forget), "retain": len(retain)},
        }
        rate = plan.training.learning_rate
        if plan.rates:
            rate, exact["rate_choice"] = _try_rates(model, plan, schedule, forget=forget, held_out=held_out)
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
) -> tuple[float, dict[str, Any]]:
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
    return training.learning_rate, describe_choice(tried, before=before)
