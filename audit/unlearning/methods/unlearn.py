"""Unlearning and fine-tuning, from a model and texts to a model: the door of this room. Read this first.

Owns the order of the steps. A stopped run goes on from its last checkpoint (docs/unlearning.md).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

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

    def digests(self) -> dict[str, str | None]:
        """Return what the weights depend on, of its record."""
        return {"model_digest": self.files.digest, "base_model_digest": self.files.base_digest}


@dataclass(frozen=True, kw_only=True)
class Job(Making):
    """What a training on a benchmark is given."""

    bench: Bench

    def digests(self) -> dict[str, str | None]:
        """Return what the weights depend on; the digest of the benchmark covers its splits and patients."""
        of_bench = {"bench_digest": self.bench.digest, "corpus_digest": self.bench.corpus_digest}
        return {**super().digests(), **of_bench}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearningPlan:
    """How to unlearn, or without a method, how to learn."""

    method: UnlearningMethod | None = None
    objective: Objective
    training: TrainingPlan


def plan_unlearning(
    method: UnlearningMethod,
    *,
    seed: int,
    scope: Scope | None = None,
    training: TrainingPlan = DEFAULT_TRAINING,
) -> UnlearningPlan:
    """Return the plan of a method with its default coefficients; `scope` None: the method's own.

    `seed` is that of RMU's direction.
    """
    own: Scope = "all" if method == "rmu" else "layer"
    return UnlearningPlan(
        method=method,
        objective=Rmu(seed=seed) if method == "rmu" else METHODS[method](),
        training=replace(training, scope=own if scope is None else scope),
    )


def unlearn(job: Job, split: Split, plan: UnlearningPlan) -> None:
    """Make the model forget the split's patients; the new model's directory is `job.out`.

    Raises `UsageError` where the directory holds something else or was begun with other settings, and `BadInputError`
    where the training diverges or does not fit into memory: then nothing is left there.
    """
    own = read_texts(job.bench, [*split.forget, *split.retain], job.files, plan.training)
    roles = {"forget": split.forget, "retain": split.retain}
    texts = _Texts(roles, *([text for one in patients for text in own[one]] for patients in roles.values()))
    if not texts.learned or not texts.retained:
        raise BadInputError("the split's forgotten or retained patients have no text; build the benchmark again")
    settings = {"task": "unlearn", **job.digests(), "plan": {"split": split.public_name, **asdict(plan)}}
    _make(job, settings, plan, texts)


def finetune(job: Job, plan: TrainingPlan, *, without: Split | None = None) -> Path:
    """Train on the texts of all patients trained on but those whom `without` forgets; return `job.out`.

    Raises as `unlearn` does.
    """
    left_out = set() if without is None else set(without.forget)
    learned = [one.patient_id for one in job.bench.patients if one.is_trained and one.patient_id not in left_out]
    shown = {"without": without.public_name if without else None, "training": asdict(plan)}
    texts = read_texts(job.bench, learned, job.files, plan)
    return _learn(job, {"task": "finetune", **job.digests(), "plan": shown}, plan, texts)


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
    recorded = {"task": "retrain", **job.digests(), "notes_digest": digest, "plan": {"training": asdict(settings)}}
    return _learn(job, recorded, settings, read_notes(notes, job.files, settings))


class _Texts(NamedTuple):
    """What a training reads, and of whom, by role (PHI)."""

    roles: Mapping[str, Sequence[str]]
    #: Or to be forgotten.
    learned: Sequence[Example]
    retained: Sequence[Example] = ()


def _learn(
    job: Making, settings: Mapping[str, Any], plan: TrainingPlan, texts: Mapping[str, Sequence[Example]]
) -> Path:
    learned = [text for patient in sorted(texts) for text in texts[patient]]
    _make(
        job, settings, UnlearningPlan(objective=Likelihood(), training=plan), _Texts({"learned": list(texts)}, learned)
    )
    return job.out


def _make(job: Making, settings: Mapping[str, Any], plan: UnlearningPlan, texts: _Texts) -> None:
    """Make the model, unless it stands there already."""
    import torch

    from clinaudit.audit.unlearning.methods.training import has_checkpoint

    general = {"clinaudit_version": version("clinaudit"), "seed": job.seed, **describe_machine()}
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
        except BadInputError:
            folder.abandon()
            raise
        except BaseException:
            # Nothing to go on from: whoever tries smaller batches after it finds the place free.
            if not has_checkpoint(folder.work):
                folder.abandon()
            raise


def _train_and_write(job: Making, folder: ModelFolder, plan: UnlearningPlan, texts: _Texts) -> None:
    from clinaudit.audit.unlearning.methods.training import Training

    settings, forgets = plan.training, bool(texts.retained)
    batches = order_batches(texts.learned, texts.retained, settings, seed=job.seed)
    files, device = require_own_weights(job.files), Device.find()
    require_training_memory(files, settings, plan.objective, batches, job.progress)
    loaded = load_network(files, refusal="cannot be trained", as_stored=device.is_half)
    network = TrainedNetwork(loaded, settings, device=device, keeps_before=forgets)
    training = Training(
        network=network,
        objective=plan.objective,
        batches=batches,
        plan=settings,
        seed=job.seed,
        progress=job.progress,
    )
    curve = training.run(title=f"training, rate {settings.learning_rate:g}", work=folder.work)
    draft = folder.begin_draft()
    write_model(network, files, draft)
    numbers = sum(value.numel() for value in network.trained.values())
    folder.finish(
        draft,
        outcome={"trained": {"layer": network.layer, "scope": network.scope, "numbers": numbers}},
        exact={
            "steps": len(curve),
            "patients": {role: len(ids) for role, ids in texts.roles.items()},
            "texts": {"forget": len(texts.learned), "retain": len(texts.retained)}
            if forgets
            else {"learned": len(texts.learned)},
        },
        curve=curve,
        # Whom a model that was made here before learned, no record could say.
        trained_on=None if forgets or (files.directory / RECORD_FILE).is_file() else texts.roles["learned"],
    )
