"""What a training needs is said before it begins, by hand-computed numbers, and refused where it does not fit."""

from pathlib import Path
from typing import Any

import pytest
from support.models.tiny_models import save_llama
from support.unlearning.tiny_job import QUICK, SPLIT, make_job

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.engines.memory import GIB, FreeMemory
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.unlearning.methods import trained_network
from clinaudit.audit.unlearning.methods import unlearn as door
from clinaudit.audit.unlearning.methods.losses import GradDiff, KlMin, Likelihood
from clinaudit.audit.unlearning.methods.texts import Example, MicroBatch, TrainingPlan
from clinaudit.audit.unlearning.methods.trained_network import (
    Device,
    Tokens,
    forecast_training,
    require_training_memory,
)
from clinaudit.audit.unlearning.methods.unlearn import plan_unlearning, unlearn
from clinaudit.errors import BadInputError

GPU = Device(1, is_half=True)
#: Four notes of 2,048 tokens to forget, and four to retain: the largest batch of the defaults.
FULL = Tokens(anchor=8192, retain=8192)


def _eight_billion() -> Any:
    """Return the configuration of a Llama of 8 billion weights."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=128256,
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        max_position_embeddings=8192,
    )


def test_eight_billion_weights_fit_on_80_gb_with_lora_and_not_whole() -> None:
    config = _eight_billion()
    lora = forecast_training(config, TrainingPlan(scope="lora"), GradDiff(), FULL, GPU)
    # Rank 16 beside queries and outputs (4096 + 4096), keys and values (4096 + 1024), and three of the feed-forward.
    of_layer = 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336))
    assert lora.trained == 32 * of_layer == 41_943_040
    assert lora.numbers == 8_030_261_248 + lora.trained
    assert lora.parts == {
        "weights": 2 * 8_030_261_248 + 4 * lora.trained,
        # AdamW has two means.
        "gradients and optimizer": 12 * lora.trained,
        "what is trained, as it was before": 4 * lora.trained,
        # What each layer begins with, and all of one layer.
        "activations": 2 * (32 * 16384 * 4096 + 8192 * (9 * 4096 + 3 * 14336)),
        # As bfloat16, as float32, and their logarithms; one batch's gradients.
        "logits": 128256 * (16384 * (2 + 4 + 4) + 8192 * 4),
    }
    for objective in (Likelihood(), GradDiff(), KlMin()):
        assert forecast_training(config, TrainingPlan(scope="lora"), objective, FULL, GPU).needed < 80e9
    whole = forecast_training(config, TrainingPlan(scope="all"), GradDiff(), FULL, GPU)
    assert whole.trained == whole.numbers == 8_030_261_248
    assert whole.parts["weights"] + whole.parts["gradients and optimizer"] == 16 * 8_030_261_248
    layer = forecast_training(config, TrainingPlan(scope="layer"), GradDiff(), FULL, GPU)
    assert layer.trained == 218_112_000


def test_on_a_processor_everything_is_float32_and_kept() -> None:
    config = _eight_billion()
    config.num_hidden_layers = 2
    cpu = Device(0, is_half=False)
    found = forecast_training(config, TrainingPlan(scope="layer"), Likelihood(), Tokens(anchor=100), cpu)
    assert found.parts == {
        "weights": 4 * found.numbers,
        "gradients and optimizer": 12 * 218_112_000,
        "activations": 4 * 2 * 100 * (9 * 4096 + 3 * 14336),
        "logits": 128256 * 100 * 12,
    }


def test_of_the_largest_batch_each_text_is_as_long_as_its_longest() -> None:
    short, long = Example("note", (1, 2), 1), Example("note", (1,) * 9, 1)
    batches = [MicroBatch((short, short, short), (short, short, short)), MicroBatch((short, long), (short, short))]
    assert Tokens.of(batches) == Tokens(anchor=18, retain=4)
    assert Tokens.of([MicroBatch((short, short))]) == Tokens(anchor=4, retain=0)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said of memory."""
    lines: list[str] = []
    monkeypatch.setattr(Progress, "say", lambda _self, line: lines.append(line))
    return lines


