"""The options of loading a model: how many prompts at once, on how many GPUs, with how much of their memory.

Owns which of them go together with an engine and a machine. Results depend on none of them in float32 on a CPU, as far
as the drift check can tell; on a GPU they may, as sums are taken in another order.
"""

from dataclasses import dataclass
from typing import Final

from clinaudit.audit.choices import EngineName
from clinaudit.errors import UsageError

#: Prompts decoded at once, where nothing else is asked for.
DEFAULT_BATCH: Final = 64


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How a model is loaded and asked; None: not given."""

    #: Most prompts decoded at once.
    max_batch: int | None = None
    #: GPUs over which vLLM spreads the weights.
    tensor_parallel: int | None = None
    #: Share of a GPU's memory that vLLM takes for weights and cache, above 0 and at most 1.
    gpu_memory: float | None = None
    #: Threads of the processor that decode.
    threads: int | None = None

    @property
    def batch_size(self) -> int:
        """Prompts decoded at once."""
        return self.max_batch or DEFAULT_BATCH

    @property
    def by_name(self) -> dict[str, float | None]:
        """The options as the command line names them."""
        return {
            "--max-batch": self.max_batch,
            "--tensor-parallel": self.tensor_parallel,
            "--gpu-memory": self.gpu_memory,
            "--threads": self.threads,
        }


DEFAULT_OPTIONS: Final = EngineOptions()


def require_usable_options(options: EngineOptions, engine: EngineName, *, is_cluster: bool) -> None:
    """Raise `UsageError` where options do not go with the engine, with this machine, or with a cluster."""
    for name, value in options.by_name.items():
        if value is None:
            continue
        if engine == "openai":
            raise UsageError(f"{name} does not go with a served MODEL: its server decides that; leave it out")
        if name in ("--max-batch", "--threads"):
            continue
        if engine != "vllm":
            raise UsageError(f"{name} goes with --engine vllm only; leave it out, or use that engine")
        if is_cluster:
            # Its workers have one GPU each, and may have other memory than this machine.
            raise UsageError(f"{name} does not go with --ray-address, whose workers have one GPU each; leave it out")
        if count_gpus() == 0:
            raise UsageError(f"{name} is for GPUs, and this machine has none that torch can use; leave it out")
    wanted = options.tensor_parallel
    if wanted is not None and wanted > count_gpus():
        raise UsageError(f"--tensor-parallel {wanted}: this machine has {count_gpus()} GPUs; ask for no more")


def count_gpus() -> int:
    """Return how many GPUs torch can use here."""
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0
