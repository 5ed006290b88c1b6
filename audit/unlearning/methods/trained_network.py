"""A network of which some parameters are trained: loaded, asked as it is and as it was before, written; and its memory.

Owns which parameters those are, and the types of numbers: what is trained is float32; the rest, and what is computed,
bfloat16 where the GPU has it. Weights are read and written as safetensors alone, each in the type that it was stored
in. The memory that a training needs is said before it begins, and one that does not fit is refused.
"""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.adapter import inspect_adapter, merge_adapter
from clinaudit.audit.runtime.model.engines.memory import (
    GIB,
    EngineOptions,
    FreeMemory,
    count_gpus,
    free_main_memory,
    free_memory,
    weight_bytes,
)
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.runtime.model.model_directory import FLOAT_BYTES
from clinaudit.audit.runtime.model.pretrained import LOAD_ERRORS, load_pretrained
from clinaudit.audit.unlearning.methods.losses import KlMin, Objective
from clinaudit.audit.unlearning.methods.texts import MicroBatch, Rows, TrainingPlan
from clinaudit.errors import BadInputError, StorageError

if TYPE_CHECKING:
    from torch import Tensor


#: The layer of 32 that AMNESIA trains and steers (section 4.2).
_LAYER, _OF_LAYERS = 7, 32
#: Rank and α of LoRA [choice]: those of most of the literature on models of some billion parameters (Hu et al., 2022).
LORA_RANK: Final = 16
_LORA_ALPHA: Final = 32
#: As safetensors spells them, the types that weights are written in; others become float32.
_STORED: Final = {"BF16": "bfloat16", "F16": "float16"}


@dataclass(frozen=True, slots=True)
class Device:
    """Where is trained, and how."""

    #: 0: on the processor.
    gpus: int
    #: Whether what is not trained is held, and everything computed, in bfloat16.
    is_half: bool

    @property
    def has_checkpoints(self) -> bool:
        """Whether activations are computed again rather than kept: on a GPU memory is short, and computing cheap."""
        return self.gpus > 0

    @classmethod
    def find(cls) -> Self:
        """Return this machine's."""
        import torch

        gpus = count_gpus()
        return cls(gpus, is_half=gpus > 0 and torch.cuda.is_bf16_supported())


PROCESSOR: Final = Device(0, is_half=False)


def default_layer(layers: int) -> int:
    """Return the layer, counted from 0, that stands in a model of so many where layer 7 of 32 does."""
    return min(layers - 1, max(1, round(_LAYER * layers / _OF_LAYERS)))


class TrainedNetwork:
    """A causal language model of transformers with the parameters that are trained."""

    def __init__(
        self, network: Any, plan: TrainingPlan, *, device: Device = PROCESSOR, keeps_before: bool = True
    ) -> None:
        """Freeze all but the parameters in scope, which become float32.

        `keeps_before`: it can be asked as it was before, and reset. Raises `BadInputError` where the model has no such
        layer, or none that can be identified.
        """
        from torch.nn import ModuleList

        count = getattr(network.config.get_text_config(), "num_hidden_layers", None)
        lists = [one for one in network.modules() if isinstance(one, ModuleList) and len(one) == count]
        if len(lists) != 1:
            raise BadInputError(
                f"the layers of this architecture ({network.config.model_type}) cannot be told apart; unlearn with a "
                "model that has one list of decoder layers"
            )
        layers: Any = lists[0]
        self.layer = default_layer(len(layers)) if plan.layer is None else plan.layer
        if not 0 <= self.layer < len(layers):
            raise BadInputError(
                f"the model has {len(layers)} layers, 0 to {len(layers) - 1}, and no layer {plan.layer}"
            )
        self._module: Any = layers[self.layer]
        self.scope, self.device = plan.scope, device
        #: What is called: with LoRA peft's model around the network.
        self.model: Any = network
        if plan.scope == "lora":
            from peft import LoraConfig, get_peft_model
            from transformers.pytorch_utils import Conv1D

            config = LoraConfig(
                task_type="CAUSAL_LM",
                r=LORA_RANK,
                lora_alpha=_LORA_ALPHA,
                # All but the head.
                target_modules="all-linear",
                # GPT-2's linear weights are stored as (input, output).
                fan_in_fan_out=any(isinstance(module, Conv1D) for module in network.modules()),
            )
            self.model = get_peft_model(network, config)
        elif plan.scope == "layer":
            network.requires_grad_(requires_grad=False)
            self._module.requires_grad_(requires_grad=True)
        else:
            network.requires_grad_(requires_grad=True)
        #: By name, in the order of the model.
        self.trained: dict[str, Any] = {name: one for name, one in self.model.named_parameters() if one.requires_grad}
        for parameter in self.model.parameters():
            # From what was read: rounded first, weights that no gradient reaches would change too.
            if parameter.requires_grad:
                parameter.data = parameter.data.float()
            elif device.is_half:
                parameter.data = parameter.data.bfloat16()
        place(self.model)
        #: They stand in for the trained ones for one pass: no second copy of the rest is held.
        self._before: dict[str, Tensor] = {}
        if keeps_before:
            self._before = {name: value.detach().clone() for name, value in self.trained.items()}

    def reset(self) -> None:
        """Set the trained parameters to what they were before."""
        for name, parameter in self.trained.items():
            parameter.data.copy_(self._before[name])

    def is_finite(self) -> bool:
        """Whether every trained number is finite."""
        return all(bool(parameter.isfinite().all()) for parameter in self.trained.values())

    def logits(self, rows: Rows, *, before: bool = False) -> "Tensor":
        """Return the logits, now or before: (b, s, v)."""
        found: Tensor = self._run(rows, before=before).logits.float()
        return found

    def activations(self, rows: Rows, *, before: bool = False) -> "Tensor":
        """Return what the layer gives, now or before: (b, s, d)."""
        seen: list[Tensor] = []

        def keep(_module: object, _inputs: object, output: Any) -> None:
            seen.append(output[0] if isinstance(output, tuple) else output)

        hook = self._module.register_forward_hook(keep)
        try:
            self._run(rows, before=before)
        finally:
            hook.remove()
        # The layer may lie on another GPU than the labels.
        return seen[0].float().to(self.model.device)

    def _run(self, rows: Rows, *, before: bool) -> Any:
        import torch

        where = self.model.device
        inputs = {name: rows[name].to(where) for name in ("input_ids", "attention_mask")} | {"use_cache": False}
        half = torch.autocast(where.type, dtype=torch.bfloat16) if self.device.is_half else nullcontext()
        with half:
            if not before:
                return self.model(**inputs)
            was_training = self.model.training
            # Without dropout: what was before is no matter of chance.
            self.model.eval()
            with torch.no_grad():
                found = torch.func.functional_call(self.model, self._before, (), inputs)
            self.model.train(was_training)
            return found


