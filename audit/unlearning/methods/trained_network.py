"""A network of which some parameters are trained, and which can still be asked as it was before.

Owns the layer that is trained or steered, and the values before: they stand in for the trained ones for one pass, so
that no second copy of the rest is held.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Self

from clinaudit.audit.unlearning.methods.batches import Rows
from clinaudit.errors import BadInputError

if TYPE_CHECKING:
    from torch import Tensor

#: What is trained: one decoder layer alone, or every parameter.
Scope = Literal["layer", "all"]
#: The layer of 32 that AMNESIA trains and steers (section 4.2).
_LAYER, _OF_LAYERS = 7, 32


def default_layer(layers: int) -> int:
    """Return the layer of a model with so many that stands where layer 7 of 32 does: max(1, round(7 L / 32)).

    Layers count from 0, as their names do. A model of one layer has layer 0 alone.
    """
    return min(layers - 1, max(1, round(_LAYER * layers / _OF_LAYERS)))


class TrainedNetwork:
    """A causal language model of transformers with the parameters that are trained."""

    def __init__(self, network: Any, *, layer: int | None, scope: Scope) -> None:
        """Freeze all but the parameters in scope; `layer` None: the default one.

        Raises `BadInputError` where the model has no such layer, or none that can be identified.
        """
        #: Without dropout: the same batch gives the same loss.
        self.network: Any = network.eval()
        layers = _decoder_layers(network)
        self.layer = default_layer(len(layers)) if layer is None else layer
        if not 0 <= self.layer < len(layers):
            raise BadInputError(f"the model has {len(layers)} layers, 0 to {len(layers) - 1}, and no layer {layer}")
        self._module: Any = layers[self.layer]
        self.scope = scope
        chosen = {id(one) for one in (network if scope == "all" else self._module).parameters()}
        #: By name, in the order of the model.
        self.trained: dict[str, Any] = {}
        for name, parameter in network.named_parameters():
            parameter.requires_grad_(id(parameter) in chosen)
            if id(parameter) in chosen:
                self.trained[name] = parameter
        self._before: dict[str, Tensor] = {name: value.detach().clone() for name, value in self.trained.items()}

    @property
    def device(self) -> Any:
        """Where the parameters lie."""
        return self.network.device

    def replica(self) -> Self:
        """Return a copy that shares nothing with this one but the values before."""
        import copy

        network = copy.deepcopy(self.network)
        twin = type(self)(network, layer=self.layer, scope=self.scope)
        twin._before = self._before
        return twin

    def load(self, values: Mapping[str, "Tensor"]) -> None:
        """Set the trained parameters."""
        import torch

        with torch.no_grad():
            for name, parameter in self.trained.items():
                parameter.copy_(values[name])

    def reset(self) -> None:
        """Set the trained parameters to what they were before."""
        self.load(self._before)

    def logits(self, rows: Rows) -> "Tensor":
        """Return the logits now: (b, s, v)."""
        return _logits(self.network(**_inputs(rows)))

    def logits_before(self, rows: Rows) -> "Tensor":
        """Return the logits that the model gave before: (b, s, v); nothing is learned through them."""
        return _logits(self._run_before(rows))

    def activations(self, rows: Rows) -> "Tensor":
        """Return what the layer gives now: (b, s, d)."""
        with self._watched() as seen:
            self.network(**_inputs(rows))
        return seen[0]

    def activations_before(self, rows: Rows) -> "Tensor":
        """Return what the layer gave before: (b, s, d); nothing is learned through it."""
        with self._watched() as seen:
            self._run_before(rows)
        return seen[0]

    def _run_before(self, rows: Rows) -> Any:
        import torch

        with torch.no_grad():
            return torch.func.functional_call(self.network, self._before, (), _inputs(rows))

    @contextmanager
    def _watched(self) -> Iterator[list["Tensor"]]:
        seen: list[Tensor] = []

        def keep(_module: object, _inputs: object, output: Any) -> None:
            seen.append(output[0] if isinstance(output, tuple) else output)

        hook = self._module.register_forward_hook(keep)
        try:
            yield seen
        finally:
            hook.remove()


def _inputs(rows: Rows) -> dict[str, Any]:
    return {"input_ids": rows.token_ids, "attention_mask": rows.is_text, "use_cache": False}


def _logits(output: Any) -> "Tensor":
    found: Tensor = output.logits.float()
    return found


def _decoder_layers(network: Any) -> Any:
    """Return the model's decoder layers: its one list of as many modules as its configuration has layers."""
    from torch.nn import ModuleList

    count = getattr(network.config.get_text_config(), "num_hidden_layers", None)
    lists = [module for module in network.modules() if isinstance(module, ModuleList) and len(module) == count]
    if len(lists) != 1:
        raise BadInputError(
            f"the layers of this architecture ({network.config.model_type}) cannot be told apart; unlearn with a model "
            "that has one list of decoder layers"
        )
    return lists[0]
