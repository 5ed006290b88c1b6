"""Whether a model fits, by hand-computed bytes and a memory that the test makes up; quantized weights; options."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.models.tiny_models import save_llama

from clinaudit.audit.runtime.model import audited_model
from clinaudit.audit.runtime.model.audited_model import choose_threads, find_model
from clinaudit.audit.runtime.model.engines import memory
from clinaudit.audit.runtime.model.engines.memory import (
    EngineOptions,
    FreeMemory,
    free_main_memory,
    require_loadable,
    require_usable_options,
)
from clinaudit.audit.runtime.model.files import ModelFiles, inspect_model
from clinaudit.audit.runtime.model.model_directory import TensorHeader
from clinaudit.errors import BadInputError, UsageError

GIB = 1 << 30


@pytest.fixture
def nine_billion():
    """Nine billion weights of half precision; 128 KiB of cache a token in float32."""
    return ModelFiles(
        directory=Path("nine"),
        safetensors=(),
        tokenizer=(),
        digest="",
        context_length=32768,
        vocab_size=100,
        tensors=(TensorHeader("BF16", 17_000_000_000), TensorHeader("BF16", 1_000_000_000)),
        quantization=None,
        stop_token_ids=frozenset(),
        kv_bytes_per_token=131072,
        ignored=(),
    )


@pytest.fixture
def free(monkeypatch):
    """Let a machine without GPUs have so much free memory, in GiB."""
    monkeypatch.setattr(memory, "count_gpus", lambda: 0)

    def have(gib):
        monkeypatch.setattr(memory, "free_main_memory", lambda: FreeMemory(int(gib * GIB), "memory"))

    return have


@pytest.mark.parametrize(
    ("gib", "engine", "max_batch", "said"),
    [
        # 36e9 bytes of weights and two requests of 2,048 x 128 KiB, and a tenth more.
        (24, "vllm", None, r"37\.4 GiB \(33\.5 of weights as float32, 0\.5 of cache for 2 prompts.* and 24\.0 GiB are"),
        (37.5, "vllm", None, None),
        (40, "transformers", None, r"16\.0 of cache for 64 prompts .*; --max-batch 11 would fit"),
        (40, "transformers", 11, None),
        (40, "transformers", 12, "does not fit"),
        (30, "transformers", 1, "a machine with more memory"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_with_numbers(nine_billion, free, gib, engine, max_batch, said):
    free(gib)
    with pytest.raises(BadInputError, match=said) if said else nullcontext():
        require_loadable(nine_billion, engine, context_length=2048, options=EngineOptions(max_batch))


def test_on_a_gpu_weights_and_cache_keep_their_type(nine_billion, monkeypatch):
    monkeypatch.setattr(memory, "count_gpus", lambda: 1)
    monkeypatch.setattr(memory, "free_memory", lambda _: FreeMemory(16 * GIB, "memory on 1 GPU"))
    with pytest.raises(BadInputError) as caught:
        require_loadable(nine_billion, "vllm", context_length=2048, options=EngineOptions())
    # 18e9 bytes and two requests of 2,048 x 64 KiB, and a tenth more.
    assert "memory on 1 GPU: it needs about 18.7 GiB (16.8 of weights in their own type, 0.2" in caught.value.message
    assert "--tensor-parallel" in caught.value.message


def test_a_containers_limit_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    for name, text in (
        ("memory.max", "1000"),
        ("memory.current", "700"),
        ("memory.stat", "anon 500\ninactive_file 150\n"),
    ):
        (tmp_path / name).write_text(text, encoding="ascii")
    assert free_main_memory() == FreeMemory(450, "memory")
    (tmp_path / "memory.max").write_text("max", encoding="ascii")
    assert free_main_memory().size > 450


@pytest.mark.parametrize("engine", ["vllm", "transformers"])
def test_quantized_weights_need_a_gpu(tmp_path, free, engine):
    save_llama(tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("{", '{"quantization_config": {"quant_method": "gptq", "bits": 4},', 1))
    files = inspect_model(tmp_path / "model")
    free(100)
    with pytest.raises(BadInputError, match=r"are quantized \(gptq\), which needs a GPU"):
        require_loadable(files, engine, context_length=9, options=EngineOptions())


@pytest.mark.parametrize(
    ("given", "engine", "is_cluster", "gpus", "match"),
    [
        (EngineOptions(max_batch=4), "openai", False, 0, "--max-batch does not go with a served MODEL"),
        (EngineOptions(gpu_memory=0.5), "transformers", False, 1, "--gpu-memory goes with --engine vllm only"),
        (EngineOptions(tensor_parallel=1), "vllm", False, 0, "needs 1 GPUs, and torch can use 0"),
        (EngineOptions(tensor_parallel=2), "vllm", False, 1, "needs 2 GPUs, and torch can use 1"),
        (EngineOptions(tensor_parallel=2), "vllm", True, 4, "--ray-address"),
    ],
)
def test_options_that_do_not_go_together(given, engine, is_cluster, gpus, match, monkeypatch):
    monkeypatch.setattr(memory, "count_gpus", lambda: gpus)
    with pytest.raises(UsageError, match=match):
        require_usable_options(given, engine, is_cluster=is_cluster)
    monkeypatch.setattr(memory, "count_gpus", lambda: 2)
    require_usable_options(EngineOptions(8, 2, 0.8), "vllm", is_cluster=False)
    require_usable_options(EngineOptions(max_batch=8), "transformers", is_cluster=True)


def test_a_base_without_an_adapter_is_a_wrong_command_line(tmp_path):
    save_llama(tmp_path / "model")
    model = tmp_path / "model"
    with pytest.raises(UsageError, match="this one holds none"):
        find_model(str(model), base_model=model)
    with pytest.raises(UsageError, match="--base-model"):
        find_model("openai:http://127.0.0.1:1#m", tokenizer=model, context_length=9, base_model=model)


@pytest.mark.parametrize(
    ("option", "environment", "size", "threads"),
    [(3, "2", 5 << 30, 3), (None, "2", 5 << 30, 2), (None, "", 540 << 20, 1), (None, "0", 1, 1), (None, "x,y", 1, 1)],
)
def test_threads_are_those_asked_for_and_one_for_a_small_model(monkeypatch, option, environment, size, threads):
    monkeypatch.setattr(audited_model, "_ASKED", environment)
    model = SimpleNamespace(tensors=[TensorHeader("BF16", size)])
    assert choose_threads(model, EngineOptions(threads=option)) == threads