def load_network(files: ModelFiles, *, refusal: str, as_stored: bool = False) -> Any:
    """Load the model in main memory, in float32 or as it was stored; an adapter is merged into it.

    Raises `BadInputError` where it cannot be loaded, or is quantized, with `refusal`: whole numbers have no gradient.
    """
    if files.quantization is not None:
        raise BadInputError(
            f"the model in {files.directory} is quantized ({files.quantization}), and {refusal}; give the same model "
            "before it was quantized"
        )
    import torch

    try:
        return load_pretrained(files, dtype=_stored_type(files) if as_stored else torch.float32)
    except BadInputError:
        raise
    except LOAD_ERRORS as error:
        raise BadInputError(
            f"the model in {files.directory} cannot be loaded ({type(error).__name__}); look at its files"
        ) from None


def place(network: Any) -> Any:
    """Move a network to the GPU, its layers evenly to several by accelerate, where it is not there yet; return it."""
    from accelerate import dispatch_model, infer_auto_device_map
    from accelerate.utils import get_balanced_memory

    gpus = count_gpus()
    if not gpus or network.device.type in ("cuda", "meta"):
        return network
    if gpus == 1:
        return network.to("cuda")
    whole = network._no_split_modules
    most = get_balanced_memory(network, no_split_module_classes=whole)
    return dispatch_model(network, infer_auto_device_map(network, max_memory=most, no_split_module_classes=whole))


def _stored_type(files: ModelFiles) -> Any:
    """Return torch's type of the weights, float32 where they have several."""
    import torch

    types = {tensor.dtype for tensor in files.tensors if tensor.dtype in FLOAT_BYTES}
    return getattr(torch, _STORED.get(types.pop(), "float32")) if len(types) == 1 else torch.float32


def write_model(trained: TrainedNetwork, files: ModelFiles, directory: Path) -> None:
    """Write the trained network as the model whose files these are; no byte of what was not trained changes.

    The weights are read anew, and the trained ones put in; LoRA's are merged. Raises `StorageError` on a full disk.
    """
    from safetensors import SafetensorError

    whole = load_pretrained(files, dtype=_stored_type(files))
    try:
        if trained.scope == "lora":
            adapter = directory / "adapter"
            trained.model.save_pretrained(adapter)
            merge_adapter(whole, inspect_adapter(adapter))
            shutil.rmtree(adapter)
        else:
            parameters = dict(whole.named_parameters())
            for name, value in trained.trained.items():
                parameters[name].data.copy_(value.data)
        whole.save_pretrained(directory)
        for path in files.tokenizer:
            shutil.copyfile(path, directory / path.name)
    except (OSError, SafetensorError) as error:
        raise StorageError(
            "the model cannot be written; make room on the disk and run the same command again"
        ) from error


_FLOAT, _HALF = 4, 2
#: Of AdamW for each number: two means.
_ADAMW: Final = 2 * _FLOAT
#: Numbers that a decoder layer keeps of a token for its backward pass, in widths of the network and of its feed-forward
#: layer: inputs of both norms, queries, keys, values, attention and its output, two sums; three of the feed-forward.
_WIDTHS, _FEED_FORWARD = 9, 3
#: For what allocators and libraries take.
_MARGIN: Final = 1.1


