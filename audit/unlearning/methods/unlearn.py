"""Unlearning and fine-tuning, from a model and texts to a model: the door of this room. Read this first."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.runtime.choices import UnlearningMethod
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.files import ModelFiles, inspect_model
from clinaudit.audit.runtime.model.pretrained import deterministic, require_own_weights
from clinaudit.audit.runtime.run.directory import library_versions
from clinaudit.audit.unlearning.benchmark.files import Bench, Split
from clinaudit.audit.unlearning.methods.losses import METHODS, DivergedError, Likelihood, Objective, Rmu
from clinaudit.audit.unlearning.methods.model_folder import RECORD_FILE, ModelFolder
from clinaudit.audit.unlearning.methods.texts import (
    DEFAULT_TRAINING,
    Example,
    Scope,
    TrainingPlan,
    order_batches,
    read_notes,
    read_texts,
)
from clinaudit.audit.unlearning.methods.trained_network import (
    Device,
    TrainedNetwork,
    load_network,
    require_training_memory,
    write_model,
)
from clinaudit.errors import BadInputError

#: Of all libraries, those that change weights, and what a network says.
_LIBRARIES: Final = ("accelerate", "numpy", "peft", "tokenizers", "torch", "transformers")


def describe_machine() -> dict[str, Any]:
    """Return what beside its settings a computation of a network depends on: `device` and `libraries`."""
    import torch

    return {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "libraries": library_versions(_LIBRARIES),
    }


@dataclass(frozen=True, kw_only=True)
class Making:
    """What every making of a model is given."""

    #: The model to begin with; an adapter is merged into its base.
    files: ModelFiles
    out: Path
    seed: int
    progress: Progress


@dataclass(frozen=True, kw_only=True)
class Job(Making):
    """What a training on a benchmark is given."""

    bench: Bench


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearningPlan:
    """How to unlearn, or without a method, how to learn."""

    method: UnlearningMethod | None = None
    objective: Objective
    training: TrainingPlan


def plan_unlearning(
    method: UnlearningMethod, *, seed: int, scope: Scope | None = None, training: TrainingPlan = DEFAULT_TRAINING
) -> UnlearningPlan:
    """Return the plan of a method with its default coefficients; `scope` None: the method's own. `seed` is RMU's."""
    own: Scope = "all" if method == "rmu" else "layer"
    return UnlearningPlan(
        method=method,
        objective=Rmu(seed=seed) if method == "rmu" else METHODS[method](),
        training=replace(training, scope=scope or own),
    )


#: Patient -> texts to train on.
_Texts = Mapping[str, Sequence[Example]]


def unlearn(job: Job, split: Split, plan: UnlearningPlan) -> None:
    """Make the model forget the split's patients; the new model's directory is `job.out`.

    Raises `UsageError` where that holds something else, and `BadInputError` where the training diverges or does not fit
    into memory: then nothing is left there.
    """
    own = read_texts(job.bench, [*split.forget, *split.retain], job.files, plan.training)
    roles = {"forget": split.forget, "retain": split.retain}
    texts = {role: {one: own[one] for one in patients} for role, patients in roles.items()}
    if not all(any(of_role.values()) for of_role in texts.values()):
        raise BadInputError("the split's forgotten or retained patients have no text; build the benchmark again")
    _make(job, {"task": "unlearn", "plan": {"split": split.public_name, **asdict(plan)}}, plan, texts)


def finetune(job: Job, plan: TrainingPlan, *, without: Split | None = None) -> Path:
    """Train on all patients trained on but those whom `without` forgets; return `job.out`. Raises as `unlearn` does."""
    left_out = set() if without is None else set(without.forget)
    learned = [one.patient_id for one in job.bench.patients if one.is_trained and one.patient_id not in left_out]
    shown = {"without": without.public_name if without else None, "training": asdict(plan)}
    return _learn(job, {"task": "finetune", "plan": shown}, plan, read_texts(job.bench, learned, job.files, plan))


def train_again(
    base: Path,
    notes: Mapping[str, Sequence[str]],
    out: Path,
    *,
    settings: TrainingPlan,
    seed: int = 0,
    progress: Progress,
) -> Path:
    """Fine-tune a model that never saw the patients on the notes of those who stay; return `out`.

    `notes` are the texts of each patient who is to be learned, by id: whoever is to be forgotten is not among them.
    `settings.scope` is `lora` or `all`. `out` gets a whole model with its training record. Example:
    `train_again(base, {one: texts[one] for one in texts if one not in named}, out, settings=plan, progress=progress)`.
    Raises as `unlearn` does.
    """
    job = Making(files=inspect_model(base), out=out, seed=seed, progress=progress)
    digest = hashlib.sha256(json.dumps([[one, *notes[one]] for one in sorted(notes)]).encode()).hexdigest()
    recorded = {"task": "retrain", "notes_digest": digest, "plan": {"training": asdict(settings)}}
    return _learn(job, recorded, settings, read_notes(notes, job.files, settings))


def _learn(job: Making, settings: Mapping[str, Any], plan: TrainingPlan, texts: _Texts) -> Path:
    learned = {patient: texts[patient] for patient in sorted(texts)}
    _make(job, settings, UnlearningPlan(objective=Likelihood(), training=plan), {"learned": learned})
    return job.out


def _make(job: Making, settings: Mapping[str, Any], plan: UnlearningPlan, texts: Mapping[str, _Texts]) -> None:
    """Make the model, unless it stands there already; `texts` are those to be forgotten or learned, then retained."""
    import torch

    from clinaudit.audit.unlearning.methods.training import last_checkpoint

    # What the weights depend on; the digest of the benchmark covers its splits and patients.
    digests = {"model_digest": job.files.digest, "base_model_digest": job.files.base_digest}
    if isinstance(job, Job):
        digests |= {"bench_digest": job.bench.digest, "corpus_digest": job.bench.corpus_digest}
    general = {"clinaudit_version": version("clinaudit"), "seed": job.seed, **describe_machine(), **digests}
    folder = ModelFolder(job.out, {**general, **settings})
    if folder.claim():
        job.progress.say(f"{job.out.name}: finished before")
        return
    threads = torch.get_num_threads()
    with folder.held(), deterministic(seed=job.seed):
        # All that the user gives: one model is trained, and nothing beside it.
        torch.set_num_threads(threads)
        try:
            _train_and_write(job, folder, plan, texts)
        except DivergedError as error:
            folder.abandon()
            raise BadInputError(
                f"the training diverged at step {error.step}: the loss is no finite number any more, and no model was "
                "written; give a lower --learning-rate"
            ) from None
        except BaseException as error:
            # Nothing to go on from: whoever tries smaller batches after it finds the place free.
            if isinstance(error, BadInputError) or not last_checkpoint(folder.work):
                folder.abandon()
            raise


def _train_and_write(job: Making, folder: ModelFolder, plan: UnlearningPlan, texts: Mapping[str, _Texts]) -> None:
    from clinaudit.audit.unlearning.methods.training import train

    settings, forgets = plan.training, "retain" in texts
    own = {role: [text for one in of_role.values() for text in one] for role, of_role in texts.items()}
    learned = own["forget" if forgets else "learned"]
    batches = order_batches(learned, own.get("retain", ()), settings, seed=job.seed)
    files, device = require_own_weights(job.files), Device.find()
    require_training_memory(files, settings, plan.objective, batches, job.progress)
    loaded = load_network(files, refusal="cannot be trained", as_stored=device.is_half)
    network = TrainedNetwork(loaded, settings, device=device, keeps_before=forgets)
    stage = job.progress, f"training, rate {settings.learning_rate:g}"
    curve = train(network, plan.objective, batches, settings, seed=job.seed, stage=stage, work=folder.work)
    numbers = sum(value.numel() for value in network.trained.values())
    folder.finish(
        partial(write_model, network, files),
        outcome={"trained": {"layer": network.layer, "scope": network.scope, "numbers": numbers}},
        exact={
            "steps": len(curve),
            "patients": {role: len(of_role) for role, of_role in texts.items()},
            "texts": {role: len(of_role) for role, of_role in own.items()},
        },
        curve=curve,
        # Whom a model that was made here before learned, no record could say.
        trained_on=None if forgets or (files.directory / RECORD_FILE).is_file() else list(texts["learned"]),
    )
