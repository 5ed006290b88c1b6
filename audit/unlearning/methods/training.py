"""The training loop: AdamW under a cosine, reproducible bit for bit, and resumable with equal bytes.

Owns steps, gradients, the learning rate, and the checkpoint: one safetensors file that is whole or not there. Equal
bits do not depend on the number of workers: the gradients of a step are summed in the order of its micro-batches.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.durable_files import replacing_by_library
from clinaudit.audit.unlearning.methods.batches import Example, MicroBatch, Step, TrainingPlan, pad_rows
from clinaudit.audit.unlearning.methods.objectives import Objective, mean_token_loss
from clinaudit.audit.unlearning.methods.trained_network import TrainedNetwork
from clinaudit.errors import IntegrityError, StorageError

if TYPE_CHECKING:
    from torch import Tensor

_STATE: Final = "clinaudit"
_WEIGHT: Final = "weight"
#: One row a step: `step`, `epoch`, `learning_rate`, `loss`, and its parts `anchor` and `retain`.
CurveRow = dict[str, float | int | None]


@dataclass(frozen=True, slots=True)
class TrainingState:
    """How far a training has come."""

    #: Steps that are done.
    step: int
    #: By the parameter's name.
    weights: Mapping[str, "Tensor"]
    #: Parameter -> name -> value of AdamW's state; a parameter that no gradient reached has none.
    optimizer: Mapping[str, Mapping[str, "Tensor"]]
    curve: list[CurveRow]


def write_checkpoint(path: Path, state: TrainingState) -> None:
    """Replace a checkpoint, mode 0600, durably; raises `StorageError` on a full disk."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    tensors = {f"{_WEIGHT}/{name}": value.detach().contiguous() for name, value in state.weights.items()}
    for parameter, values in state.optimizer.items():
        tensors.update({f"{name}/{parameter}": value.contiguous() for name, value in values.items()})
    said = json.dumps({"step": state.step, "curve": state.curve})
    try:
        with replacing_by_library(path) as temporary:
            save_file(tensors, temporary, metadata={_STATE: said})
    except SafetensorError as error:
        raise StorageError(
            "a checkpoint cannot be written; make room on the disk and run the same command again"
        ) from error


def read_checkpoint(path: Path) -> TrainingState | None:
    """Return the state of a training; None where there is none yet. Raises `IntegrityError` for a damaged file."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        return None
    weights: dict[str, Any] = {}
    optimizer: dict[str, dict[str, Any]] = {}
    try:
        with safe_open(path, framework="pt") as file:
            said = json.loads(file.metadata()[_STATE])
            for key in file.keys():  # noqa: SIM118 (no mapping)
                name, _, parameter = key.partition("/")
                own = weights if name == _WEIGHT else optimizer.setdefault(parameter, {})
                own[parameter if name == _WEIGHT else name] = file.get_tensor(key)
        return TrainingState(said["step"], weights, optimizer, said["curve"])
    except (SafetensorError, OSError, ValueError, KeyError, TypeError):
        raise IntegrityError(
            f"the checkpoint {path.name} is damaged; remove the directory {path.parent.name} with it, and run the same "
            "command again"
        ) from None


#: Copies of the network on the CPU, a thread each.
WORKERS: Final = 2
#: Decimals of a loss in the curve.
_DECIMALS: Final = 6


class DivergedError(Exception):
    """A loss, a gradient or a weight is no finite number any more."""

    def __init__(self, step: int) -> None:
        super().__init__(f"step {step}")
        #: The step at which it was seen, from 1.
        self.step = step


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What is trained on, in order, and how often its state is kept."""

    #: The steps of each epoch.
    epochs: Sequence[Sequence[Step]]
    #: Steps between two checkpoints; None: at the end of each epoch alone.
    checkpoint_steps: int | None = None

    def steps(self) -> Iterator[tuple[int, Step, bool]]:
        """Yield each step with its epoch, from 1, and whether it is the epoch's last."""
        for epoch, steps in enumerate(self.epochs, start=1):
            for place, step in enumerate(steps, start=1):
                yield epoch, step, place == len(steps)

    def __len__(self) -> int:
        return sum(map(len, self.epochs))


class _Gradients(NamedTuple):
    """Of one micro-batch: its loss and the parts, and a gradient a parameter, None where none reached it."""

    losses: tuple[float, float, float | None]
    values: tuple["Tensor | None", ...]


