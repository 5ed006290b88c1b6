"""vLLM on a real Llama model with random weights, and on models as sites have them: token for token as transformers.

Scores of texts as transformers', within the stated tolerance; samples by seed.

It runs in a process of its own: it changes torch, signal handlers and the environment of the one it is in.
"""

import dataclasses
import importlib.util
import os
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chisquare
from support.models.score_twin import TOLERANCE, by_key, largest_difference, texts_to_score
from support.models.tiny_models import ENGINE_CONTEXT, decode, make_model
from support.runs.tiny_demo import STORED

from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.files import inspect_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        importlib.util.find_spec("vllm") is None,
        reason="vLLM is not installed: its equality with transformers is not checked here",
    ),
]

#: Before the key of a request that is drawn; and how often one token is.
SAMPLE, ONCE = "sample ", 400
#: Of the tokens that many requests bar.
MOST_BARRED = 30
#: In no vocabulary.
OUTSIDE = 7_654_321
#: Reads turns from stdin, decodes the requests of each with an engine of vLLM's, and writes what came out to a file.
RUN_VLLM = """
import os, pickle, sys, tempfile, torch
from pathlib import Path
from clinaudit.audit.runtime.model.engines import vllm_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import ScoreRequest
from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.files import inspect_adapted, inspect_model
from clinaudit.errors import ClinauditError

turns, as_if_on_gpu = pickle.load(sys.stdin.buffer)
torch.ones(300, 300) @ torch.ones(300, 300)
results = []
for turn in turns:
    try:
        model = inspect_adapted(turn.adapter, base=turn.model) if turn.adapter else inspect_model(turn.model)
        engine = make_engine("vllm", model, options=EngineOptions(turn.batch_size))
    except ClinauditError as error:
        results.append({"error": error.render(), "status": error.status})
        continue
    if turn.abandon:
        for stream in (engine.generate(turn.requests), engine.score(turn.texts)):
            next(stream)
            stream.close()
    refused = []
    for ids in turn.refused:
        try:
            list(engine.score([ScoreRequest("bad", ids, 1), *turn.texts]))
        except ClinauditError as error:
            refused.append(error.render())
    results.append({"scores": list(engine.score(turn.texts)), "outputs": list(engine.generate(turn.requests)),
        "identity": engine.identity(), "empty": list(engine.generate([])), "refused": refused})
    if turn.controls:
        results[-1]["all at once"] = list(engine.generate(turn.controls))
        usual, engine._is_cpu, vllm_engine._MOST_BARRED = vllm_engine._MOST_BARRED, False, turn.most_barred
        results[-1]["few"] = list(engine.generate(turn.controls))
        vllm_engine._MOST_BARRED = usual
    if turn.unended:
        engine._stop_token_ids = frozenset()
        results[-1]["unended"] = list(engine.generate(turn.unended))
    engine.close()

from vllm.platforms import current_platform
from vllm.v1.engine.llm_engine import LLMEngine

asked = []
def only_ask(arguments):
    asked.append(arguments.dtype)
    raise ValueError("there is no GPU here")
current_platform.is_cpu, LLMEngine.from_engine_args = lambda: False, only_ask
for place in as_if_on_gpu:
    try:
        make_engine("vllm", inspect_model(place))
    except ClinauditError:
        pass
said = {"results": results, "left": os.listdir(tempfile.gettempdir()), "asked": asked,
    "products": os.environ["TRITON_F32_DEFAULT"]}
Path(sys.argv[1]).write_bytes(pickle.dumps(said))
"""


def turn(requests, directory, **given):
    """What an engine of its own does in the process that runs vLLM."""
    usual = {"texts": [], "refused": [], "adapter": None, "batch_size": 64}
    usual |= {"abandon": False, "unended": [], "controls": [], "most_barred": MOST_BARRED}
    return SimpleNamespace(requests=list(requests), model=directory, **usual | given)


