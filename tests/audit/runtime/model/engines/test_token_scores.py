"""Scores of texts by transformers, against a plain forward pass of each text and the whole softmax in float64."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from support.models.score_twin import TOLERANCE, by_key, largest_difference, scores_by_definition, texts_to_score
from support.models.tiny_models import ENGINE_CONTEXT, make_kind
from support.runs.tiny_demo import STORED

from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.engines import transformers_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import ScoreRequest
from clinaudit.audit.runtime.model.engines.transformers_engine import score_texts
from clinaudit.errors import BadInputError

VOCABULARY, CONTEXT = 300, 128
#: By kind, what each does beside Llama.
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "opt": {"ffn_dim": 64, "word_embed_proj_dim": 16, "init_std": 0.2},
    # Logits are capped, and every other layer sees the last 16 tokens alone.
    "gemma2": {"sliding_window": 16, "final_logit_softcapping": 4.0, "query_pre_attn_scalar": 16},
    # Logits are divided.
    "granite": {"logits_scaling": 3.0},
    # A recurrent layer beside one of attention, which begins anew where it is given more than a token.
    "jamba": {
        "mamba_d_state": 8, "mamba_dt_rank": 4, "num_experts": 2, "attn_layer_period": 2, "attn_layer_offset": 1,
    },
}  # fmt: skip


@pytest.fixture
def _short_steps(monkeypatch):
    """Steps of 16 tokens of at most four texts: every text of this module's takes several."""
    monkeypatch.setattr(transformers_engine, "_STEP_TOKENS", 64)
    monkeypatch.setattr(transformers_engine, "_ROW_TOKENS", 16)


def network_of(kind):
    return make_kind(kind, **ARCHITECTURES[kind])


def trained_and_its_base():
    """The tiny demo's model, and the same before any training."""
    from transformers import AutoModelForCausalLM

    trained: Any = AutoModelForCausalLM.from_pretrained(STORED, dtype=torch.float32)
    make: Any = AutoModelForCausalLM.from_config
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return trained.eval(), make(trained.config).eval()


def differences_in_two_orders_and_sizes(network, requests):
    """Return how far scores lie from the definition: many texts at once, and one by one in the other order."""
    expected = scores_by_definition(network, requests)
    many = by_key(list(score_texts(network, requests, batch_size=64)))
    alone = by_key(list(score_texts(network, requests[::-1], batch_size=1)))
    return largest_difference(many, expected), largest_difference(alone, expected)


@pytest.mark.usefixtures("_short_steps")
@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.filterwarnings("ignore")  # of kernels that are not installed
def test_any_architecture_by_its_own_head(name):
    network = network_of(name)
    assert max(differences_in_two_orders_and_sizes(network, texts_to_score(VOCABULARY, CONTEXT))) < TOLERANCE
    assert transformers_engine._reads_in_steps(network) == (name != "jamba")


def test_a_trained_model_and_its_base():
    differences = [
        differences_in_two_orders_and_sizes(network, texts_to_score(network.config.vocab_size, 1500, count=6))
        for network in trained_and_its_base()
    ]
    assert len(differences) == 2
    assert np.max(differences) < TOLERANCE


@pytest.mark.usefixtures("_short_steps")
def test_half_precision_is_scored_in_float32():
    """float16 holds three digits of a log-probability; from its own logits, ours have seven."""
    network = network_of("opt").half()
    requests = texts_to_score(VOCABULARY, CONTEXT)
    wide = by_key(list(score_texts(network.float(), requests, batch_size=64)))
    network.half()
    half = by_key(list(score_texts(network, requests, batch_size=64)))
    # The weights are the same; what differs is what float16 loses on the way to the logits.
    assert 0 < largest_difference(half, wide) < 0.1
    logits = torch.linspace(-8, 8, VOCABULARY, dtype=torch.float16)[None, None]
    own, mean, deviation = transformers_engine._measure(logits, torch.tensor([[7]]))[:, 0, 0].tolist()
    logs = np.log(np.exp(logits.double().numpy()[0, 0]) / np.exp(logits.double().numpy()).sum())
    assert own == pytest.approx(logs[7], abs=2e-6)
    assert mean == pytest.approx((np.exp(logs) * logs).sum(), abs=2e-6)
    assert deviation == pytest.approx(np.sqrt((np.exp(logs) * (logs - mean) ** 2).sum()), abs=2e-6)


