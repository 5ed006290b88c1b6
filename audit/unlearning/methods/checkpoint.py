"""The state of a training that is under way, in one safetensors file: it is whole or not there.

Owns the file's shape: weights, the optimizer's state, the step, and the loss curve. Knows nothing of losses.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clinaudit.audit.run.durable_files import replacing_by_library
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