def train(
    replicas: Sequence[TrainedNetwork],
    objective: Objective,
    schedule: Schedule,
    plan: TrainingPlan,
    *,
    checkpoint: Path,
    progress: Progress,
    title: str,
) -> list[CurveRow]:
    """Train the first network in place, from the checkpoint where there is one; return the loss curve.

    The others share the work. At the end the checkpoint holds the result. Raises `DivergedError`.
    """
    import torch

    first = replicas[0]
    parameters = list(first.trained.values())
    optimizer = torch.optim.AdamW(parameters, lr=plan.learning_rate, weight_decay=plan.weight_decay, fused=True)
    kept = read_checkpoint(checkpoint)
    done, curve = 0, []
    if kept is not None:
        done, curve = kept.step, list(kept.curve)
        _restore(first, optimizer, kept)
    total = len(schedule)
    with (
        progress.stage(title, total=total, unit="steps", done=done) as advance,
        ThreadPoolExecutor(len(replicas)) as pool,
    ):
        for number, (epoch, step, ends_epoch) in enumerate(schedule.steps(), start=1):
            if number <= done:
                continue
            rate = plan.learning_rate * rate_share(number - 1, total, plan.warmup)
            losses, gradients = _differentiate(replicas, objective, step, pool)
            if not all(math.isfinite(part) for part in losses if part is not None):
                raise DivergedError(number)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            norm = torch.nn.utils.clip_grad_norm_(parameters, plan.gradient_norm)
            if not math.isfinite(norm.item()):
                raise DivergedError(number)
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            curve.append(_curve_row(number, epoch, rate, losses))
            if number == total and not all(parameter.isfinite().all() for parameter in parameters):
                raise DivergedError(number)
            is_due = schedule.checkpoint_steps is not None and number % schedule.checkpoint_steps == 0
            if ends_epoch or is_due:
                write_checkpoint(checkpoint, _state(first, optimizer, number, curve))
            advance(1)
    return curve


def rate_share(step: int, steps: int, warmup: float) -> float:
    """Return a step's share of the learning rate: a linear rise, then half a cosine down to 0; steps count from 0."""
    rising = math.ceil(warmup * steps)
    if step < rising:
        return (step + 1) / rising
    return (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising))) / 2


def measure_loss(network: TrainedNetwork, examples: Sequence[Example], *, size: int) -> float:
    """Return the mean loss a token over some texts, in nats; `size` texts are read at once."""
    import torch

    total, tokens = 0.0, 0
    with torch.no_grad():
        ordered = sorted(examples, key=lambda one: len(one.token_ids))
        for start in range(0, len(ordered), size):
            some = ordered[start : start + size]
            rows = pad_rows(some, device=network.device)
            counted = sum(len(one.token_ids) - one.given for one in some)
            total += mean_token_loss(network.logits(rows), rows.labels).item() * counted
            tokens += counted
    return total / tokens


def _differentiate(
    replicas: Sequence[TrainedNetwork], objective: Objective, step: Step, pool: ThreadPoolExecutor
) -> tuple[tuple[float, float, float | None], list["Tensor | None"]]:
    """Return the mean losses of a step, and their gradients."""
    current = {name: value.detach() for name, value in replicas[0].trained.items()}
    for replica in replicas[1:]:
        replica.load(current)
    losses: list[tuple[float, float, float | None]] = []
    sums: list[Tensor | None] = [None] * len(current)

    def work(network: TrainedNetwork, micro_batch: MicroBatch) -> _Gradients:
        return _gradients(network, objective, micro_batch)

    # As many at once as there are replicas, so that no more gradients than that are held.
    for start in range(0, len(step), len(replicas)):
        some = step[start : start + len(replicas)]
        for found in pool.map(work, replicas[: len(some)], some):
            losses.append(found.losses)
            sums = [_plus(held, value) for held, value in zip(sums, found.values, strict=True)]
    means = [None if held is None else held / len(step) for held in sums]
    total, anchor, retain = zip(*losses, strict=True)
    kept = [value for value in retain if value is not None]
    mean_retain = sum(kept) / len(kept) if kept else None
    return (sum(total) / len(step), sum(anchor) / len(step), mean_retain), means


def _gradients(network: TrainedNetwork, objective: Objective, micro_batch: MicroBatch) -> _Gradients:
    import torch

    anchor = pad_rows(micro_batch.anchor, device=network.device)
    retain = pad_rows(micro_batch.retain, device=network.device) if micro_batch.retain else None
    loss = objective.loss(network, anchor, retain)
    values = torch.autograd.grad(loss.total, list(network.trained.values()), allow_unused=True)
    kept = None if loss.retain is None else loss.retain.item()
    return _Gradients((loss.total.item(), loss.anchor.item(), kept), values)


def _plus(held: "Tensor | None", value: "Tensor | None") -> "Tensor | None":
    if held is None or value is None:
        return value if held is None else held
    return held + value


def _curve_row(step: int, epoch: int, rate: float, losses: tuple[float, float, float | None]) -> CurveRow:
    total, anchor, retain = losses
    return {
        "step": step,
        "epoch": epoch,
        "learning_rate": rate,
        "loss": round(total, _DECIMALS),
        "anchor": round(anchor, _DECIMALS),
        "retain": None if retain is None else round(retain, _DECIMALS),
    }


def _state(network: TrainedNetwork, optimizer: Any, step: int, curve: list[CurveRow]) -> TrainingState:
    held: dict[str, Mapping[str, Tensor]] = {
        name: optimizer.state[parameter] for name, parameter in network.trained.items() if optimizer.state[parameter]
    }
    return TrainingState(step, network.trained, held, curve)


def _restore(network: TrainedNetwork, optimizer: Any, state: TrainingState) -> None:
    network.load(state.weights)
    for name, values in state.optimizer.items():
        optimizer.state[network.trained[name]] = {key: value.to(network.device) for key, value in values.items()}
