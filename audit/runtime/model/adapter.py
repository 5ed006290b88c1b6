"""A LoRA adapter, as the `peft` library saves it: its files, checked, and the merge W + scale · B·A into its base.

Only LoRA can be merged (Hu et al., 2021; rank-stabilized scaling, Kalajdzievski, 2023). A setting that is not known
here could change what a merge must do: it is an error, never passed over; and every weight must find its place, or a
model would look as if it leaked less. The operations and their order are those of `peft`'s merge.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from sys import float_info
from typing import Any, Final

import re2

from clinaudit.audit.runtime.model.model_directory import (
    TensorHeader,
    digest_files,
    existing_directory,
    ignored_weights,
    read_header,
    read_json,
    refuse_custom_code,
    refuse_without_safetensors,
)
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import printable

_CONFIG: Final = "adapter_config.json"
_WEIGHTS: Final = "adapter_model.safetensors"
_MAX_NAME_CHARS: Final = 200
#: Settings that the merge reads.
_READ: Final = frozenset({"peft_type", "task_type", "lora_alpha", "alpha_pattern", "use_rslora", "fan_in_fan_out"})
#: Settings that say how an adapter was trained, or where; what it changes is told by the names of its weights.
_NO_MATTER: Final = frozenset(
    {
        "auto_mapping",
        "base_model_name_or_path",
        "ensure_weight_tying",
        "eva_config",
        "exclude_modules",
        "inference_mode",
        "layers_pattern",
        "layers_to_transform",
        "lora_dropout",
        "loftq_config",
        "megatron_core",
        "modules_to_save",
        "peft_version",
        "qalora_group_size",
        "r",
        "rank_pattern",
        "revision",
        "runtime_config",
        "target_modules",
    }
)
#: Ways to begin that leave the base's weights as they are. The others train on a base that they changed first.
_BEGINNINGS: Final = (True, False, None, "gaussian", "eva", "orthogonal")


@dataclass(frozen=True, slots=True)
class AdapterFiles:
    """An adapter that was found safe, complete and of a kind that can be merged."""

    directory: Path
    weights: Path
    #: SHA-256 over the name and the content digest of its settings and its weights.
    digest: str
    lora_alpha: float
    #: α of some modules, by a regular expression of their names.
    alpha_pattern: Mapping[str, float]
    #: Whether α is divided by the root of the rank.
    is_rank_stabilized: bool
    #: Whether weights are stored as (input, output), as in GPT-2.
    fan_in_fan_out: bool
    tensors: tuple[TensorHeader, ...]
    #: Names of files of weights beside its own that are never opened.
    ignored: tuple[str, ...]

    def scale_of(self, module: str, rank: int) -> float:
        """Return the factor of B·A for a module, by its name in the base: α/r, or α/√r where rank-stabilized."""
        alpha = next(
            (value for pattern, value in self.alpha_pattern.items() if re2.fullmatch(rf"(.*\.)?({pattern})", module)),
            self.lora_alpha,
        )
        return float(alpha / (sqrt(rank) if self.is_rank_stabilized else rank))


def is_adapter(directory: Path) -> bool:
    """Whether the directory holds an adapter."""
    return (directory / _CONFIG).is_file()


def base_name_text(directory: Path) -> str:
    """Return how the adapter calls its base, in brackets; a name of a hub is only shown, never looked up."""
    name = read_json(directory / _CONFIG).get("base_model_name_or_path")
    return f" (it names {printable(name)[:_MAX_NAME_CHARS]}, which is not looked up)" if isinstance(name, str) else ""


def inspect_adapter(path: Path) -> AdapterFiles:
    """Check the adapter's directory at `path` and describe it; loads no weights.

    Raises `BadInputError` where it is incomplete, damaged or of a kind that cannot be merged, `UnsafeError` where only
    a pickle holds its weights.
    """
    directory = existing_directory(path)
    if not (directory / _CONFIG).is_file():
        raise BadInputError(f"no adapter in {directory}: {_CONFIG} is missing; give a whole model without --base-model")
    settings = read_json(directory / _CONFIG)
    refuse_custom_code(directory / _CONFIG, {"auto_map": settings.get("auto_map")})
    _require_mergeable(settings, directory)
    weights = directory / _WEIGHTS
    if not weights.is_file():
        refuse_without_safetensors(directory)
    headers = read_header(weights)
    return AdapterFiles(
        directory=directory,
        weights=weights,
        digest=digest_files([directory / _CONFIG, weights]),
        lora_alpha=settings["lora_alpha"],
        alpha_pattern=dict(settings.get("alpha_pattern") or {}),
        is_rank_stabilized=bool(settings.get("use_rslora")),
        fan_in_fan_out=bool(settings.get("fan_in_fan_out")),
        tensors=tuple(headers.values()),
        ignored=ignored_weights(directory, [weights]),
    )


def _require_mergeable(settings: Mapping[str, Any], directory: Path) -> None:
    if settings.get("peft_type") != "LORA":
        kind = printable(str(settings.get("peft_type")))[:_MAX_NAME_CHARS]
        raise _unsupported(directory, f"its kind is {kind}; only LoRA can be merged here")
    if settings.get("task_type") not in (None, "CAUSAL_LM"):
        raise _unsupported(directory, "it is not for a causal language model (task_type)")
    if not _is_number(settings.get("lora_alpha")):
        raise _unsupported(directory, "its lora_alpha is no number above 0")
    pattern = settings.get("alpha_pattern") or {}
    if not isinstance(pattern, dict) or not all(_is_number(alpha) and _compiles(key) for key, alpha in pattern.items()):
        raise _unsupported(directory, "its alpha_pattern is no table of patterns and numbers above 0")
    if not all(isinstance(settings.get(name) or False, bool) for name in ("use_rslora", "fan_in_fan_out")):
        raise _unsupported(directory, "its use_rslora or its fan_in_fan_out is neither true nor false")
    if settings.get("bias", "none") != "none":
        raise _unsupported(directory, "it also changes biases (bias)")
    if settings.get("init_lora_weights", True) not in _BEGINNINGS:
        raise _unsupported(directory, "it was trained on a base that its beginning changed (init_lora_weights)")
    known = _READ | _NO_MATTER | {"bias", "init_lora_weights"}
    others = sorted(printable(name) for name, value in settings.items() if name not in known and value)
    if others:
        raise _unsupported(directory, f"it uses {', '.join(others)}, which a merge of LoRA does not know")


def _unsupported(directory: Path, why: str) -> BadInputError:
    return BadInputError(
        f"the adapter in {directory} cannot be merged: {why}; merge it with peft (merge_and_unload), save the whole "
        "model with save_pretrained, and audit that"
    )


def _is_number(value: object) -> bool:
    # JSON has whole numbers that no float holds.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= float_info.max


def _compiles(pattern: str) -> bool:
    try:
        re2.compile(pattern)
    except re2.error:
        return False
    return True


_PREFIX: Final = "base_model.model."
#: How the two factors of a module's change are named: of a linear one, and of an embedding.
_FACTORS: Final = ((".lora_A.weight", ".lora_B.weight"), (".lora_embedding_A", ".lora_embedding_B"))


def merge_adapter(model: Any, adapter: AdapterFiles) -> None:
    """Merge the adapter into a loaded model of transformers, in place.

    Raises `BadInputError` where the two do not belong together, or where a changed weight is shared by two modules.
    """
    from safetensors.torch import load_file

    left = load_file(adapter.weights)
    for name in left:
        if not left[name].is_floating_point():
            raise _mismatch(adapter, f"{name} is not of finite numbers")
    # What was saved whole (modules_to_save) comes first: a factor may change it further.
    for name in [name for name in left if ".lora_" not in name]:
        _change(model, _base_name(name), left.pop(name), name, adapter)
    for suffix, other in _FACTORS:
        for name in [name for name in left if name.endswith(suffix)]:
            module = _base_name(name.removesuffix(suffix))
            factor_a, factor_b = left.pop(name), left.pop(f"{name.removesuffix(suffix)}{other}", None)
            if factor_b is None or not factor_a.dim() == factor_b.dim() == 2 or len(factor_a) != factor_b.shape[1]:
                raise _mismatch(adapter, f"{name} and its counterpart do not fit each other")
            if not len(factor_a):
                raise _mismatch(adapter, f"{name} has rank 0")
            # peft computes in float32 where the factors are of half precision, too.
            delta = factor_b.float().to(model.device) @ factor_a.float().to(model.device)
            if adapter.fan_in_fan_out or suffix == ".lora_embedding_A":
                delta = delta.T
            delta *= adapter.scale_of(module, len(factor_a))
            _change(model, f"{module}.weight", delta, name, adapter, adds=True)
    if left:
        raise _mismatch(adapter, f"it holds {next(iter(left))}, which a merge of LoRA does not know")


def _change(model: Any, place: str, tensor: Any, name: str, adapter: AdapterFiles, *, adds: bool = False) -> None:
    """Put a tensor of the adapter's, called `name` there, in the place of a weight of the base, or add it."""
    import torch

    try:
        parameter = model.get_parameter(place)
    except AttributeError:
        raise _mismatch(adapter, f"the base has no {place}") from None
    if tensor.shape != parameter.shape:
        raise _mismatch(
            adapter, f"{name} is for {tuple(tensor.shape)}, and the base has {tuple(parameter.shape)} there"
        )
    if not is_finite(tensor.float()):
        raise _mismatch(adapter, f"{name} is not of finite numbers")
    changed = parameter.data + tensor if adds else tensor
    changed = changed.to(parameter.dtype).to(parameter.device)
    if torch.equal(changed, parameter.data):
        return
    # Tied embeddings: the adapter was trained on one of the two.
    if sum(other is parameter for _, other in model.named_parameters(remove_duplicate=False)) > 1:
        raise _mismatch(
            adapter,
            f"{name} changes a weight that two parts of the base share; merge it with peft (merge_and_unload), save "
            "the whole model with save_pretrained, and audit that",
        )
    parameter.data.copy_(changed)


def is_finite(tensor: Any) -> bool:
    """Whether every number is one. A model that holds others writes nothing of what it learned, and would look safe."""
    import torch

    # Without a copy; what is no number is both the smallest and the largest.
    return tensor.numel() == 0 or all(bool(end.isfinite()) for end in torch.aminmax(tensor))


def _base_name(name: str) -> str:
    return name.removeprefix(_PREFIX).replace(".base_layer.", ".")


def _mismatch(adapter: AdapterFiles, what: str) -> BadInputError:
    return BadInputError(
        f"the adapter in {adapter.directory} does not fit the base model: {printable(what)}; give the model that it "
        "was trained on"
    )