@pytest.fixture(scope="module")
def samples(requests):
    """Two prompts to their budgets, twice with one seed and once with another; and the next token of one often."""
    long = [one for one in requests if one.max_new_tokens > 1][:2]
    drawn = [
        dataclasses.replace(one, key=f"{SAMPLE}{place} {name}", temperature=1.3, seed=seed)
        for place, one in enumerate(long)
        for name, seed in (("a", 8), ("again", 8), ("other", 9))
    ]
    once = [
        GenerationRequest(f"{SAMPLE}once {seed}", long[0].prompt_ids, "", 1, temperature=0.8, seed=seed)
        for seed in range(ONCE)
    ]
    return [*drawn, *once]


@pytest.fixture(scope="module")
def many_controls(model, requests):
    """Some that go on, beside more control tokens than vLLM bars at once on a GPU; greedy, and drawn."""
    control = frozenset(range(1, model.vocab_size, 3))
    on = [
        dataclasses.replace(one, key=f"many {one.key}", stop_token_ids=frozenset({3}), control_token_ids=control)
        for one in requests[:4]
    ]
    drawn = [dataclasses.replace(one, key=f"{SAMPLE}{one.key}", temperature=1.0, seed=5) for one in on]
    return [*on, *drawn]


@pytest.fixture(scope="module")
def texts(model):
    return texts_to_score(model.vocab_size, ENGINE_CONTEXT)


def texts_of_the_demo():
    files = inspect_model(STORED)
    return texts_to_score(files.vocab_size, files.context_length, count=6)


