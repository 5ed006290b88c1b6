"""Models as sites have them, in shards, of half precision or with an adapter, decode as the whole, plain model does."""

import importlib.util
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support.models.tiny_models import CONTEXT, peft_merged, save_adapter, save_llama

from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationOutput, GenerationRequest
from clinaudit.audit.runtime.model.files import ModelFiles, inspect_adapted, inspect_model

#: peft warns of settings that do not matter here.
pytestmark = pytest.mark.filterwarnings("ignore")
needs_peft = pytest.mark.skipif(
    importlib.util.find_spec("peft") is None, reason="peft makes the adapters: not installed"
)
BUDGET = 60
#: Decodes with vLLM, in a process of its own: it changes torch, signal handlers and the environment.
RUN_VLLM = """
import json, os, sys, tempfile
from pathlib import Path
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.files import inspect_adapted, inspect_model

job = json.load(sys.stdin)
results = []
for place, adapter in job["models"]:
    files = inspect_adapted(Path(adapter), base=Path(place)) if adapter else inspect_model(Path(place))
    engine = make_engine("vllm", files)
    requests = [GenerationRequest(key, tuple(ids), "", budget) for key, ids, budget in job["requests"]]
    results.append([[output.key, output.token_ids, output.finish_reason] for output in engine.generate(requests)])
    engine.close()
print(json.dumps({"results": results, "left": os.listdir(tempfile.gettempdir())}))
"""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One model: whole, in shards, and of half precision (with the same numbers as float32, too)."""
    room = tmp_path_factory.mktemp("models")
    model = save_llama(room / "whole")
    save_llama(room / "shards", max_shard_size="40KB")
    model.to(torch.bfloat16).save_pretrained(room / "half")
    model.to(torch.float32).save_pretrained(room / "rounded")
    for name in ("half", "rounded"):
        for file in (room / "whole").glob("tokenizer*"):
            shutil.copy(file, room / name)
    return room


@pytest.fixture(scope="module")
def adapted(room: Path) -> Path:
    """The same with an adapter, and as peft merges it."""
    save_adapter(room / "whole", room / "adapter", r=4, target_modules=["q_proj", "v_proj", "up_proj"])
    peft_merged(room / "whole", room / "adapter", dtype=torch.float32).save_pretrained(room / "merged")
    for file in (room / "whole").glob("tokenizer*"):
        shutil.copy(file, room / "merged")
    return room


@pytest.fixture(scope="module")
def requests() -> list[GenerationRequest]:
    rng = random.Random(3)
    return [
        GenerationRequest(f"k{i}", tuple(rng.randrange(1, 300) for _ in range(rng.randrange(2, 90))), "", BUDGET)
        for i in range(12)
    ]


def decode(files: ModelFiles, requests: list[GenerationRequest]) -> dict[str, GenerationOutput]:
    engine = make_engine("transformers", files, threads=1)
    outputs = {output.key: output for output in engine.generate(requests)}
    engine.close()
    return outputs


def test_shards_decode_as_the_whole(room: Path, requests: list[GenerationRequest]) -> None:
    shards = inspect_model(room / "shards")
    assert len(shards.safetensors) > 3
    assert decode(shards, requests) == decode(inspect_model(room / "whole"), requests)


def test_half_precision_is_decoded_in_float32_with_its_own_numbers(
    room: Path, requests: list[GenerationRequest]
) -> None:
    half = inspect_model(room / "half")
    assert {tensor.dtype for tensor in half.tensors} == {"BF16"}
    outputs = decode(half, requests)
    assert outputs == decode(inspect_model(room / "rounded"), requests)
    engine = make_engine("transformers", half)
    assert engine.identity()["dtype"] == "float32" or torch.cuda.is_available()
    engine.close()


@needs_peft
def test_an_adapter_decodes_as_the_merged_model(adapted: Path, requests: list[GenerationRequest]) -> None:
    outputs = decode(inspect_adapted(adapted / "adapter", base=adapted / "whole"), requests)
    assert outputs == decode(inspect_model(adapted / "merged"), requests)
    assert outputs != decode(inspect_model(adapted / "whole"), requests)


@pytest.mark.slow
@needs_peft
@pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None, reason="vLLM is not installed: its adapters are not checked"
)
def test_vllm_decodes_an_adapter_shards_and_half_precision_as_transformers(
    adapted: Path, requests: list[GenerationRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    models = [("whole", "adapter"), ("shards", None), ("half", None)]
    job = {
        "models": [[str(adapted / place), str(adapted / own) if own else None] for place, own in models],
        "requests": [[request.key, request.prompt_ids, request.max_new_tokens] for request in requests],
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN_VLLM], input=json.dumps(job), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    by_vllm = [
        {key: GenerationOutput(key, tuple(ids), finish) for key, ids, finish in result} for result in said["results"]
    ]
    plain = [decode(inspect_model(adapted / name), requests) for name in ("merged", "shards", "rounded")]
    assert by_vllm == plain
    # The merged model is gone once it is loaded.
    assert [name for name in said["left"] if "merged" in name] == []


def test_batches_of_any_size_give_the_same(room: Path, requests: list[GenerationRequest]) -> None:
    files = inspect_model(room / "whole")
    whole = decode(files, requests)
    for size in (1, 5):
        engine = make_engine("transformers", files, threads=1, options=EngineOptions(max_batch=size))
        assert {output.key: output for output in engine.generate(requests)} == whole
        # No result depends on it here, so that a resumed run may change it.
        assert "batch_size" not in engine.identity() or torch.cuda.is_available()
        engine.close()
    assert max(len(request.prompt_ids) for request in requests) + BUDGET <= CONTEXT
