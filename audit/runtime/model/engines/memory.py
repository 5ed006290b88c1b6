"""The options of loading a model, and whether it can run on this machine: memory, quantized weights. Loads no weights.

The estimate is of weights at the type in which they are loaded, by their files' headers, and the key-value cache; with
a margin, since activations and the libraries take memory too.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from clinaudit.audit.runtime.choices import EngineName
from clinaudit.audit.runtime.model.files import NOT_BY_TRANSFORMERS, ModelFiles
from clinaudit.audit.runtime.model.model_directory import FLOAT_BYTES
from clinaudit.errors import BadInputError, UsageError


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
        return self.max_batch or 64

    @property
    def by_name(self) -> dict[str, float | None]:
        """The options as the command line names them."""
        return {f"--{field.name.replace('_', '-')}": getattr(self, field.name) for field in fields(self)}


DEFAULT_OPTIONS: Final = EngineOptions()


def require_usable_options(options: EngineOptions, engine: EngineName, *, is_cluster: bool) -> None:
    """Raise `UsageError` where options do not go with the engine, with this machine, or with a cluster."""
    of_gpus = ("--tensor-parallel", "--gpu-memory")
    for name in (name for name, value in options.by_name.items() if value is not None):
        if engine == "openai":
            raise UsageError(f"{name} does not go with a served MODEL: its server decides that; leave it out")
        if name in of_gpus and engine != "vllm":
            raise UsageError(f"{name} goes with --engine vllm only; leave it out, or use that engine")
        if name in of_gpus and is_cluster:
            # Its workers have one GPU each, and may have other memory than this machine.
            raise UsageError(f"{name} does not go with --ray-address, whose workers have one GPU each; leave it out")
        wanted = options.tensor_parallel or 1
        if name in of_gpus and (there := count_gpus()) < wanted:
            raise UsageError(
                f"{name} needs {wanted} GPUs, and torch can use {there} here; leave it out, or ask for fewer"
            )


def count_gpus() -> int:
    """Return how many GPUs torch can use here."""
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


#: vLLM's default on a CPU is a share of all memory, which fails where memory is in use.
_MIN_KV_CACHE_BYTES: Final = 256 << 20
#: Requests of the full length for which vLLM's cache has room at least, so that any request fits in blocks.
_VLLM_CONTEXTS: Final = 2
#: For activations, and what the libraries take.
_MARGIN: Final = 1.1
GIB: Final = 1 << 30
_CGROUP: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class FreeMemory:
    """The memory in which a model may be loaded now: its bytes, and `memory`, or `memory on 2 GPUs`."""

    size: int
    what: str


@dataclass(frozen=True, slots=True)
class Shortage:
    """What a model would need, in bytes, and what is free: less."""

    needed: int
    free: FreeMemory


def require_loadable(model: ModelFiles, engine: EngineName, *, context_length: int, options: EngineOptions) -> None:
    """Raise `BadInputError` where this machine cannot run the model with requests of so many tokens; loads nothing."""
    on_gpu = count_gpus() > 0
    if model.quantization is not None and not (on_gpu and engine == "vllm"):
        lacks = "vLLM (--engine vllm)" if on_gpu else "a GPU, and this machine has none that torch can use"
        raise BadInputError(
            f"the weights in {model.directory} are quantized ({model.quantization}), which needs {lacks}; "
            "give the same model before it was quantized, or audit it where it can run"
        )
    if engine == "transformers" and model.kind in NOT_BY_TRANSFORMERS:
        raise BadInputError(
            f"the architecture of the model in {model.directory} ({model.kind}) is not supported by transformers, "
            "token by token; serve it elsewhere (openai:BASE_URL#MODEL_NAME), or try --engine vllm"
        )
    if engine == "vllm" and model.long_rope_above is not None and context_length > model.long_rope_above:
        raise BadInputError(
            f"the model in {model.directory} reads texts of more than {model.long_rope_above} tokens with other "
            f"positions (longrope), and vLLM, asked for {context_length}, all texts; use --engine transformers"
        )
    free = free_memory(options) if on_gpu else free_main_memory()
    weights = weight_bytes(model, as_float32=not on_gpu)
    row = _kv_cache_row_bytes(model, context_length, as_float32=not on_gpu)
    rows = options.batch_size if engine == "transformers" else _VLLM_CONTEXTS
    cache = rows * row if on_gpu or engine == "transformers" else vllm_cache_bytes(model, context_length)
    if (weights + cache) * _MARGIN <= free.size:
        return
    fitting = int((free.size / _MARGIN - weights) // row) if row else 0
    if engine == "transformers" and 1 <= fitting < rows:
        advice = f"--max-batch {fitting} would fit"
    elif on_gpu and engine == "vllm":
        advice = "spread it with --tensor-parallel, or use a larger GPU"
    else:
        advice = "use a machine with more memory, or serve the model elsewhere (openai:BASE_URL#MODEL_NAME)"
    kind = "in their own type" if on_gpu else "as float32"
    raise BadInputError(
        f"the model in {model.directory} does not fit into {free.what}: it needs about "
        f"{(weights + cache) * _MARGIN / GIB:.1f} GiB ({weights / GIB:.1f} of weights {kind}, {cache / GIB:.1f} of "
        f"cache for {rows} prompts of up to {context_length} tokens, and a margin), and {free.size / GIB:.1f} GiB are "
        f"free; {advice}"
    )


def float32_shortage(model: ModelFiles, *, copies: int, rows: int, context_length: int) -> Shortage | None:
    """Return what a model lacks in float32 with `copies` of its weights, and a cache of `rows`; None where it fits."""
    weights = weight_bytes(model, as_float32=True)
    whole = copies * weights + rows * _kv_cache_row_bytes(model, context_length, as_float32=True)
    places = [(free_main_memory(), weights if count_gpus() else whole)]
    if count_gpus():
        places.append((free_memory(DEFAULT_OPTIONS), whole))
    shortages = (Shortage(int(size * _MARGIN), free) for free, size in places)
    return next((short for short in shortages if short.needed > short.free.size), None)


def weight_bytes(model: ModelFiles, *, as_float32: bool) -> int:
    """Return the bytes of the weights in memory, floats as float32 or in the checkpoint's own type."""
    if not as_float32:
        return sum(tensor.size for tensor in model.tensors)
    return sum(
        tensor.size // stored * 4 if (stored := FLOAT_BYTES.get(tensor.dtype)) else tensor.size
        for tensor in model.tensors
    )