def _have(monkeypatch: pytest.MonkeyPatch, size: int, *, gpus: int = 0, main: int | None = None) -> list[Any]:
    """Let a machine have so much free memory, in bytes, on GPUs or without any; return of how many was asked."""
    asked: list[Any] = []

    def of_gpus(options: Any) -> FreeMemory:
        asked.append(options.tensor_parallel)
        return FreeMemory(size, f"memory on {gpus} GPUs")

    monkeypatch.setattr(trained_network, "count_gpus", lambda: gpus)
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda: True)
    monkeypatch.setattr(trained_network, "free_memory", of_gpus)
    monkeypatch.setattr(
        trained_network, "free_main_memory", lambda: FreeMemory(size if main is None else main, "memory")
    )
    return asked


#: Four notes, which are read at once.
BATCHES = [MicroBatch(tuple(Example("note", (1,) * 200, 1) for _ in range(4)))]


def _require(tmp_path: Path, scope: Any = "all") -> None:
    model = tmp_path / "model"
    if not model.exists():
        model.mkdir()
        save_llama(model)
    plan = TrainingPlan(scope=scope)
    require_training_memory(inspect_model(model), plan, Likelihood(), BATCHES, Progress(quiet=True))


def test_what_does_not_fit_is_refused_with_what_needs_less(tmp_path, monkeypatch, said) -> None:
    from transformers import AutoConfig

    _have(monkeypatch, GIB)
    _require(tmp_path)
    assert said[0].startswith("memory: about 0.0 GiB (weights 0.0, gradients and optimizer 0.0, activations 0.0, ")
    assert said[0].endswith(" numbers trained), in float32; 1.0 GiB are free")
    config = AutoConfig.from_pretrained(tmp_path / "model")
    cpu = Device(0, is_half=False)

    for scope, advice in (("all", "--train lora, --batch 1"), ("lora", "--batch 1")):
        plan = TrainingPlan(scope=scope)
        needed = forecast_training(config, plan, Likelihood(), Tokens(anchor=800), cpu).needed
        _have(monkeypatch, needed)
        _require(tmp_path, scope)
        _have(monkeypatch, needed - 1)
        said_of_memory = rf"does not fit into memory: its training needs about .*; try {advice}, or use a machine"
        with pytest.raises(BadInputError, match=said_of_memory):
            _require(tmp_path, scope)


def test_all_gpus_hold_the_model_and_main_memory_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    asked = _have(monkeypatch, GIB, gpus=3)
    _require(tmp_path)
    assert asked == [3]
    assert said[0].startswith("memory on 3 GPUs: ")
    assert ", in bfloat16, what is trained in float32; " in said[0]
    assert said[1].startswith("memory: about 0.0 GiB to read the weights")
    _have(monkeypatch, GIB, gpus=3, main=1000)
    with pytest.raises(BadInputError, match=r"does not fit into memory: .* to read the weights"):
        _require(tmp_path)
    # No option makes the weights smaller to read.
    _have(monkeypatch, GIB, gpus=3)
    monkeypatch.setattr(trained_network, "weight_bytes", lambda *_, **__: 10 * GIB)
    with pytest.raises(BadInputError, match=r"about 11.0 GiB to read the weights, .*; use a machine with more memory"):
        _require(tmp_path)


def test_nothing_is_loaded_and_the_place_is_free_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path)
    _have(monkeypatch, 1000)
    monkeypatch.setattr(door, "load_network", lambda *_, **__: pytest.fail("it was loaded"))
    with pytest.raises(BadInputError, match="does not fit into memory"):
        unlearn(job, SPLIT, plan_unlearning("sim_npo", seed=1, training=QUICK))
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
