"""A causal language model loaded with transformers, an adapter merged into it; or written out again, merged.

The one module that imports transformers' causal models: safetensors alone, no remote code, no network.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from clinaudit.audit.runtime.model.adapter import is_finite, merge_adapter
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.errors import BadInputError

#: What transformers or vLLM raises for a model it cannot load (safetensors', pydantic's and json's errors included).
LOAD_ERRORS = (ValueError, RuntimeError, OSError, AssertionError, KeyError, TypeError, AttributeError, ImportError)


def load_pretrained(files: ModelFiles, *, dtype: Any) -> Any:
    """Load the model, on the CPU, and merge its adapter where it has one.

    `dtype` is torch's type of the weights, or `auto` for the checkpoint's own. Raises `BadInputError` where the files
    lack some of its weights or hold some that are no finite numbers, or the adapter does not fit; `LOAD_ERRORS` are
    transformers' own.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    quieten: Any = logging
    quieten.set_verbosity_error()
    # "Loading weights" would stand among our own progress, and where none is wanted.
    quieten.disable_progress_bar()
    # Its declared type leaves out what `output_loading_info` adds.
    load: Any = AutoModelForCausalLM.from_pretrained
    model, said = load(
        str(files.directory),
        dtype=dtype,
        use_safetensors=True,
        trust_remote_code=False,
        local_files_only=True,
        output_loading_info=True,
    )
    # transformers would go on with random numbers in their place.
    missing = sorted(said["missing_keys"])
    if missing:
        raise BadInputError(
            f"the files of the model in {files.directory} lack {len(missing)} of its weights ({missing[0]}); "
            "download or save the model again"
        )
    _require_finite(model, files)
    if files.adapter is not None:
        merge_adapter(model, files.adapter)
    return model


def _require_finite(model: Any, files: ModelFiles) -> None:
    import torch

    # Of quantized weights, libraries know what is a number.
    plain = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    for name, parameter in model.named_parameters():
        if parameter.dtype in plain and not parameter.is_meta and not is_finite(parameter.detach()):
            raise BadInputError(
                f"the model in {files.directory} holds weights that are no finite numbers ({name}): what it writes "
                "means nothing; look at its training, or save it again"
            )


@contextmanager
def whole_directory(files: ModelFiles, *, dtype: Any) -> Iterator[Path]:
    """Yield a directory of the whole model, for an engine that reads files: its own, where it has no adapter.

    A merged one is written where libraries' temporary files go (an audit's own lie in its `work` folder),
    and removed afterwards.
    """
    if files.adapter is None:
        yield files.directory
        return
    with TemporaryDirectory(prefix="merged-model-") as place:
        load_pretrained(files, dtype=dtype).save_pretrained(place)
        yield Path(place)


@contextmanager
def deterministic(*, seed: int) -> Iterator[None]:
    """Fix torch's seed, threads and algorithms, and put back what the caller had.

    One thread an operation: with two, an operation waits for a thread that another process has displaced, and a busy
    machine was seen to train at a tenth of the speed. The cores are used by training's workers instead.
    """
    import torch
    from torch.utils import deterministic

    memory: Any = deterministic  # the attribute is not in its declared types

    # What CUDA's matrix products ask for before they run; without a GPU it changes nothing.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    fill, state = memory.fill_uninitialized_memory, torch.get_rng_state()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # Filling fresh memory guards against reading it unset, which no operation here does, for a quarter of the time.
    memory.fill_uninitialized_memory = False
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)
        memory.fill_uninitialized_memory = fill
        torch.set_rng_state(state)