def _kv_cache_row_bytes(model: ModelFiles, context_length: int, *, as_float32: bool) -> int:
    """Return the bytes of one request's key-value cache; 0 where the configuration does not tell."""
    kept = context_length * (model.kv_bytes_per_token or 0)
    # The cache is of the type of the model: the widest of its weights is an upper bound.
    widest = 4 if as_float32 else min(4, max(FLOAT_BYTES.get(tensor.dtype, 2) for tensor in model.tensors))
    return kept * widest // 4


def vllm_cache_bytes(model: ModelFiles, context_length: int) -> int:
    """Return the bytes of vLLM's key-value cache on a CPU."""
    return max(_MIN_KV_CACHE_BYTES, _VLLM_CONTEXTS * _kv_cache_row_bytes(model, context_length, as_float32=True))


def free_memory(options: EngineOptions) -> FreeMemory:
    """Return what is free on the GPUs that are used, at most the share that may be taken."""
    import torch

    # What an earlier model of this process left behind is free.
    torch.cuda.empty_cache()
    devices = options.tensor_parallel or 1
    sizes = (torch.cuda.mem_get_info(device) for device in range(devices))
    # Weights are spread evenly: the smallest decides.
    least = min(min(free, int(total * (options.gpu_memory or 1.0))) for free, total in sizes)
    return FreeMemory(least * devices, f"memory on {devices} GPU{'s' if devices > 1 else ''}")


def free_main_memory() -> FreeMemory:
    """Return what is free in this machine's memory, or in what a container allows."""
    import psutil

    free: int = psutil.virtual_memory().available
    try:
        # What a container's limit leaves (control groups, version 2).
        limit, used = (int((_CGROUP / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current"))
        stats = dict(line.split() for line in (_CGROUP / "memory.stat").read_text(encoding="ascii").splitlines())
        # Files that were read and can be dropped count as used.
        free = min(free, max(0, limit - used + int(stats.get("inactive_file", 0))))
    except (OSError, ValueError):
        pass
    return FreeMemory(free, "memory")
