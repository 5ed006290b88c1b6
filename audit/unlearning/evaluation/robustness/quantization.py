"""4-bit weights: the network as it would be served, rounded to the nearest of sixteen levels, simulated in float.

Owns the rounding, what is rounded, and that every byte is put back. Unlearning that moves weights by less than half a
step is undone by rounding (Zhang et al., ICLR 2025, arXiv 2410.16454). Symmetric [choice]: 0 stays 0, and it is how
checkpoints of 4-bit weights for serving are mostly stored: a step is max|w| / 7.5 of its group, levels -8 to 7, as
compressed-tensors and GPTQ compute them. Knows nothing of questions or scores.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from clinaudit.errors import BadInputError

if TYPE_CHECKING:
    from torch import Tensor

#: Input weights that share a step (docs/unlearning-scores.md).
GROUP: Final = 128
_LOWEST_LEVEL, _HIGHEST_LEVEL = -8, 7
#: Half of the fifteen steps between the lowest and the highest level.
_LEVELS_EACH_SIDE: Final = 7.5


@contextmanager
def quantized(network: Any) -> Iterator[dict[str, int]]:
    """Round the weights of a network's linear layers for as long as the context lasts; then put back every byte.

    Yields how many numbers were rounded (`quantized`) of how many there are (`numbers`). Embeddings, the output layer,
    norms and biases stay as they are, as in checkpoints of 4-bit weights. Raises `BadInputError` where there is no
    linear layer.
    """
    import torch

    weights = linear_weights(network)
    if not weights:
        raise BadInputError(
            f"the linear layers of this architecture ({network.config.model_type}) cannot be told apart, so that its "
            "weights cannot be rounded to 4 bits"
        )
    before = {name: weight.detach().clone() for name, (weight, _) in weights.items()}
    counts = {
        "quantized": sum(kept.numel() for kept in before.values()),
        "numbers": sum(parameter.numel() for parameter in network.parameters()),
    }
    try:
        with torch.no_grad():
            for weight, is_transposed in weights.values():
                rounded = round_to_nearest(weight.T if is_transposed else weight)
                weight.copy_(rounded.T if is_transposed else rounded)
        yield counts
    finally:
        with torch.no_grad():
            for name, (weight, _) in weights.items():
                weight.copy_(before[name])


def round_to_nearest(weight: "Tensor", *, group: int = GROUP) -> "Tensor":
    """Return a weight rounded to 4 bits in groups of input weights: (output, input) -> (output, input).

    A last group that is smaller has its own step, and a group of zeros stays zero. Ties go to the even level.
    """
    import torch

    parts = []
    for part in torch.split(weight.detach(), group, dim=1):
        step = part.abs().amax(dim=1, keepdim=True) / _LEVELS_EACH_SIDE
        levels = torch.round(part / torch.where(step > 0, step, 1.0)).clamp(_LOWEST_LEVEL, _HIGHEST_LEVEL)
        parts.append(levels * step)
    return torch.cat(parts, dim=1)


def linear_weights(network: Any) -> dict[str, tuple[Any, bool]]:
    """Return the weights of the linear layers by name, each with whether it is stored as (input, output), as GPT-2's.

    Without those of the output layer, nor any that the embeddings share.
    """
    from torch.nn import Linear
    from transformers.pytorch_utils import Conv1D

    seen = {
        id(module.weight)
        for module in (network.get_input_embeddings(), network.get_output_embeddings())
        if module is not None
    }
    found: dict[str, tuple[Any, bool]] = {}
    for name, module in network.named_modules():
        if isinstance(module, Linear | Conv1D) and id(module.weight) not in seen:
            # Layers may share one weight, which is rounded once.
            seen.add(id(module.weight))
            found[name] = (module.weight, isinstance(module, Conv1D))
    return found
