"""A model that does not fit into memory is refused before it is loaded, by hand-computed bytes."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from support.unlearning.evaluated_models import save_bench
from support.unlearning.shared_words import SharedWords

from clinaudit.audit.commands.main import run as command
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.engines import memory
from clinaudit.audit.runtime.model.engines.memory import FreeMemory, Shortage, float32_shortage
from clinaudit.audit.runtime.model.files import ModelFiles, inspect_model
from clinaudit.audit.runtime.model.model_directory import TensorHeader
from clinaudit.audit.unlearning.benchmark.files import read_bench
from clinaudit.audit.unlearning.evaluation.asked_model import AskedModel
from clinaudit.audit.unlearning.evaluation.given_models import GivenModel
from clinaudit.audit.unlearning.evaluation.stages import ModelStages, require_memory
from clinaudit.audit.unlearning.evaluation.trials import Setup, TrialOptions
from clinaudit.audit.unlearning.metrics.answer_scores import EntailmentByRules, Scorers
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.unlearning import EvaluatedModel

MIB = 1 << 20
GIB = 1 << 30


@pytest.fixture
def eight_billion() -> ModelFiles:
    """Eight billion weights of half precision; 128 KiB of cache a token in float32."""
    return ModelFiles(
        directory=Path("eight"),
        safetensors=(),
        tokenizer=(),
        digest="",
        context_length=8192,
        vocab_size=100,
        tensors=(TensorHeader("BF16", 16_000_000_000),),
        quantization=None,
        stop_token_ids=frozenset(),
        kv_bytes_per_token=131072,
        ignored=(),
    )


def save_headers(directory: Path) -> None:
    """Write what is read of a model before it is loaded."""
    directory.mkdir()
    config = {"model_type": "llama", "max_position_embeddings": 64, "vocab_size": 8}
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "tokenizer.json").write_text("{}")
    save_file({"weight": np.zeros((100, 10), dtype=np.float16)}, directory / "model.safetensors")


def test_relearning_takes_the_weights_of_a_model_five_times(eight_billion, monkeypatch) -> None:
    # 32 answers of 200 tokens of 128 KiB; a tenth more of all.
    cache = 32 * 200 * 131072
    asked, tried = ((copies * 32_000_000_000 + cache) * 11 // 10 for copies in (1, 5))
    have(monkeypatch, asked + MIB)
    require_memory(eight_billion, has_trials=False)
    with pytest.raises(BadInputError) as caught:
        require_memory(eight_billion, has_trials=True)
    assert "the model in eight does not fit into memory" in caught.value.message
    assert f"needs about {tried / GIB:.1f} GiB" in caught.value.message
    assert "164.8 GiB, 5 times its weights without --no-robustness, and" in caught.value.message
    have(monkeypatch, tried + MIB)
    require_memory(eight_billion, has_trials=True)
    have(monkeypatch, asked - MIB)
    with pytest.raises(BadInputError, match=r"GiB are free; take one with more memory$"):
        require_memory(eight_billion, has_trials=False)


def test_before_a_gpu_stands_the_memory_that_loads(eight_billion: ModelFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "count_gpus", lambda: 1)
    monkeypatch.setattr(memory, "free_memory", lambda _: FreeMemory(80 * GIB, "memory on 1 GPU"))
    sizes = {20: Shortage(35_200_000_000, FreeMemory(20 * GIB, "memory")), 40: None}
    for main, short in sizes.items():
        monkeypatch.setattr(memory, "free_main_memory", lambda main=main: FreeMemory(main * GIB, "memory"))
        assert float32_shortage(eight_billion, copies=1, rows=0, context_length=0) == short
    short = float32_shortage(eight_billion, copies=5, rows=0, context_length=0)
    assert short is not None
    assert (short.needed, short.free.what) == (176_000_000_000, "memory on 1 GPU")


def test_the_command_ends_with_status_3_and_leaves_nothing(tmp_path, monkeypatch, capsys) -> None:
    bench = save_bench(tmp_path)
    save_headers(tmp_path / "model")
    loaded: list[str] = []
    monkeypatch.setattr(AskedModel, "load", lambda name, _files: loaded.append(name))
    have(monkeypatch, 1000)
    out = tmp_path / "result"
    arguments = ["unlearn", "evaluate", str(tmp_path / "model"), "--bench", str(bench), "--split", "random:22"]
    assert command([*arguments, "--out", str(out), "--quiet"]) == 3
    error = capsys.readouterr().err
    assert error.startswith("error[BAD_INPUT]: the model in ")
    assert "does not fit into memory" in error
    assert len(error.splitlines()) == 1
    assert not out.exists()
    # One that is gone on with looks when it loads.
    files = inspect_model(tmp_path / "model")
    described = EvaluatedModel(name="model", kind="foreign", split=None, digest=files.digest)
    model = GivenModel(described=described, files=files)
    setup = Setup(
        bench=read_bench(bench),
        form="addressed",
        seed=0,
        scorers=Scorers(SharedWords(), EntailmentByRules()),
        trials=TrialOptions(),
        progress=Progress(quiet=True),
    )
    stages = ModelStages(model=model, setup=setup, pieces=tmp_path / "pieces", title="model 1 of 1")
    with pytest.raises(BadInputError, match="does not fit into memory"):
        _ = stages.asked
    assert loaded == []


def have(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Let a machine have so much free memory, in bytes, and so many GPUs with as much."""
    monkeypatch.setattr(memory, "count_gpus", lambda: 0)
    monkeypatch.setattr(memory, "free_main_memory", lambda: FreeMemory(size, "memory"))
    monkeypatch.setattr(memory, "free_memory", lambda _: FreeMemory(size, "memory on 1 GPU"))