@pytest.fixture(scope="module")
def said(model, requests, many_controls, adapted, site_requests, samples, texts, tmp_path_factory):
    """What one process says of all turns: a start of vLLM is slow, and so is that of each engine.

    Torch is imported first, which is the harder order: an audit imports vLLM first.
    """
    room, answers = tmp_path_factory.mktemp("vllm"), tmp_path_factory.mktemp("answers") / "answers"
    unfit = make_model(room / "unfit", heads=4)
    turns = [
        turn(
            [*requests, *samples],
            model.directory,
            texts=texts,
            abandon=True,
            controls=many_controls,
            unended=requests[::4],
        ),
        turn(
            [*requests[::4], *requests[-3:-1], *samples[:6]],
            model.directory,
            texts=texts[::-1],
            batch_size=1,
            abandon=True,
        ),
        turn([], unfit.directory),
        turn(site_requests, adapted / "whole", adapter=adapted / "adapter"),
        turn(site_requests, adapted / "half"),
        turn([], STORED, texts=texts_of_the_demo(), refused=[(5, OUTSIDE), (OUTSIDE, 5, 6)]),
    ]
    done = subprocess.run(
        [sys.executable, "-c", RUN_VLLM, answers],
        input=pickle.dumps([turns, [adapted / name for name in ("whole", "half")]]),
        env={**os.environ, "TMPDIR": str(room)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Nothing is printed.
    assert (done.stdout, done.stderr) == (b"", b"")
    return pickle.loads(answers.read_bytes())


def outputs_of(result, which="outputs"):
    return {one.key: one for one in result[which] if not one.key.startswith(SAMPLE)}


def test_every_control_token_is_barred_also_where_vllm_bars_a_few_at_once(model, many_controls, said):
    first = said["results"][0]
    assert sorted(first["few"], key=repr) == sorted(first["all at once"], key=repr)
    greedy = [one for one in many_controls if not one.temperature]
    assert outputs_of(first, "few") == decode(model, greedy)
    for one in first["few"]:
        assert len(one.token_ids) >= 20
        assert not set(one.token_ids[:30]) & many_controls[0].control_token_ids


def scores_by_transformers(files, texts):
    engine = make_engine("transformers", files, options=EngineOptions(threads=1))
    scores = by_key(list(engine.score(texts)))
    engine.close()
    return scores


def test_scores_are_those_of_transformers_whatever_the_batch(model, texts, said):
    """One fills the context; some are scored from the middle on; one has two tokens."""
    expected = scores_by_transformers(model, texts)
    many, one_by_one = (by_key(result["scores"]) for result in said["results"][:2])
    assert largest_difference(many, expected) < TOLERANCE
    assert largest_difference(one_by_one, expected) < TOLERANCE
    trained = by_key(said["results"][-1]["scores"])
    assert largest_difference(trained, scores_by_transformers(inspect_model(STORED), texts_of_the_demo())) < TOLERANCE


def test_what_it_refuses_to_score_is_incomplete_and_quotes_no_token(said):
    """Its message holds the ids; what follows is scored as ever."""
    refused = said["results"][-1]["refused"]
    assert len(refused) == 2
    assert all("vLLM stopped with" in error and str(OUTSIDE) not in error for error in refused)


def test_samples_depend_on_their_seeds_alone(samples, said):
    many, one_by_one = (
        {one.key: (one.token_ids, one.finish_reason) for one in result["outputs"] if one.key.startswith(SAMPLE)}
        for result in said["results"][:2]
    )
    assert len(many) == 6 + ONCE
    assert one_by_one == {one.key: many[one.key] for one in samples[:6]}
    for place in "01":
        assert many[f"{SAMPLE}{place} a"] == many[f"{SAMPLE}{place} again"] != many[f"{SAMPLE}{place} other"]


def test_a_sampled_token_is_drawn_from_the_whole_distribution(model, samples, said):
    import torch
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(model.directory, dtype=torch.float32).eval()
    with torch.no_grad():
        logits = network(torch.tensor([samples[-1].prompt_ids])).logits[0, -1].double() / 0.8
    p = logits.softmax(dim=-1).numpy()
    # The end of sequence leaves no token, and is drawn as any other.
    once = [one.token_ids for one in said["results"][0]["outputs"] if one.key.startswith(f"{SAMPLE}once")]
    tokens = [ids[0] if ids else 0 for ids in once]
    counts = np.bincount(tokens, minlength=len(p))
    # Together what is rare: each class is expected five times and more.
    order = np.argsort(p)
    groups = np.minimum(np.cumsum(p[order]) * ONCE // 8, 30).astype(int)
    observed, expected = (np.bincount(groups, weights=values[order], minlength=1) for values in (counts, p * ONCE))
    kept = expected > 0
    assert chisquare(observed[kept], expected[kept]).pvalue > 0.01


def test_it_equals_transformers_whatever_the_batch(outputs, said):
    many, one_by_one = map(outputs_of, said["results"][:2])
    assert many == outputs
    assert len(one_by_one) > 7
    assert one_by_one == {key: outputs[key] for key in one_by_one}
    for result in said["results"][:2]:
        assert result["empty"] == []
        assert result["identity"]["engine"] == "vllm"
        assert result["identity"]["dtype"] == "float32"
        assert result["identity"]["threads"] == "1"


def test_only_our_stop_ids_end_a_generation(model, requests, said):
    """vLLM finds the model's end of sequence by itself; which ids end one is for `ModelFiles` to say, alike for all."""
    never = dataclasses.replace(model, stop_token_ids=frozenset())
    decoded = outputs_of(said["results"][0], "unended")
    assert decoded == decode(never, requests[::4])
    # Those that have stop ids of their own aside.
    plain = [one.key for one in requests[::4] if not one.stop_token_ids]
    assert len(plain) > 4
    assert all(decoded[key].finish_reason != "stop" for key in plain)


def test_a_model_that_it_cannot_load(said):
    """A head size its CPU kernels do not hold shows only at the first token, and must still be a load error."""
    result = said["results"][2]
    assert result["status"] == 3
    assert result["error"].startswith("error[BAD_INPUT]: vLLM cannot load the model")
    assert "--engine transformers" in result["error"]
    assert "\n" not in result["error"]


def test_an_adapter_and_half_precision_in_shards_decode_as_the_whole_model(adapted, site_requests, said):
    plain = [decode(inspect_model(adapted / name), site_requests) for name in ("merged", "rounded")]
    assert list(map(outputs_of, said["results"][3:5])) == plain
    assert len(inspect_model(adapted / "half").safetensors) > 3
    # The merged model is gone once it is loaded.
    assert [name for name in said["left"] if "merged" in name] == []


def test_on_a_gpu_float32_stays_float32(said):
    """Left to itself vLLM would take bfloat16 for it, and Triton TF32 for its products."""
    assert said["asked"] == ["float32", "auto"]
    assert said["products"] == "ieee"
