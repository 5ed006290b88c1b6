"""A LoRA adapter (Hu et al., 2021; rank-stabilized, Kalajdzievski, 2023): its files, checked, and its merge by `peft`.

A setting that is not known here could change what a merge must do: it is an error, never passed over; and every weight
must find its place, or a model would look as if it leaked less.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.runtime.console import quiet_stderr
from clinaudit.audit.runtime.model import model_directory
from clinaudit.audit.runtime.model.model_directory import FileStates
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import printable

_CONFIG: Final = "adapter_config.json"
_WEIGHTS: Final = "adapter_model.safetensors"
_MAX_NAME_CHARS: Final = 200
#: Settings that a merge knows, or that say how an adapter was trained. All others must be empty.
_KNOWN: Final = frozenset((
    "alpha_pattern", "auto_mapping", "base_model_name_or_path", "bias", "ensure_weight_tying", "eva_config",
    "exclude_modules", "fan_in_fan_out", "inference_mode", "init_lora_weights", "layers_pattern",
    "layers_to_transform", "loftq_config", "lora_alpha", "lora_dropout", "megatron_core", "modules_to_save",
    "peft_type", "peft_version", "qalora_group_size", "r", "rank_pattern", "revision", "runtime_config",
    "target_modules", "task_type", "use_rslora",
))  # fmt: skip
#: Ways to begin that leave the base's weights as they are. The others train on a base that they changed first.
_BEGINNINGS: Final = (True, False, None, "gaussian", "eva", "orthogonal")
_MERGE_ELSEWHERE: Final = (
    "merge it with peft (merge_and_unload), save the whole model with save_pretrained, and audit that"
)


@dataclass(frozen=True, slots=True)
class AdapterFiles:
    """An adapter that was found safe, complete and of a kind that can be merged."""

    directory: Path
    #: SHA-256 over the name and the content digest of its settings and its weights.
    digest: str
    #: Of its settings and its weights, as they were when the digest was taken.
    states: FileStates

    @property
    def weights(self) -> Path:
        """Its one file of weights."""
        return self.directory / _WEIGHTS


def is_adapter(directory: Path) -> bool:
    """Whether the directory holds an adapter."""
    return (directory / _CONFIG).is_file()


def base_name_text(directory: Path) -> str:
    """Return how the adapter calls its base, in brackets; a name of a hub is only shown, never looked up."""
    name = model_directory.read_json(directory / _CONFIG).get("base_model_name_or_path")
    return f" (it names {printable(name)[:_MAX_NAME_CHARS]}, which is not looked up)" if isinstance(name, str) else ""


def inspect_adapter(path: Path) -> AdapterFiles:
    """Describe the adapter in a directory; `BadInputError` if it cannot be merged, `UnsafeError` if it is a pickle."""
    directory = model_directory.existing_directory(path)
    if not is_adapter(directory):
        raise BadInputError(f"no adapter in {directory}: {_CONFIG} is missing; give a whole model without --base-model")
    settings = model_directory.read_json(directory / _CONFIG)
    others = sorted(printable(name) for name, value in settings.items() if name not in _KNOWN and value)
    kind = printable(str(settings.get("peft_type")))[:_MAX_NAME_CHARS]
    begins_as = settings.get("init_lora_weights", True)
    for is_met, otherwise in (
        (kind == "LORA", f"its kind is {kind}; only LoRA can be merged here"),
        (settings.get("task_type") in (None, "CAUSAL_LM"), "it is not for a causal language model (task_type)"),
        (settings.get("bias", "none") == "none", "it also changes biases (bias)"),
        (begins_as in _BEGINNINGS, "it was trained on a base that its beginning changed (init_lora_weights)"),
        (not others, f"it uses {', '.join(others)}, which a merge of LoRA does not know"),
    ):
        if not is_met:
            raise BadInputError(f"the adapter in {directory} cannot be merged: {otherwise}; {_MERGE_ELSEWHERE}")
    weights = directory / _WEIGHTS
    if not weights.is_file():
        model_directory.refuse_without_safetensors(directory)
    model_directory.read_header(weights)
    files = [directory / _CONFIG, weights]
    states = model_directory.states_of(files)
    return AdapterFiles(directory, model_directory.digest_files(files), states)


#: How peft calls an adapter in the names of its weights, once loaded.
_ITS_NAME: Final = ".default"
#: What peft raises of settings and weights that do not fit.
_MERGE_ERRORS: Final = (
    ValueError, RuntimeError, TypeError, AttributeError, LookupError, ArithmeticError, re.error,
)  # fmt: skip


def merge_adapter(model: Any, adapter: AdapterFiles) -> None:
    """Merge the adapter into a loaded model, in place, as peft does; raises `BadInputError` where they do not fit."""
    import torch
    from safetensors.torch import load_file

    tensors = load_file(adapter.weights)
    for name, tensor in tensors.items():
        if not (tensor.is_floating_point() and is_finite(tensor.float())):
            raise _mismatch(adapter, f"{name} is not of finite numbers")
    # Tied embeddings: an adapter was trained on one of the two.
    parameters = list(model.named_parameters(remove_duplicate=False))
    times = Counter(id(parameter) for _, parameter in parameters)
    shared = {name: parameter.detach().clone() for name, parameter in parameters if times[id(parameter)] > 1}
    try:
        # peft begins with factors at random, which must not change what the caller draws.
        with quiet_stderr(), torch.random.fork_rng(devices=[]):
            from peft import PeftConfig, get_peft_model, set_peft_model_state_dict

            network: Any = get_peft_model(model, PeftConfig.from_pretrained(str(adapter.directory)))
            loaded: Any = set_peft_model_state_dict(network, tensors)
            changes = bool(network.peft_config["default"].modules_to_save) or any(
                bool(layer.get_delta_weight("default").any())
                for layer in network.modules()
                if hasattr(layer, "get_delta_weight")
            )
            network.merge_and_unload()
    except _MERGE_ERRORS as error:
        last = (str(error).strip().splitlines() or [""])[-1].strip(" .\t")
        raise _mismatch(adapter, f"{type(error).__name__}: {last}") from None
    if loaded.unexpected_keys:
        raise _mismatch(adapter, f"it holds {min(loaded.unexpected_keys)}, which has no place in it")
    # What it lacks besides is the base's own.
    if lacking := [name for name in loaded.missing_keys if _ITS_NAME in name]:
        raise _mismatch(adapter, f"it lacks {min(lacking).replace(_ITS_NAME, '')}")
    if not changes:
        raise _mismatch(adapter, "it changes nothing: all that it would add is zero, as before a training")
    if any(not torch.equal(model.get_parameter(name), before) for name, before in shared.items()):
        raise _mismatch(
            adapter, f"it changes a weight that two parts of the base share ({min(shared)}); {_MERGE_ELSEWHERE}"
        )


def is_finite(tensor: Any) -> bool:
    """Whether every number is one. A model that holds others writes nothing of what it learned, and would look safe."""
    import torch

    # Without a copy; what is no number is both the smallest and the largest.
    return tensor.numel() == 0 or all(bool(end.isfinite()) for end in torch.aminmax(tensor))


def _mismatch(adapter: AdapterFiles, what: str) -> BadInputError:
    return BadInputError(
        f"the adapter in {adapter.directory} does not fit the base model: {printable(what)[:400]}; give "
        "the model that it was trained on"
    )
