"""vLLM on a real Llama model with random weights, and on models as sites have them: token for token as transformers.

It runs in a process of its own: it changes torch, signal handlers and the environment of the one it is in.
"""

import dataclasses
import importlib.util
import json
import os
import subprocess
import sys

import pytest
from support.models.tiny_models import check_partly_guarded, decode, make_model

from clinaudit.audit.runtime.model.engines.protocol import GenerationOutput
from clinaudit.audit.runtime.model.files import inspect_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        importlib.util.find_spec("vllm") is None,
        reason="vLLM is not installed: its equality with transformers is not checked here",
    ),
]

#: Before the key of a request that is asked a second time, without the guard.
UNGUARDED = "unguarded "
#: Reads turns from stdin, decodes the requests of each with an engine of vLLM's, prints what came out as JSON.
RUN_VLLM = """
import dataclasses, json, os, sys, tempfile, torch
from pathlib import Path
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.files import inspect_adapted, inspect_model
from clinaudit.errors import ClinauditError

turns = json.load(sys.stdin)
torch.ones(300, 300) @ torch.ones(300, 300)
results = []
for turn in turns:
    try:
        place, adapter = Path(turn["model"]), turn["adapter"]
        model = inspect_adapted(Path(adapter), base=place) if adapter else inspect_model(place)
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
print(json.dumps({"results": results, "left": os.listdir(tempfile.gettempdir())}))
"""


def turn(requests, directory, *, adapter=None, batch_size=64, abandon=False, ignore_stop_ids=False):
    """What an engine of its own does in the process that runs vLLM."""
    rows = [(one.key, one.prompt_ids, one.max_new_tokens, one.guarded, sorted(one.stop_token_ids)) for one in requests]
    return {
        "requests": rows,
        "model": str(directory),
        "adapter": adapter and str(adapter),
        "batch_size": batch_size,
        "abandon": abandon,
        "ignore_stop_ids": ignore_stop_ids,
    }


@pytest.fixture(scope="module")
def said(model, requests, partly_guarded, adapted, site_requests, tmp_path_factory):
    """What one process says of all turns: a start is slow.

    Torch is imported first, which is the harder order: an audit imports vLLM first.
    """
    room = tmp_path_factory.mktemp("vllm")
    unfit = make_model(room / "unfit", heads=4)
    unguarded = [
        dataclasses.replace(request, key=UNGUARDED + request.key) for request in partly_guarded if not request.guarded
    ]
    turns = [
        turn([*requests, *unguarded], model.directory, abandon=True),
        turn([*requests[::4], *requests[-3:-1]], model.directory, batch_size=1, abandon=True),
        turn(requests[::4], model.directory, ignore_stop_ids=True),
        turn([], unfit.directory),
        turn(site_requests, adapted / "whole", adapter=adapted / "adapter"),
        turn(site_requests, adapted / "shards"),
        turn(site_requests, adapted / "half"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", RUN_VLLM],
        input=json.dumps(turns),
        env={**os.environ, "TMPDIR": str(room)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Nothing else is printed.
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def outputs_of(result):
    return {key: GenerationOutput(key, tuple(ids), finish) for key, ids, finish in result["outputs"]}


def test_it_equals_transformers_whatever_the_batch(outputs, said):
    many, one_by_one = map(outputs_of, said["results"][:2])
    assert {key: output for key, output in many.items() if not key.startswith(UNGUARDED)} == outputs
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
    decoded = outputs_of(said["results"][2])
    assert decoded == decode(never, requests[::4])
    assert all(output.finish_reason != "stop" for output in decoded.values())


def test_it_leaves_alone_what_is_not_guarded(partly_guarded, outputs, said):
    many = outputs_of(said["results"][0])
    decoded = {request.key: many[("" if request.guarded else UNGUARDED) + request.key] for request in partly_guarded}
    check_partly_guarded(
        partly_guarded, {key: dataclasses.replace(output, key=key) for key, output in decoded.items()}, outputs
    )
    assert any(len(decoded[request.key].token_ids) > len(outputs[request.key].token_ids) for request in partly_guarded)


def test_a_model_that_it_cannot_load(said):
    """A head size its CPU kernels do not hold shows only at the first token, and must still be a load error."""
    result = said["results"][3]
    assert result["status"] == 3
    assert result["error"].startswith("error[BAD_INPUT]: vLLM cannot load the model")
    assert "--engine transformers" in result["error"]
    assert "\n" not in result["error"]


def test_an_adapter_shards_and_half_precision_decode_as_the_whole_model(adapted, site_requests, said):
    plain = [decode(inspect_model(adapted / name), site_requests) for name in ("merged", "shards", "rounded")]
    assert list(map(outputs_of, said["results"][4:])) == plain
    # The merged model is gone once it is loaded.
    assert [name for name in said["left"] if "merged" in name] == []
