"""Shards of a model with an adapter: each worker finds both, and prompts that are decoded alone are shards of one."""

import importlib.util
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.models.tiny_models import save_adapter, save_llama

from clinaudit.audit.measures.generation import decoding
from clinaudit.audit.measures.generation.decoding import decode_in_shards
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner
from clinaudit.audit.runtime.model.audited_model import AuditedModel, find_model
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.errors import BadInputError

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="peft makes the adapter: not installed"),
    pytest.mark.filterwarnings("ignore"),
]


class CountingRunner(LocalRunner):
    """Runs shards here, and keeps their sizes."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def map(
        self, function: Callable[..., Any], shared: Any, shards: Iterable[Any], *, cpus: int = 1, gpu: bool = False
    ) -> Iterator[tuple[int, Any]]:
        kept = list(shards)
        self.sizes = [len(shard) for shard in kept]
        return super().map(function, shared, kept, cpus=cpus, gpu=gpu)


@pytest.fixture
def model(tmp_path: Path) -> Iterator[AuditedModel]:
    save_llama(tmp_path / "base")
    save_adapter(tmp_path / "base", tmp_path / "adapter", r=4, target_modules=["q_proj", "v_proj"])
    yield find_model(
        str(tmp_path / "adapter"),
        engine="transformers",
        tokenizer=None,
        context_length=None,
        approved_hosts=(),
        base_model=tmp_path / "base",
        options=EngineOptions(max_batch=16),
    )
    # A worker keeps its model until it ends.
    decoding._load.cache_clear()


def test_workers_decode_the_adapter_as_this_process_does(model: AuditedModel, tmp_path: Path) -> None:
    rng = random.Random(2)
    requests = [GenerationRequest(f"k{i}", tuple(rng.randrange(1, 300) for _ in range(9)), "", 8) for i in range(70)]
    alone = [GenerationRequest(f"alone k{i}", requests[i].prompt_ids, "", 4) for i in range(3)]
    runner = CountingRunner()
    outputs = {
        output.key: output.token_ids
        for _, output in decode_in_shards(model, requests, alone, context_length=20, runner=runner)
    }
    assert runner.sizes == [64, 6, 1, 1, 1]
    engine = model.load(context_length=20)
    here = {output.key: output.token_ids for output in engine.generate(requests)}
    engine.close()
    assert {key: ids for key, ids in outputs.items() if key in here} == here
    assert [outputs[f"alone k{i}"] for i in range(3)] == [here[f"k{i}"][:4] for i in range(3)]

    decoding._load.cache_clear()
    (tmp_path / "adapter").rename(tmp_path / "elsewhere")
    with pytest.raises(BadInputError, match=r"no model at .*adapter; put it at the same path on every node"):
        list(decode_in_shards(model, requests[:1], [], context_length=20, runner=LocalRunner()))
