"""Transformers on real Llama models with random weights, some as sites have them: plain greedy decoding; refusals."""

import importlib.util
import json

import pytest
import torch
from support.models.tiny_models import ENGINE_CONTEXT, decode, make_model

from clinaudit.audit.runtime.model.audited_model import make_engine, resolve_engine
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.engines.repetition_guard import first_repeated_ngram
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.runtime.run.store import GenerationOutput
from clinaudit.errors import UsageError


@pytest.fixture
def network(model):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(model.directory, dtype=torch.float32).eval()


def plain_greedy(network, request, stop_token_ids):
    """No cache, no batch, no early end: the whole sequence through the model once a token; the guard cuts after.

    Returns the tokens, why they end, and the tokens before the first end that was barred.
    """
    ids, decoded, first_end = list(request.prompt_ids), [], None
    with torch.no_grad():
        while len(decoded) < request.max_new_tokens:
            logits = network(torch.tensor([ids])).logits[0, -1]
            if len(decoded) < request.min_new_tokens:
                if first_end is None and int(logits.argmax()) in stop_token_ids:
                    first_end = len(decoded)
                logits[[*stop_token_ids, *request.control_token_ids]] = -torch.inf
            token = int(logits.argmax())
            if token in stop_token_ids:
                break
            ids.append(token)
            decoded.append(token)
    start = first_repeated_ngram(decoded)
    if start is not None:
        return tuple(decoded[:start]), "repetition", first_end if (first_end or 0) <= start else None
    return tuple(decoded), "length" if len(decoded) == request.max_new_tokens else "stop", first_end


def test_all_three_ends_occur(outputs, requests):
    assert set(outputs) == {request.key for request in requests}
    assert {output.finish_reason for output in outputs.values()} == {"stop", "length", "repetition"}
    assert all(0 not in output.token_ids for output in outputs.values())
    assert all(first_repeated_ngram(output.token_ids) is None for output in outputs.values())
    assert all(output.text is None for output in outputs.values())


def test_equals_plain_greedy_decoding(network, requests, outputs):
    by_end = {outputs[request.key].finish_reason: request for request in requests}
    for request in [*by_end.values(), *requests[:2], *requests[-3:]]:
        output = outputs[request.key]
        stops = {0, *request.stop_token_ids}
        expected = plain_greedy(network, request, stops)
        assert (output.token_ids, output.finish_reason, output.first_end) == expected
    on = [outputs[request.key] for request in requests[:2]]
    assert all(output.first_end is not None and len(output.token_ids) >= 20 for output in on)
    assert outputs["own stop"].finish_reason == "stop"


def test_batch_of_one_equals_batch_of_many(model, requests, outputs):
    some = requests[::4]
    assert decode(model, some, batch_size=1) == {request.key: outputs[request.key] for request in some}
    assert decode(model, requests, batch_size=64) == outputs


def test_stop_ids_of_generation_config_end_too(tmp_path, requests, outputs):
    model = make_model(tmp_path / "model")
    victim = next(output for output in outputs.values() if len(output.token_ids) > 30)
    stop = victim.token_ids[10]
    (tmp_path / "model" / "generation_config.json").write_text(json.dumps({"eos_token_id": [0, stop]}))
    model = inspect_model(tmp_path / "model")
    request = next(request for request in requests if request.key == victim.key)
    output = decode(model, [request])[victim.key]
    assert output == GenerationOutput(victim.key, victim.token_ids[: victim.token_ids.index(stop)], "stop")


@pytest.mark.parametrize(
    ("prompt_tokens", "budget"), [(0, 5), (5, 0), (ENGINE_CONTEXT, 1), (ENGINE_CONTEXT + 1, 1), (ENGINE_CONTEXT - 5, 6)]
)
def test_what_does_not_fit_is_refused_not_cut(model, prompt_tokens, budget):
    request = GenerationRequest("k", (3,) * prompt_tokens, "", budget)
    engine = make_engine("transformers", model)
    with pytest.raises(ValueError, match="request 0"):
        list(engine.generate([request]))
    assert list(engine.generate([])) == []
    engine.close()


def test_resolve_engine(monkeypatch):
    installed = {"vllm"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name in installed else None)
    assert resolve_engine("auto") == "vllm"
    assert resolve_engine("vllm") == "vllm"
    assert resolve_engine("transformers") == "transformers"
    assert resolve_engine("auto", served=True) == resolve_engine("openai", served=True) == "openai"
    installed.clear()
    assert resolve_engine("auto") == "transformers"
    with pytest.raises(UsageError, match="not installed"):
        resolve_engine("vllm")
    with pytest.raises(UsageError, match="openai:BASE_URL"):
        resolve_engine("openai")
    with pytest.raises(UsageError, match="served"):
        resolve_engine("vllm", served=True)


def test_shards_decode_as_the_whole(room, site_requests):
    shards = inspect_model(room / "shards")
    assert len(shards.safetensors) > 3
    assert decode(shards, site_requests) == decode(inspect_model(room / "whole"), site_requests)


def test_half_precision_is_decoded_in_float32_with_its_own_numbers(room, site_requests):
    half = inspect_model(room / "half")
    assert {tensor.dtype for tensor in half.tensors} == {"BF16"}
    assert decode(half, site_requests) == decode(inspect_model(room / "rounded"), site_requests)
    engine = make_engine("transformers", half)
    assert engine.identity()["dtype"] == "float32" or torch.cuda.is_available()
    engine.close()
