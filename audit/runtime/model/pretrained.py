"""A causal model loaded with transformers (no pickles, code or network), an adapter merged; or written out so."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import re2
from huggingface_hub.errors import StrictDataclassError

from clinaudit.audit.runtime.console import first_line
from clinaudit.audit.runtime.model.adapter import is_finite, merge_adapter
from clinaudit.audit.runtime.model.files import ModelFiles, require_unchanged
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import printable

#: What transformers or vLLM raises for a model it cannot load (safetensors', pydantic's and json's errors included).
LOAD_ERRORS = (
    ValueError, RuntimeError, OSError, AssertionError, LookupError, TypeError, AttributeError, ImportError,
    StrictDataclassError,
)  # fmt: skip
#: What old checkpoints hold of masks and positions, which are computed today: nothing learned.
_COMPUTED: Final = r"(^|\.)(inv_freq|position_ids|masked_bias|causal_mask|(attn|attention)\.bias)$"
#: Types of numbers that weights have where they were quantized, as the format spells them.
_WHOLE_NUMBERS: Final = frozenset(("I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64"))


def load_pretrained(files: ModelFiles, *, dtype: Any) -> Any:
    """Load the model, on the CPU, and merge its adapter; `dtype` is torch's, or `auto` for the checkpoint's own.

    Raises `BadInputError` as `require_own_weights` does, or where weights are no finite numbers, or the adapter does
    not fit; `StorageError` as `require_unchanged` does; `LOAD_ERRORS` are transformers' own.
    """
    require_unchanged(files)
    require_own_weights(files)
    from transformers import AutoModelForCausalLM

    # Its declared type knows less than it takes.
    load: Any = AutoModelForCausalLM.from_pretrained
    options = {"use_safetensors": True, "trust_remote_code": False, "local_files_only": True}
    model = load(str(files.directory), config=_read_config(files), dtype=dtype, **options)
    if files.adapter is not None:
        merge_adapter(model, files.adapter)
    # Of quantized weights, libraries know what is a number.
    plain = {f"torch.{kind}" for kind in ("float16", "bfloat16", "float32", "float64")}
    for name, parameter in model.named_parameters():
        if str(parameter.dtype) in plain and not parameter.is_meta and not is_finite(parameter.detach()):
            raise BadInputError(
                f"the model in {files.directory} holds weights that are no finite numbers ({name}): what it writes "
                "means nothing; look at its training, or save it again"
            )
    return model


def require_own_weights(files: ModelFiles) -> ModelFiles:
    """Return the files as compared; raise `BadInputError` where their weights are not the network's in config.json.

    transformers would go on with random numbers for what is missing, and without what has no place; vLLM, too, in
    part. Only what transformers declares to be no part of the network for text (further-token heads) may be left over.
    They are compared once: vLLM changes classes of transformers for good, after which some cannot be made again.
    """
    if files.is_compared or files.quantization is not None:  # quantized: with names of their own
        return files
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.modeling_utils import LoadStateDictConfig
    from transformers.utils import logging

    # Their declared types know less than they are.
    quieten, auto, loading_of = (cast("Any", it) for it in (logging, AutoModelForCausalLM, LoadStateDictConfig))
    quieten.set_verbosity_error()
    # "Loading weights" would stand among our own progress, and where none is wanted.
    quieten.disable_progress_bar()
    try:
        config = _read_config(files)
        with torch.device("meta"):
            model = auto.from_config(config, trust_remote_code=False)
        # As `from_pretrained(device_map="meta")` does, which wants the package accelerate.
        renamings = get_model_conversion_mapping(model)
        loading = loading_of(device_map={"": torch.device("meta")}, weight_mapping=renamings)
        loaded, _ = model._load_pretrained_model(model, None, [str(file) for file in files.safetensors], loading)
        tied = dict(model.all_tied_weights_keys)
        model.tie_weights(missing_keys=loaded.missing_keys, recompute_mapping=False)
        model._adjust_missing_and_unexpected_keys(loaded)
    except LOAD_ERRORS as error:
        raise BadInputError(
            f"transformers cannot load the model in {files.directory} ({type(error).__name__}: {first_line(error)}); "
            "save it again with save_pretrained"
        ) from error
    _refuse(files, "lack {} of its weights", loaded.missing_keys)
    whole = (tensor.name for tensor in files.tensors if tensor.dtype in _WHOLE_NUMBERS)
    rounded = {name for name in whole if not re2.search(_COMPUTED, name)}
    quantized = "give the model before it was quantized, or with its quantization_config"
    _refuse(files, "hold {} weights of whole numbers, of which config.json says nothing", rounded, quantized)
    unused = {name for name in loaded.unexpected_keys if not re2.search(_COMPUTED, name)}
    advice = "correct config.json; LoRA factors are merged with peft, or given as an adapter with --base-model"
    _refuse(files, "hold {} weights that config.json has no place for, and that are not used", unused, advice)
    shapes = {name for name, *_ in loaded.mismatched_keys} | set(loaded.conversion_errors)
    _refuse(files, "hold {} weights of other shapes than config.json gives them", shapes)
    apart = {head for head, source in tied.items() if _differ(files, head, source)}
    untie = "where they were trained apart, set tie_word_embeddings to false in config.json"
    _refuse(files, "hold {} weights that config.json ties to others, from which they differ", apart, untie)
    return replace(files, is_compared=True)


def _read_config(files: ModelFiles) -> Any:
    """Return config.json as transformers reads it, without how to run: attention by another package, plain tuples."""
    from transformers import AutoConfig

    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    config: Any = AutoConfig.from_pretrained(
        str(files.directory), return_dict=True, attn_implementation=None, **options
    )
    # Older releases saved it by this name.
    config._attn_implementation_internal = None
    return config


def _refuse(files: ModelFiles, what: str, names: Collection[str], advice: str = "download it again") -> None:
    if names:
        held = f"{what.format(len(names))} ({printable(min(names))})"
        raise BadInputError(f"the files of the model in {files.directory} {held}; {advice}, or save the model again")


def _differ(files: ModelFiles, *names: str) -> bool:
    import torch
    from safetensors import safe_open

    tensors = []
    for file in files.safetensors:
        with safe_open(file, "pt") as stream:
            # Saved without its head, a network's names lack their first part.
            keys = [key for key in stream.keys() if any(f".{name}".endswith(f".{key}") for name in names)]  # noqa: SIM118
            tensors += [stream.get_tensor(key).float() for key in keys]
    return any(not torch.equal(tensors[0], other) for other in tensors[1:])


@contextmanager
def whole_directory(files: ModelFiles, *, dtype: Any) -> Iterator[Path]:
    """Yield a directory of the whole model: its own, or one merged for a while among the libraries' temporary files."""
    if files.adapter is None:
        require_own_weights(files)
        yield files.directory
        return
    with TemporaryDirectory(prefix="merged-model-") as place:
        from transformers import GenerationConfig

        model = load_pretrained(files, dtype=dtype)
        # How the base would be decoded by default is not read, and transformers saves no model whose defaults it finds
        # at odds (a temperature without drawing).
        untyped: Any = GenerationConfig
        model.generation_config = untyped()
        model.save_pretrained(place)
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
