"""One engine for all stages: loaded once, with room for all, here or by the workers of a runner."""

import importlib.util
import random
from contextlib import closing
from dataclasses import replace

import pytest
from support.elsewhere import Elsewhere
from support.models.tiny_models import save_adapter, save_llama

from clinaudit.audit.runtime.model import audited_model
from clinaudit.audit.runtime.model.audited_model import (
    CONTROL_IDENTITY,
    ENGINE_IDENTITY,
    OF_SCORES,
    EngineInUse,
    find_model,
)
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest, ScoreRequest
from clinaudit.audit.runtime.model.engines.transformers_engine import TransformersEngine
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.store import TokenScores, open_store
from clinaudit.errors import BadInputError, UsageError

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="peft makes the adapter: not installed"),
    pytest.mark.filterwarnings("ignore"),
]


class CountingRunner(Elsewhere):
    """Runs shards here, and keeps their sizes."""

    def __init__(self):
        self.sizes: list[int] = []

    def map(self, function, shared, shards, *, cpus=1, gpu=False):
        kept = list(shards)
        # What is asked, and the requests.
        self.sizes = [len(requests) for _, requests in kept]
        return super().map(function, shared, kept, cpus=cpus, gpu=gpu)


@pytest.fixture
def model(tmp_path):
    save_llama(tmp_path / "base")
    save_adapter(tmp_path / "base", tmp_path / "adapter", r=4, target_modules=["q_proj", "v_proj"])
    options = EngineOptions(max_batch=16)
    return find_model(str(tmp_path / "adapter"), engine="transformers", base_model=tmp_path / "base", options=options)


@pytest.fixture
def store(tmp_path):
    with open_store(RunDirectory(tmp_path / "run")) as store:
        yield store


def test_workers_decode_the_adapter_as_this_process_does(model, store, tmp_path):
    rng = random.Random(2)
    requests = [GenerationRequest(f"k{i}", tuple(rng.randrange(1, 300) for _ in range(9)), "", 8) for i in range(70)]
    runner = CountingRunner()
    on_workers = EngineInUse(model, runner, store)
    on_workers.require(20)
    outputs = {output.key: output.token_ids for output in on_workers.generate(requests)}
    # Batches of the engine's own, so that draws are the same here and there, also where a run is resumed.
    assert runner.sizes == [16, 16, 16, 16, 6]
    engine = model.load(context_length=20)
    here = {output.key: output.token_ids for output in engine.generate(requests)}
    engine.close()
    assert outputs == here

    (tmp_path / "adapter").rename(tmp_path / "elsewhere")
    with pytest.raises(BadInputError, match=r"no model at .*adapter; put it at the same path on every node"):
        list(on_workers.generate(requests[:1]))


def bits_of(given):
    """Return all that was said of each text, bit by bit."""
    found = {}
    for of in given:
        found[of.key] = [column.tobytes() for column in (of.log_probs, of.means, of.deviations)]
    return found


def test_scores_have_the_same_bits_of_workers_and_where_some_were_given_before(model, store):
    rng = random.Random(3)
    texts = [ScoreRequest(f"k{i}", tuple(rng.randrange(1, 300) for _ in range(3 + i % 9)), 1) for i in range(150)]
    runner = CountingRunner()
    with closing(EngineInUse(model, runner, store)) as on_workers, closing(EngineInUse(model, None, store)) as here:
        on_workers.require(20)
        here.require(20)
        whole = bits_of(here.score(texts))
        assert list(whole) != [text.key for text in texts]
        assert bits_of(on_workers.score(texts)) == whole
        assert runner.sizes == [*[16] * 9, 6]
        # All of some shards, and of the others a few texts.
        given = {text.key for text in (*texts[5:40], *texts[100:102], *texts[128:])}
        rest = {key: bits for key, bits in whole.items() if key not in given}
        for engine in (here, on_workers):
            assert bits_of(engine.score(texts, given)) == rest
        assert runner.sizes == [16] * 7
        # Read among other texts the last digits are others: else this shows nothing.
        assert bits_of(here.score([text for text in texts if text.key in rest])) != rest


class Plain(TransformersEngine):
    """An engine that gives the scored tokens alone, as vLLM does."""

    name = "vllm"

    def score(self, requests):
        for scores in super().score(requests):
            yield TokenScores(scores.key, scores.log_probs)


@pytest.mark.parametrize("runner", [None, Elsewhere()])
def test_what_vllm_decodes_is_scored_by_transformers_where_it_can_and_one_is_loaded_at_a_time(
    model, store, runner, monkeypatch, capsys
):
    made: list[str] = []
    fits = True

    def make(name, files, *, context_length, options):
        made.append(name)
        if name == "transformers" and not fits:
            raise BadInputError("too large")
        of = Plain if name == "vllm" else TransformersEngine
        return of(files, context_length=context_length, threads=1, options=options)

    monkeypatch.setattr(audited_model, "make_engine", make)
    decoded, scored = [GenerationRequest("k", (1, 2), "", 3)], [ScoreRequest("k", (1, 2, 3), 1)]
    by_vllm = replace(model, engine="vllm")
    for fits, least in ((True, "transformers"), (False, "vllm")):
        made.clear()
        store._connection.execute("DELETE FROM settings")
        with closing(EngineInUse(by_vllm, runner, store)) as engine:
            engine.require(9)
            list(engine.generate(decoded))
            (first,) = engine.score(scored)
            (again,) = engine.score(scored)
            assert (first.means is not None) == (again.means is not None) == fits
        # A worker ends with its shards.
        assert made == ["vllm", "transformers", *([] if fits else ["vllm"]), *([least] if runner else [])]
        said = capsys.readouterr().err
        assert said.count("vLLM scores the notes, without mean and deviation: too large") == (not fits)
        known = store.settings()
        assert known[ENGINE_IDENTITY]["engine"] == "vllm"
        assert known[ENGINE_IDENTITY + OF_SCORES]["engine"] == least
    # Gone on with when there is more memory, the run has the same engine.
    fits = True
    with closing(EngineInUse(by_vllm, runner, store)) as engine:
        engine.require(9)
        assert next(engine.score(scored)).means is None


@pytest.mark.parametrize("runner", [None, Elsewhere()])
def test_a_run_is_bound_to_its_engine_and_apart_to_the_control_models(model, store, runner):
    text = [ScoreRequest("k", (1, 2, 3), 1)]
    with closing(EngineInUse(model, runner, store)) as engine:
        engine.require(3)
        assert ENGINE_IDENTITY not in store.settings()
        list(engine.score(text))
    assert store.settings()[ENGINE_IDENTITY]["engine"] == "transformers"
    store.bind_settings({CONTROL_IDENTITY: {"engine": "another"}})
    with closing(EngineInUse(model, runner, store, identity_field=CONTROL_IDENTITY)) as control:
        control.require(3)
        with pytest.raises(UsageError, match=CONTROL_IDENTITY):
            list(control.score(text))
