"""The model to be changed, loaded for training; and written out again as it was stored, with its own tokenizer.

Owns the type of the numbers: training is in float32, what is written has the checkpoint's own type. Knows nothing of
losses.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from clinaudit.audit.model.files import ModelFiles
from clinaudit.audit.model.model_directory import FLOAT_BYTES
from clinaudit.audit.model.pretrained import LOAD_ERRORS, load_pretrained
from clinaudit.errors import BadInputError, StorageError

#: As safetensors spells them, the types that weights are written in; others become float32.
_STORED: Final = {"BF16": "bfloat16", "F16": "float16"}
Loaded = TypeVar("Loaded")


def load_for_training(files: ModelFiles) -> Any:
    """Load the model in float32, an adapter merged into it, on the GPU where there is one.

    Raises `BadInputError` where it cannot be loaded, or is quantized: whole numbers have no gradient.
    """
    if files.quantization is not None:
        raise BadInputError(
            f"the model in {files.directory} is quantized ({files.quantization}), and cannot be trained; give the same "
            "model before it was quantized"
        )
    return load_in_float32(files)


def load_in_float32(files: ModelFiles) -> Any:
    """Load the model in float32, an adapter merged into it, on the GPU where there is one.

    Raises `BadInputError` where it cannot be loaded.
    """
    import torch

    network = _loaded(lambda: load_pretrained(files, dtype=torch.float32), files)
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


def _loaded(load: Callable[[], Loaded], files: ModelFiles) -> Loaded:
    try:
        return load()
    except BadInputError:
        raise
    except LOAD_ERRORS as error:
        raise BadInputError(
            f"the model in {files.directory} cannot be loaded ({type(error).__name__}); look at its files"
        ) from None
