"""Training and inference that give equal bits on equal machines: torch's seed, threads and algorithms.

Knows nothing of models.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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
