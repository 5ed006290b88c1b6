"""The local engines on a real Llama model with random weights: vLLM and transformers must agree token for token.

vLLM runs in a process of its own: it changes torch, signal handlers and the environment of the one it is in.
"""

import dataclasses
import importlib.util
import json
import random
import subprocess
import sys

import pytest

from clinaudit.audit.runtime.model.audited_model import make_engine, resolve_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import (
    GenerationOutput,
    GenerationRequest,
    first_repeated_ngram,
    require_fitting,
)
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.errors import BadInputError, UsageError

CONTEXT, BUDGET = 384, 200

needs_vllm = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None,
    reason="vLLM is not installed: its equality with transformers is not checked here",
)

#: Reads turns from stdin, decodes the requests of each with an engine of vLLM's, prints what came out as JSON.
RUN_VLLM = """
import dataclasses, json, sys, torch
from pathlib import Path
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.errors import ClinauditError

job = json.load(sys.stdin)
torch.ones(300, 300) @ torch.ones(300, 300)
results = []
for turn in job["turns"]:
    try:
        model = inspect_model(Path(turn["model"] or job["model"]))
        if turn["ignore_stop_ids"]:
            model = dataclasses.replace(model, stop_token_ids=frozenset())
        engine = make_engine("vllm", model, options=EngineOptions(turn["batch_size"]))
    except ClinauditError as error:
        results.append({"error": error.render(), "status": error.status})
        continue
    requests = [
        GenerationRequest(key, tuple(ids), "", *rest, stop_token_ids=frozenset(stops))
        for key, ids, *rest, stops in turn["requests"]
    ]
    if turn["abandon"]:
        stream = engine.generate(requests)
        next(stream)
        stream.close()
    outputs = [(output.key, output.token_ids, output.finish_reason) for output in engine.generate(requests)]
    results.append({"outputs": outputs, "identity": engine.identity(), "empty": list(engine.generate([]))})
    engine.close()
print(json.dumps(results))
"""


