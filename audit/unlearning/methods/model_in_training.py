"""One model in its directory, from its first step to its files: begun once, resumed, trained, written.

Owns what is common to unlearning and fine-tuning: the lock, the copies that share the work, where checkpoints lie, and
that a training that diverged leaves nothing behind. Knows no method.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clinaudit.audit.model.engines.memory import GIB, count_gpus, float32_shortage
from clinaudit.audit.model.files import ModelFiles
from clinaudit.audit.model.pretrained import deterministic
from clinaudit.audit.unlearning.methods.batches import Example
from clinaudit.audit.unlearning.methods.checkpoint import CurveRow
from clinaudit.audit.unlearning.methods.job import Job
from clinaudit.audit.unlearning.methods.loaded_model import load_for_training, write_model
from clinaudit.audit.unlearning.methods.model_folder import ModelFolder
from clinaudit.audit.unlearning.methods.objective import Objective
from clinaudit.audit.unlearning.methods.trained_network import Scope, TrainedNetwork
from clinaudit.audit.unlearning.methods.training import WORKERS, DivergedError, Schedule, measure_loss, train
from clinaudit.audit.unlearning.methods.training_plan import TrainingPlan
from clinaudit.errors import BadInputError


def require_training_memory(files: ModelFiles, scope: Scope) -> None:
    """Raise `BadInputError`, with numbers, where the model is certain not to fit.

    Of a single layer only what is common to all layers is counted, and no activations: more than that may be needed.
    """
    copies = _copies_held(scope)
    short = float32_shortage(files, copies=copies, rows=0, context_length=0)
    if short is None:
        return
    advice = "use a machine with more memory"
    if scope == "all" and float32_shortage(files, copies=_copies_held("layer"), rows=0, context_length=0) is None:
        advice = "train one layer alone, where the method can (--train layer), or use a machine with more memory"
    raise BadInputError(
        f"the model in {files.directory} does not fit into {short.free.what}: trained as float32 it needs "
        f"{short.needed / GIB:.1f} GiB at least ({copies} times its weights), and {short.free.size / GIB:.1f} GiB are "
        f"free; {advice}"
    )


def _copies_held(scope: Scope) -> int:
    """Of the weights: a copy a worker; of what is trained a gradient a worker, AdamW's two means, the values before."""
    workers = 1 if count_gpus() else WORKERS
    return workers if scope == "layer" else 2 * workers + 3


class ModelInTraining:
    """The model that is trained."""

    def __init__(self, job: Job, folder: ModelFolder, *, layer: int | None, scope: Scope) -> None:
        """Load it; call it within `deterministic`. Raises `BadInputError` where it does not fit into memory."""
        require_training_memory(job.files, scope)
        self._job = job
        self._folder = folder
        self._network = TrainedNetwork(load_for_training(job.files), layer=layer, scope=scope)
        # A GPU is shared by nobody.
        copies = WORKERS - 1 if self._network.device.type == "cpu" else 0
        self._replicas = [self._network, *(self._network.replica() for _ in range(copies))]
        self._curve: list[CurveRow] = []

    def train(self, objective: Objective, schedule: Schedule, plan: TrainingPlan, *, name: str = "training") -> None:
        """Train it from what it was at first, or from the checkpoint of that name. Raises `DivergedError`."""
        self._network.reset()
        self._curve = train(
            self._replicas,
            objective,
            schedule,
            plan,
            checkpoint=self._folder.work / f"{name}.safetensors",
            progress=self._job.progress,
            title=f"{name}, rate {plan.learning_rate:g}",
        )

    def measure(self, texts: Sequence[Example], plan: TrainingPlan) -> float:
        """Return the mean loss a token of the texts, in nats, to six decimals."""
        return round(measure_loss(self._network, texts, size=plan.micro_batch), 6)

    def finish(self, learning_rate: float, exact: Mapping[str, Any]) -> None:
        """Write the model and its records: what was trained at which rate, and what tells of patients (`exact`)."""
        draft = self._folder.work / "model"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        trained = {
            "layer": self._network.layer,
            "scope": self._network.scope,
            "numbers": sum(value.numel() for value in self._network.trained.values()),
        }
        write_model(self._network.network, self._job.files, draft)
        outcome = {"trained": trained, "learning_rate": learning_rate}
        self._folder.finish(draft, self._curve, outcome, {"steps": len(self._curve), **exact})


def make_model(job: Job, settings: Mapping[str, Any], make: Callable[[ModelFolder], None]) -> Path:
    """Let `make` write the model into its directory, unless it stands there already; return the directory.

    Raises `UsageError` where the directory is another's, and `BadInputError` where the training diverged: then nothing
    is left there.
    """
    folder = ModelFolder(job.out, settings)
    if folder.claim():
        job.progress.say(f"{job.out.name}: finished before")
        return job.out
    with folder.held(), deterministic(seed=job.seed):
        try:
            make(folder)
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
            if not folder.has_checkpoint:
                folder.abandon()
            raise
    shutil.rmtree(folder.work, ignore_errors=True)
    return job.out
