"""An adapter merged into its base: W + scale · B·A for each module that it changes (Hu et al., 2021, section 4.1).

Owns the way from the names of an adapter's weights to the base's modules. Every weight of an adapter must find its
place: one that is passed over would let a model look as if it leaked less. The operations and their order are those of
`peft`'s merge, so that the same numbers come out.
"""

from typing import Any, Final

from clinaudit.audit.model.adapters.files import AdapterFiles
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import printable

_PREFIX: Final = "base_model.model."
#: How the two factors of a module's change are named: of a linear one, and of an embedding.
_FACTORS: Final = ((".lora_A.weight", ".lora_B.weight"), (".lora_embedding_A", ".lora_embedding_B"))


def merge_adapter(model: Any, adapter: AdapterFiles) -> None:
    """Merge the adapter into a loaded model of transformers, in place.

    Raises `BadInputError` where the two do not belong together, or where a changed weight is shared by two modules.
    """
    import torch
    from safetensors.torch import load_file

    left = load_file(adapter.weights)
    # What was saved whole (modules_to_save) comes first: a factor may change it further.
    for name in [name for name in left if ".lora_" not in name]:
        parameter = _parameter(model, _base_name(name), adapter)
        saved = left.pop(name)
        _require_same_shape(saved, parameter, name, adapter)
        _require_finite(saved, name, adapter)
        saved = saved.to(parameter.dtype).to(parameter.device)
        if not torch.equal(saved, parameter.data):
            _require_unshared(model, parameter, name, adapter)
            parameter.data.copy_(saved)
    for suffix, other in _FACTORS:
        for name in [name for name in left if name.endswith(suffix)]:
            module = _base_name(name.removesuffix(suffix))
            factor_a, factor_b = left.pop(name), left.pop(f"{name.removesuffix(suffix)}{other}", None)
            if factor_b is None or not factor_a.dim() == factor_b.dim() == 2 or len(factor_a) != factor_b.shape[1]:
                raise _mismatch(adapter, f"{name} and its counterpart do not fit each other")
            if not len(factor_a):
                raise _mismatch(adapter, f"{name} has rank 0")
            parameter = _parameter(model, f"{module}.weight", adapter)
            _require_unshared(model, parameter, name, adapter)
            _require_finite(factor_a, name, adapter)
            _require_finite(factor_b, name, adapter)
            # peft computes in float32 where the factors are of half precision, too.
            delta = factor_b.float().to(parameter.device) @ factor_a.float().to(parameter.device)
            if adapter.fan_in_fan_out or suffix == ".lora_embedding_A":
                delta = delta.T
            _require_same_shape(delta, parameter, name, adapter)
            delta *= adapter.scale_of(module, len(factor_a))
            _require_finite(delta, name, adapter)
            parameter.data += delta
    if left:
        raise _mismatch(adapter, f"it holds {next(iter(left))}, which a merge of LoRA does not know")


def is_finite(tensor: Any) -> bool:
    """Whether every number is one. A model that holds others writes nothing of what it learned, and would look safe."""
    import torch

    # Without a copy; what is no number is both the smallest and the largest.
    return tensor.numel() == 0 or all(bool(end.isfinite()) for end in torch.aminmax(tensor))


def _base_name(name: str) -> str:
    return name.removeprefix(_PREFIX).replace(".base_layer.", ".")


def _parameter(model: Any, name: str, adapter: AdapterFiles) -> Any:
    try:
        return model.get_parameter(name)
    except AttributeError:
        raise _mismatch(adapter, f"the base has no {name}") from None


def _require_same_shape(tensor: Any, parameter: Any, name: str, adapter: AdapterFiles) -> None:
    if tensor.shape != parameter.shape:
        raise _mismatch(
            adapter, f"{name} is for {tuple(tensor.shape)}, and the base has {tuple(parameter.shape)} there"
        )


def _require_finite(tensor: Any, name: str, adapter: AdapterFiles) -> None:
    if not tensor.is_floating_point() or not is_finite(tensor.float()):
        raise _mismatch(adapter, f"{name} is not of finite numbers")


def _require_unshared(model: Any, parameter: Any, name: str, adapter: AdapterFiles) -> None:
    """Refuse to change a weight that two modules share (tied embeddings): the adapter was trained on one of them."""
    if sum(other is parameter for _, other in model.named_parameters(remove_duplicate=False)) > 1:
        raise _mismatch(
            adapter,
            f"{name} changes a weight that two parts of the base share; merge it with peft (merge_and_unload), save "
            "the whole model with save_pretrained, and audit that",
        )


def _mismatch(adapter: AdapterFiles, what: str) -> BadInputError:
    return BadInputError(
        f"the adapter in {adapter.directory} does not fit the base model: {printable(what)}; give the model that it "
        "was trained on"
    )
