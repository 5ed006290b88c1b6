"""The memory that a training needs, said before it begins, and the refusal of one that does not fit.

What is trained is counted on a network without weights, made as the real one is made: so the numbers are exact. What
activations take is an estimate, of the batch with most tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engines.memory import (
    GIB,
    EngineOptions,
    FreeMemory,
    free_main_memory,
    free_memory,
    weight_bytes,
)
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.unlearning.methods.losses import KlMin, Objective
from clinaudit.audit.unlearning.methods.texts import MicroBatch, Scope, TrainingPlan
from clinaudit.audit.unlearning.methods.trained_network import Device, TrainedNetwork
from clinaudit.errors import BadInputError

_FLOAT, _HALF = 4, 2
#: Of AdamW for each number: two means.
_ADAMW: Final = 2 * _FLOAT
#: Numbers that a decoder layer keeps of a token for its backward pass, in widths of the network and of its feed-forward
#: layer: inputs of both norms, queries, keys, values, attention and its output, two sums; three of the feed-forward.
_WIDTHS, _FEED_FORWARD = 9, 3
#: For what allocators and libraries take.
_MARGIN: Final = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens of the largest micro-batch, padding included."""

    anchor: int
    #: 0 where the loss has no retained texts.
    retain: int = 0

    @classmethod
    def of(cls, batches: Sequence[MicroBatch]) -> "Tokens":
        """Return those of the largest: each of its texts is as long as the longest of them."""

        def count(examples: Sequence[Any]) -> int:
            return len(examples) * max((len(one.token_ids) for one in examples), default=0)

        largest = max(batches, key=lambda batch: count(batch.anchor) + count(batch.retain))
        return cls(anchor=count(largest.anchor), retain=count(largest.retain))


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
    """Return what training a network of this configuration of transformers needs; nothing is loaded."""
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
    """Say what the training needs and what is free.

    Raises `BadInputError`, with the options that would fit, where it is too much.
    """
    from transformers import AutoConfig

    device = Device.find()
    config: Any = AutoConfig.from_pretrained(str(files.directory), trust_remote_code=False, local_files_only=True)
    tokens = Tokens.of(batches)
    forecast = forecast_training(config, plan, objective, tokens, device)
    places: list[tuple[FreeMemory | None, int, str]] = [(free_main_memory(), forecast.needed, forecast.text())]
    if device.gpus:
        # The weights are read in main memory first.
        loaded = int(max(weight_bytes(files, as_float32=False), forecast.parts["weights"]) * _MARGIN)
        places = [
            (free_memory(EngineOptions(tensor_parallel=device.gpus)), forecast.needed, forecast.text()),
            (free_main_memory(), loaded, f"about {loaded / GIB:.1f} GiB to read the weights"),
        ]
    for free, needed, text in places:
        if free is None:
            continue
        kind = "bfloat16, what is trained in float32" if device.is_half else "float32"
        if needed <= free.size:
            progress.say(f"{free.what}: {text}, in {kind}; {free.size / GIB:.1f} GiB are free")
            continue
        advice = next(
            (
                f"{' '.join(options)} would fit"
                for options, other, fewer in _smaller(plan, tokens)
                if forecast_training(config, other, objective, fewer, device).needed <= free.size
            ),
            "use a machine with more memory, or with more or larger GPUs",
        )
        raise BadInputError(
            f"the model in {files.directory} does not fit into {free.what}: its training needs {text}, in {kind}, and "
            f"{free.size / GIB:.1f} GiB are free; {advice}"
        )


def _smaller(plan: TrainingPlan, tokens: Tokens) -> Iterator[tuple[list[str], TrainingPlan, Tokens]]:
    """Yield trainings that need less, with the options that ask for them, the ones that change least first."""
    single = replace(tokens, anchor=tokens.anchor // plan.micro_batch, retain=tokens.retain // plan.micro_batch)
    scopes: tuple[Scope, ...] = (plan.scope, "lora") if plan.scope == "all" else (plan.scope,)
    for scope in scopes:
        for batch, fewer in (([], tokens), (["--batch 1"], single)):
            train = [] if scope == plan.scope else [f"--train {scope}"]
            yield [*train, *batch], replace(plan, scope=scope), fewer