class Tokens(NamedTuple):
    """Tokens of the largest micro-batch, padding included."""

    anchor: int
    #: 0 where the loss has no retained texts.
    retain: int = 0

    @classmethod
    def of(cls, batches: Sequence[MicroBatch]) -> "Tokens":
        """Return those of the largest: each of its texts is as long as the longest of them."""
        sizes = (
            [
                len(texts) * max((len(one.token_ids) for one in texts), default=0)
                for texts in (batch.anchor, batch.retain)
            ]
            for batch in batches
        )
        return cls(*max(sizes, key=sum))


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a training holds at its peak, in bytes by what it is; numbers of the network, and of them trained."""

    numbers: int
    trained: int
    parts: Mapping[str, int]

    @property
    def needed(self) -> int:
        """All of it, with a margin."""
        return int(sum(self.parts.values()) * _MARGIN)

    def text(self) -> str:
        """Return it in words."""
        held = ", ".join(f"{name} {size / GIB:.1f}" for name, size in self.parts.items())
        of_all = f"{self.trained:,} of {self.numbers:,} numbers trained"
        return f"about {self.needed / GIB:.1f} GiB ({held}, and a margin; {of_all})"


def forecast_training(
    config: Any, plan: TrainingPlan, objective: Objective, tokens: Tokens, device: Device
) -> Forecast:
    """Return what training a network of this configuration of transformers needs; nothing is loaded.

    What is trained is counted on a network without weights. Activations are an estimate, of the largest batch.
    """
    import torch
    from transformers import AutoModelForCausalLM

    auto: Any = AutoModelForCausalLM
    with torch.device("meta"):
        network = auto.from_config(config, trust_remote_code=False)
        made = TrainedNetwork(network, plan, keeps_before=False)
    numbers = sum(value.numel() for value in made.model.parameters())
    trained = sum(value.numel() for value in made.trained.values())
    text = config.get_text_config()
    width, layers = text.hidden_size, text.num_hidden_layers
    wide = getattr(text, "intermediate_size", None) or getattr(text, "n_inner", None) or 4 * width
    size = _HALF if device.is_half else _FLOAT
    read, most = tokens.anchor + tokens.retain, max(tokens.anchor, tokens.retain)
    one_layer = (_WIDTHS * width + _FEED_FORWARD * wide) * size
    activations = (
        most * one_layer + layers * read * width * size if device.has_checkpoints else layers * read * one_layer
    )
    # The logits, as float32 where they are not, and their logarithms; while one batch's gradients are taken, these.
    logits = read * (2 * _FLOAT + (_HALF if device.is_half else 0)) + most * _FLOAT
    if isinstance(objective, KlMin):
        # Those before, and of both what is compared.
        logits += most * 4 * _FLOAT
    return Forecast(
        numbers=numbers,
        trained=trained,
        parts={
            "weights": (numbers - trained) * size + trained * _FLOAT,
            "gradients and optimizer": trained * (_FLOAT + _ADAMW),
            **({"what is trained, as it was before": trained * _FLOAT} if tokens.retain else {}),
            "activations": activations,
            "logits": logits * text.vocab_size,
        },
    )


def require_training_memory(
    files: ModelFiles, plan: TrainingPlan, objective: Objective, batches: Sequence[MicroBatch], progress: Progress
) -> None:
    """Say what the training needs and what is free; raises `BadInputError`, with what needs less, for too much."""
    from transformers import AutoConfig

    device, tokens = Device.find(), Tokens.of(batches)
    config: Any = AutoConfig.from_pretrained(str(files.directory), trust_remote_code=False, local_files_only=True)
    kind = "bfloat16, what is trained in float32" if device.is_half else "float32"
    forecast = forecast_training(config, plan, objective, tokens, device)

    def require(free: FreeMemory | None, needed: int, text: str, advice: str) -> None:
        if free is None:
            return
        if needed > free.size:
            raise BadInputError(
                f"the model in {files.directory} does not fit into {free.what}: its training needs {text}, in {kind}, "
                f"and {free.size / GIB:.1f} GiB are free; {advice}use a machine with more memory or more GPUs"
            )
        progress.say(f"{free.what}: {text}, in {kind}; {free.size / GIB:.1f} GiB are free")

    place = free_memory(EngineOptions(tensor_parallel=device.gpus)) if device.gpus else free_main_memory()
    lora = "--train lora, " if plan.scope == "all" else ""
    require(place, forecast.needed, forecast.text(), f"try {lora}--batch 1, or ")
    if device.gpus:
        # The weights are read in main memory first, and no option makes them smaller.
        loaded = int(max(weight_bytes(files, as_float32=False), forecast.parts["weights"]) * _MARGIN)
        require(free_main_memory(), loaded, f"about {loaded / GIB:.1f} GiB to read the weights", "")
