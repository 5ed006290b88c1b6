"""One model that is made from another and a benchmark: what its weights depend on, loaded, trained, written.

Owns what the record says of where the weights come from (of whom, nothing but a keyed digest), the type of the numbers
(training is in float32, what is written has the checkpoint's own type), the copies that share the work, and that a
training that diverged leaves nothing behind.
"""

import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engines.memory import GIB, count_gpus, float32_shortage
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.runtime.model.model_directory import FLOAT_BYTES
from clinaudit.audit.runtime.model.pretrained import LOAD_ERRORS, deterministic, load_pretrained
from clinaudit.audit.runtime.run.directory import library_versions
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.methods.batches import Example, TrainingPlan
from clinaudit.audit.unlearning.methods.model_folder import ModelFolder
from clinaudit.audit.unlearning.methods.objectives import Objective
from clinaudit.audit.unlearning.methods.trained_network import Scope, TrainedNetwork
from clinaudit.audit.unlearning.methods.training import WORKERS, CurveRow, DivergedError, Schedule, measure_loss, train
from clinaudit.errors import BadInputError, StorageError
from clinaudit.priors.corpus.corpus import draw_secret, keyed_digest

_PURPOSE: Final = b"clinaudit: digests of who is forgotten and retained"
#: Of all libraries, those that change weights, and what a network says.
_LIBRARIES: Final = ("numpy", "tokenizers", "torch", "transformers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What every training of this room is given."""

    #: The model to begin with; an adapter is merged into its base.
    files: ModelFiles
    bench: Bench
    out: Path
    seed: int
    progress: Progress
    #: Steps between two checkpoints; None: at the end of each epoch alone. It changes no result.
    checkpoint_steps: int | None = None

    def settings(self, task: str, plan: Mapping[str, Any], patients: Mapping[str, Collection[str]]) -> dict[str, Any]:
        """Return everything that the weights depend on; `patients` says by role who is trained on.

        Without how many: with the percentage of a split, a class of the retained would give few forgotten exactly.
        """
        # Who knows the ids of a hospital must not find out whom a request named: only who has the notes has this key.
        notes = (text for own in sorted(self.bench.notes) for text in self.bench.notes[own])
        key = draw_secret(notes, purpose=_PURPOSE)
        return {
            "clinaudit_version": version("clinaudit"),
            "task": task,
            "model_digest": self.files.digest,
            "base_model_digest": self.files.base_digest,
            "bench_digest": self.bench.digest,
            "corpus_digest": self.bench.corpus_digest,
            "patients": {role: keyed_digest(key, "\n".join(sorted(ids)).encode()) for role, ids in patients.items()},
            "plan": dict(plan),
            "seed": self.seed,
            **describe_machine(),
        }


def describe_machine() -> dict[str, Any]:
    """Return what beside its settings a computation of a network depends on: `device` and `libraries`."""
    import torch

    libraries = library_versions()
    return {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "libraries": {name: libraries[name] for name in _LIBRARIES if name in libraries},
    }


#: As safetensors spells them, the types that weights are written in; others become float32.
_STORED: Final = {"BF16": "bfloat16", "F16": "float16"}


def load_in_float32(files: ModelFiles, *, refusal: str) -> Any:
    """Load the model in float32, an adapter merged into it, on the GPU where there is one.

    Raises `BadInputError` where it cannot be loaded, or is quantized, which says `refusal`: whole numbers have no
    gradient.
    """
    if files.quantization is not None:
        raise BadInputError(
            f"the model in {files.directory} is quantized ({files.quantization}), and {refusal}; give the same model "
            "before it was quantized"
        )
    import torch

    try:
        network = load_pretrained(files, dtype=torch.float32)
    except BadInputError:
        raise
    except LOAD_ERRORS as error:
        raise BadInputError(
            f"the model in {files.directory} cannot be loaded ({type(error).__name__}); look at its files"
        ) from None
    return network.to("cuda" if torch.cuda.is_available() else "cpu")


def write_model(network: Any, files: ModelFiles, directory: Path) -> None:
    """Write a network as the model whose files these are, in the type of number that it was stored in.

    Raises `StorageError` on a full disk.
    """
    import torch
    from safetensors import SafetensorError

    types = {tensor.dtype for tensor in files.tensors if tensor.dtype in FLOAT_BYTES}
    stored = getattr(torch, _STORED.get(types.pop(), "float32")) if len(types) == 1 else torch.float32
    try:
        network.to("cpu", stored).save_pretrained(directory)
        for path in files.tokenizer:
            shutil.copyfile(path, directory / path.name)
    except (OSError, SafetensorError) as error:
        raise StorageError(
            "the model cannot be written; make room on the disk and run the same command again"
        ) from error


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
        self._network = TrainedNetwork(
            load_in_float32(job.files, refusal="cannot be trained"), layer=layer, scope=scope
        )
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

    def finish(self, learning_rate: float, exact: Mapping[str, Any], trained_on: Sequence[str] | None = None) -> None:
        """Write the model and its records: what was trained at which rate, what counts patients (`exact`), and on whom.

        `trained_on` is None where the model was made to forget.
        """
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
        self._folder.finish(draft, self._curve, outcome, {"steps": len(self._curve), **exact}, trained_on)


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
            if not any(folder.work.glob("*.safetensors")):
                folder.abandon()
            raise
    shutil.rmtree(folder.work, ignore_errors=True)
    return job.out
