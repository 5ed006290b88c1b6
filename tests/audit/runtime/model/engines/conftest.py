"""Real Llama models with random weights, one as sites have them, prompts, and what transformers decodes of them."""

import importlib.util
import random
import shutil

import pytest
import torch
from support.models import tiny_models

from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest


@pytest.fixture(autouse=True)
def one_thread():
    """So small an operation takes longer on two."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return tiny_models.make_model(tmp_path_factory.mktemp("engines") / "model")


@pytest.fixture(scope="session")
def requests(model):
    """Two dozen prompts of 1 to 120 tokens: one has stop ids of its own, one fills the context but for a token.

    Four go on beyond an early end: every third token ends or is a control token, and is barred for 30 tokens.
    """
    rng = random.Random(1)

    def prompt(length):
        return tuple(rng.randrange(1, model.vocab_size) for _ in range(length))

    every = frozenset(range(0, model.vocab_size, 3))
    on = {"stop_token_ids": every, "control_token_ids": frozenset({7, 8}), "min_new_tokens": 30}

    return [
        *(GenerationRequest(f"on {i}", prompt(20 + i), "", tiny_models.BUDGET, **on) for i in range(4)),
        *(GenerationRequest(f"k{i}", prompt(rng.randrange(1, 121)), "", tiny_models.BUDGET) for i in range(22)),
        GenerationRequest(
            "own stop", prompt(9), "", tiny_models.BUDGET, stop_token_ids=frozenset(range(0, model.vocab_size, 2))
        ),
        GenerationRequest("one token", prompt(5), "", 1),
        GenerationRequest("full", prompt(tiny_models.ENGINE_CONTEXT - 1), "", 1),
    ]


@pytest.fixture(scope="session")
def outputs(model, requests):
    return tiny_models.decode(model, requests)


@pytest.fixture(scope="session")
def room(tmp_path_factory):
    """One model: whole, in shards, and of half precision in shards (with the same numbers as float32, too)."""
    room = tmp_path_factory.mktemp("models")
    model = tiny_models.save_llama(room / "whole")
    tiny_models.save_llama(room / "shards", max_shard_size="40KB")
    model.to(torch.bfloat16).save_pretrained(room / "half", max_shard_size="20KB")
    model.to(torch.float32).save_pretrained(room / "rounded")
    for name in ("half", "rounded"):
        for file in (room / "whole").glob("tokenizer*"):
            shutil.copy(file, room / name)
    return room


@pytest.fixture(scope="session")
def adapted(room):
    """The same with an adapter, and as peft merges it."""
    if importlib.util.find_spec("peft") is None:
        pytest.skip("peft makes the adapters: not installed")
    tiny_models.save_adapter(room / "whole", room / "adapter", r=4, target_modules=["q_proj", "v_proj", "up_proj"])
    tiny_models.peft_merged(room / "whole", room / "adapter", dtype=torch.float32).save_pretrained(room / "merged")
    for file in (room / "whole").glob("tokenizer*"):
        shutil.copy(file, room / "merged")
    return room


@pytest.fixture(scope="session")
def site_requests():
    rng = random.Random(3)
    return [
        GenerationRequest(
            f"k{i}", tuple(rng.randrange(1, 300) for _ in range(rng.randrange(2, 90))), "", tiny_models.SITE_BUDGET
        )
        for i in range(12)
    ]