def test_mean_and_deviation_by_hand():
    """Of 1/2, 1/4, 1/4 and a token that is ruled out, in units of ln 2: mean -3/2, deviation 1/2."""
    logits = torch.tensor([[[2.0, 1.0, 1.0, -torch.inf]] * 2]) * np.log(2)
    own, mean, deviation = transformers_engine._measure(logits.float(), torch.tensor([[1, 3]]))[:, 0].tolist()
    assert own == [pytest.approx(-2 * np.log(2), abs=1e-6), -np.inf]
    assert mean == [pytest.approx(-1.5 * np.log(2), abs=1e-6)] * 2
    assert deviation == [pytest.approx(0.5 * np.log(2), abs=1e-6)] * 2


@pytest.mark.usefixtures("_short_steps")
def test_logits_of_a_few_tokens_are_in_memory_at_once():
    """Each token goes through the model once, and no step makes more logits than it should."""
    network = network_of("opt")
    requests = texts_to_score(VOCABULARY, CONTEXT)
    (whole,) = [request for request in requests if request.key == "full"]
    (late,) = [request for request in requests if request.key == "last alone"]
    steps: list[tuple[int, int]] = []

    def count(_module, _args, given, out):
        steps.append((given["input_ids"].numel(), out.logits[..., 0].numel()))

    network.register_forward_hook(count, with_kwargs=True)
    counted = []
    for texts in ([whole], [late], requests):
        steps.clear()
        list(score_texts(network, texts, batch_size=64))
        counted.append(steps[1:])  # the first asks what kind of model it is
    assert sum(read for read, _ in counted[0]) == CONTEXT - 1
    # Of what is not scored no logits are made, but the one that is the least to ask for.
    assert [made for _, made in counted[1]] == [1, 1]
    assert max(made for _, made in counted[2]) <= 64


@pytest.fixture(scope="module")
def score(model):
    def by_engine(requests, *, batch_size=64):
        engine = make_engine("transformers", model, options=EngineOptions(batch_size, threads=1))
        try:
            return by_key(list(engine.score(requests)))
        finally:
            engine.close()

    return by_engine


def test_an_engine_scores_what_its_files_hold(model, score):
    from transformers import AutoModelForCausalLM

    requests = texts_to_score(model.vocab_size, ENGINE_CONTEXT)
    network: Any = AutoModelForCausalLM.from_pretrained(model.directory, dtype=torch.float32)
    expected = scores_by_definition(network.eval(), requests)
    many = score(requests)
    assert largest_difference(many, expected) < TOLERANCE
    assert largest_difference(score(requests[5:], batch_size=3), {k: expected[k] for k in list(expected)[5:]}) < 1e-4
    assert score([]) == {}


@pytest.mark.parametrize(("tokens", "first"), [(5, 0), (5, 5), (1, 1), (0, 0), (ENGINE_CONTEXT + 1, 1)])
def test_what_cannot_be_scored_is_refused(tokens, first, score):
    good = ScoreRequest("good", (3, 4), 1)
    with pytest.raises(ValueError, match="text 1 has"):
        score([good, ScoreRequest("bad", (3,) * tokens, first)])
    with pytest.raises(ValueError, match="share one key"):
        score([good, dataclasses.replace(good, token_ids=(5, 6, 7))])


def test_a_model_that_gives_no_numbers_is_refused():
    network = network_of("opt")
    with torch.no_grad():
        network.get_output_embeddings().weight[7, 0] = torch.nan
    with pytest.raises(BadInputError, match="no numbers"):
        list(score_texts(network, texts_to_score(VOCABULARY, CONTEXT), batch_size=4))