def make_model(directory, *, wide=64, heads=2, layers=2, spread=0.1):
    """Save a Llama model with seeded random weights and its byte-level BPE tokenizer.

    `spread` (of the weights) decides how generations end: at 0.1 some stop, some repeat, some use up their budget.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    sentences = ["The patient is a woman of 41 years.", "Chief complaint: cough since Monday.", "No medication."]
    bytes_first = pre_tokenizers.ByteLevel.alphabet()
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(
        sentences,
        trainers.BpeTrainer(
            vocab_size=400, special_tokens=["<|end|>"], initial_alphabet=bytes_first, show_progress=False
        ),
    )
    PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|end|>").save_pretrained(directory)
    config = LlamaConfig(
        vocab_size=bpe.get_vocab_size(),
        hidden_size=wide,
        intermediate_size=2 * wide,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=CONTEXT,
        initializer_range=spread,
        eos_token_id=0,
        bos_token_id=None,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        LlamaForCausalLM(config).save_pretrained(directory)
    return inspect_model(directory)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("engines") / "model")


@pytest.fixture(scope="module")
def requests(model):
    """Two dozen prompts of 1 to 120 tokens: one has stop ids of its own, one fills the context but for a token."""
    rng = random.Random(1)

    def prompt(length):
        return tuple(rng.randrange(1, model.vocab_size) for _ in range(length))

    return [
        *(GenerationRequest(f"k{i}", prompt(rng.randrange(1, 121)), "", BUDGET) for i in range(22)),
        GenerationRequest("own stop", prompt(9), "", BUDGET, stop_token_ids=frozenset(range(0, model.vocab_size, 2))),
        GenerationRequest("one token", prompt(5), "", 1),
        GenerationRequest("full", prompt(CONTEXT - 1), "", 1),
    ]


def decode(model, requests, *, batch_size=16, threads=1):
    engine = make_engine("transformers", model, options=EngineOptions(batch_size), threads=threads)
    try:
        return {output.key: output for output in engine.generate(requests)}
    finally:
        engine.close()


@pytest.fixture(scope="module")
def outputs(model, requests):
    return decode(model, requests)


@pytest.fixture
def network(model):
    """The model on one thread: so small an operation takes longer on two."""
    import torch
    from transformers import AutoModelForCausalLM

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield AutoModelForCausalLM.from_pretrained(model.directory, dtype=torch.float32).eval()
    torch.set_num_threads(threads)


def plain_greedy(network, request, stop_token_ids):
    """No cache, no batch, no early end: the whole sequence through the model once a token; the guard cuts after."""
    import torch

    ids, decoded = list(request.prompt_ids), []
    with torch.no_grad():
        while len(decoded) < request.max_new_tokens:
            token = int(network(torch.tensor([ids])).logits[0, -1].argmax())
            if token in stop_token_ids:
                break
            ids.append(token)
            decoded.append(token)
    start = first_repeated_ngram(decoded)
    if start is not None:
        return tuple(decoded[:start]), "repetition"
    return tuple(decoded), "length" if len(decoded) == request.max_new_tokens else "stop"


def test_all_three_ends_occur(outputs, requests):
    assert set(outputs) == {request.key for request in requests}
    assert {output.finish_reason for output in outputs.values()} == {"stop", "length", "repetition"}
    assert all(0 not in output.token_ids for output in outputs.values())
    assert all(first_repeated_ngram(output.token_ids) is None for output in outputs.values())
    assert all(output.text is None for output in outputs.values())


def test_equals_plain_greedy_decoding(network, requests, outputs):
    by_end = {outputs[request.key].finish_reason: request for request in requests}
    for request in [*by_end.values(), *requests[-3:]]:
        output = outputs[request.key]
        stops = {0, *request.stop_token_ids}
        assert (output.token_ids, output.finish_reason) == plain_greedy(network, request, stops)
    assert outputs["own stop"].finish_reason == "stop"


@pytest.fixture(scope="module")
def partly_guarded(requests):
    """The same requests, every third of which the guard leaves alone."""
    return [dataclasses.replace(request, guarded=place % 3 > 0) for place, request in enumerate(requests)]


def check_partly_guarded(partly_guarded, decoded, outputs):
    """What is not guarded goes on; cut afterwards, it is what the guard leaves. The others are as ever."""
    longer = 0
    for request in partly_guarded:
        whole, guarded = decoded[request.key], outputs[request.key]
        if request.guarded:
            assert whole == guarded
            continue
        assert whole.finish_reason in ("stop", "length")
        if whole.finish_reason == "length":
            assert len(whole.token_ids) == request.max_new_tokens
        start = first_repeated_ngram(whole.token_ids)
        assert whole.token_ids[:start] == guarded.token_ids
        assert (guarded.finish_reason == "repetition") == (start is not None)
        longer += start is not None
    assert longer > 1


def test_what_is_not_guarded_goes_on_and_its_cut_is_the_guards(model, partly_guarded, outputs):
    for batch_size in (16, 1):
        decoded = decode(model, partly_guarded, batch_size=batch_size)
        assert decoded.keys() == outputs.keys()
        check_partly_guarded(partly_guarded, decoded, outputs)


def test_budgets_are_kept(outputs, requests):
    for request in requests:
        output = outputs[request.key]
        assert len(output.token_ids) <= request.max_new_tokens
        if output.finish_reason == "length":
            assert len(output.token_ids) == request.max_new_tokens
    assert len(outputs["full"].token_ids) == 1


def test_batch_of_one_equals_batch_of_many(model, requests, outputs):
    some = requests[::4]
    assert decode(model, some, batch_size=1) == {request.key: outputs[request.key] for request in some}
    assert decode(model, requests, batch_size=64) == outputs


def test_a_rest_decodes_as_in_the_whole(model, requests, outputs):
    """What a killed and resumed run does: other batches, the same tokens."""
    rest = requests[7:23]
    assert decode(model, rest) == {request.key: outputs[request.key] for request in rest}


def test_finished_rows_are_yielded_before_the_batch_is_done(model, requests, outputs):
    engine = make_engine("transformers", model)
    first = next(engine.generate(requests))
    engine.close()
    assert len(first.token_ids) <= min(len(output.token_ids) for output in outputs.values()) + 1


def test_stop_ids_of_generation_config_end_too(tmp_path, requests, outputs):
    model = make_model(tmp_path / "model")
    victim = next(output for output in outputs.values() if len(output.token_ids) > 30)
    stop = victim.token_ids[10]
    (tmp_path / "model" / "generation_config.json").write_text(json.dumps({"eos_token_id": [0, stop]}))
    model = inspect_model(tmp_path / "model")
    request = next(request for request in requests if request.key == victim.key)
    output = decode(model, [request])[victim.key]
    assert output == GenerationOutput(victim.key, victim.token_ids[: victim.token_ids.index(stop)], "stop")


def test_threads_are_given_back(model, requests):
    import torch

    before = torch.get_num_threads()
    decode(model, requests[:1], threads=before + 1)
    assert torch.get_num_threads() == before


def test_identity(model):
    engine = make_engine("transformers", model, threads=1)
    identity = engine.identity()
    engine.close()
    assert identity["engine"] == "transformers"
    assert (identity["device"], identity["dtype"]) in {("cpu", "float32")} or identity["device"] != "cpu"
    assert identity["threads"] == "1"


@pytest.mark.parametrize(
    ("prompt_tokens", "budget"), [(0, 5), (5, 0), (CONTEXT, 1), (CONTEXT + 1, 1), (CONTEXT - 5, 6)]
)
def test_what_does_not_fit_is_refused_not_cut(model, prompt_tokens, budget):
    request = GenerationRequest("k", (3,) * prompt_tokens, "", budget)
    engine = make_engine("transformers", model)
    with pytest.raises(ValueError, match="request 0"):
        list(engine.generate([request]))
    assert list(engine.generate([])) == []
    engine.close()


def test_one_key_twice_is_refused():
    request = GenerationRequest("k", (3,), "", 1)
    with pytest.raises(ValueError, match="one key"):
        require_fitting([request, request], context_length=9)


def test_a_model_that_transformers_cannot_load(model, tmp_path):
    broken = tmp_path / "model"
    broken.mkdir()
    for file in (*model.safetensors, *model.tokenizer):
        (broken / file.name).write_bytes(file.read_bytes())
    config = json.loads(model.config.read_text())
    (broken / "config.json").write_text(json.dumps({**config, "model_type": "no-such-architecture"}))
    with pytest.raises(BadInputError, match="cannot load the model"):
        make_engine("transformers", inspect_model(broken))


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


def turn(requests, *, batch_size=64, abandon=False, ignore_stop_ids=False, model=None):
    """What an engine of its own does in the process of `run_vllm`; with another model, where one is given."""
    rows = [(one.key, one.prompt_ids, one.max_new_tokens, one.guarded, sorted(one.stop_token_ids)) for one in requests]
    settings = {"batch_size": batch_size, "abandon": abandon, "ignore_stop_ids": ignore_stop_ids}
    return {**settings, "requests": rows, "model": model and str(model.directory)}


def whatever_the_batch(requests):
    return [turn(requests, batch_size=size, abandon=True) for size in (64, 1)]


def run_vllm(model, *turns):
    """Return what `RUN_VLLM` printed, having checked that it printed nothing else."""
    job = {"model": str(model.directory), "turns": turns}
    done = subprocess.run(
        [sys.executable, "-c", RUN_VLLM], input=json.dumps(job), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def from_vllm(model, requests, partly_guarded, tmp_path_factory):
    """All requests in one batch, all one by one, some that no id stops, all partly guarded; and a model that is unfit.

    In one process: a start is slow. Torch is imported first, which is the harder order: an audit imports vLLM first.
    """
    unfit = make_model(tmp_path_factory.mktemp("unfit") / "model", heads=4)
    turns = [*whatever_the_batch(requests), turn(requests[::4], ignore_stop_ids=True), turn(partly_guarded)]
    return run_vllm(model, *turns, turn([], model=unfit))


@pytest.mark.slow
@needs_vllm
def test_vllm_equals_transformers_whatever_the_batch(model, requests, outputs, from_vllm):
    for result in from_vllm[:2]:
        decoded = {key: GenerationOutput(key, tuple(ids), finish) for key, ids, finish in result["outputs"]}
        assert decoded == outputs
        assert result["empty"] == []
        assert result["identity"]["engine"] == "vllm"
        assert result["identity"]["dtype"] == "float32"
        assert result["identity"]["threads"] == "1"


@pytest.mark.slow
@needs_vllm
def test_vllm_leaves_alone_what_is_not_guarded(partly_guarded, outputs, from_vllm):
    decoded = {key: GenerationOutput(key, tuple(ids), finish) for key, ids, finish in from_vllm[3]["outputs"]}
    assert decoded.keys() == outputs.keys()
    check_partly_guarded(partly_guarded, decoded, outputs)


@pytest.mark.slow
@needs_vllm
def test_a_model_that_vllm_cannot_load(from_vllm):
    """A head size its CPU kernels do not hold shows only at the first token, and must still be a load error."""
    result = from_vllm[4]
    assert result["status"] == 3
    assert result["error"].startswith("error[BAD_INPUT]: vLLM cannot load the model")
    assert "--engine transformers" in result["error"]
    assert "\n" not in result["error"]


@pytest.mark.slow
@needs_vllm
def test_only_our_stop_ids_end_a_generation_in_vllm(model, requests, from_vllm):
    """vLLM finds the model's end of sequence by itself; which ids end one is for `ModelFiles` to say, alike for all."""
    never = dataclasses.replace(model, stop_token_ids=frozenset())
    result = from_vllm[2]
    decoded = {key: GenerationOutput(key, tuple(ids), finish) for key, ids, finish in result["outputs"]}
    assert decoded == decode(never, requests[::4])
    assert all(finish != "stop" for _, _, finish in result["outputs"])
