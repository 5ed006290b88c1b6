"""Samples: one draw against its distribution, and the same text alone, in a batch, and beside greedy requests."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from support.models.tiny_models import BUDGET, decode

from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest, require_fitting
from clinaudit.audit.runtime.model.engines.sampling import draw_tokens, uniform_numbers


def test_a_draw_inverts_the_distribution_by_hand():
    """Of 1/2, 0, 1/4 and 1/4: what has no chance is never drawn, not between two others either."""
    logits = torch.tensor([[0.5, 0.0, 0.25, 0.25]]).log().expand(6, -1)
    numbers = [0.0, 0.4999, 0.5001, 0.7499, 0.7501, 1 - 2**-53]
    assert draw_tokens(logits, numbers, temperatures=[1.0] * 6).tolist() == [0, 0, 2, 2, 3, 3]
    # At temperature 1/2 the squares decide: 4/6, 1/6, 1/6.
    assert draw_tokens(logits[:4], [0.66, 0.67, 0.83, 0.84], temperatures=[0.5] * 4).tolist() == [0, 2, 2, 3]


@pytest.mark.parametrize("temperature", [0.6, 1.0, 1.7])
def test_frequencies_are_those_of_the_softmax(temperature):
    draws, tokens = 20_000, 40
    logits = torch.from_numpy(np.random.default_rng(4).normal(size=tokens)).float()
    drawn = draw_tokens(
        logits.expand(draws, -1), uniform_numbers(1, draws).tolist(), temperatures=[temperature] * draws
    )
    weights = np.exp(logits.double().numpy() / temperature)
    expected = draws * weights / weights.sum()
    assert chisquare(np.bincount(drawn.numpy(), minlength=tokens), expected).pvalue > 0.01


@pytest.fixture(scope="module")
def drawn_requests(requests):
    """Each prompt at a temperature and with a seed; every fourth is greedy."""
    return [
        replace(one, temperature=0.0 if place % 4 == 3 else 1.0, seed=1000 + place)
        for place, one in enumerate(requests)
    ]


@pytest.fixture(scope="module")
def drawn(model, drawn_requests):
    return decode(model, drawn_requests)


def test_a_sample_is_the_same_alone_and_in_any_batch(model, drawn_requests, drawn):
    for some, batch_size in ((drawn_requests[::-3], 5), (drawn_requests[::7], 1)):
        assert decode(model, some, batch_size=batch_size) == {request.key: drawn[request.key] for request in some}


def test_a_sample_is_drawn_token_by_token(model, drawn_requests, drawn):
    """Against the whole text through the model once a token, and a cumulative sum by hand."""
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(model.directory, dtype=torch.float32).eval()
    request = next(one for one in drawn_requests if one.temperature and len(drawn[one.key].token_ids))
    ids = list(request.prompt_ids)
    for number, token in zip(uniform_numbers(request.seed, BUDGET), drawn[request.key].token_ids, strict=False):
        with torch.no_grad():
            logits = network(torch.tensor([ids])).logits[0, -1].double()
        if len(ids) - len(request.prompt_ids) < request.min_new_tokens:
            # Drawn from what is not barred.
            logits[[0, *request.stop_token_ids, *request.control_token_ids]] = -torch.inf
        p = logits.softmax(dim=-1).numpy()
        assert p[:token].sum() <= number < p[: token + 1].sum()
        ids.append(token)
    assert len(ids) > len(request.prompt_ids) + request.min_new_tokens > len(request.prompt_ids)


def test_other_seeds_draw_other_texts_and_greedy_requests_stay_greedy(model, drawn_requests, drawn, outputs):
    again = decode(model, [replace(one, seed=one.seed + 1) for one in drawn_requests])
    same = {key for key in drawn if again[key].token_ids == drawn[key].token_ids}
    greedy = {one.key for one in drawn_requests if not one.temperature}
    assert greedy <= same
    # A single token, or an end at once, may be the same.
    assert len(same - greedy) <= 3
    assert {key: drawn[key] for key in greedy} == {key: outputs[key] for key in greedy}


@pytest.mark.parametrize(("temperature", "seed"), [(-1.0, 0), (math.nan, 0), (math.inf, 0), (1.0, -1), (1.0, 1 << 63)])
def test_what_draws_nothing_is_refused(temperature, seed):
    with pytest.raises(ValueError, match="request 0 has a temperature or a seed"):
        require_fitting([GenerationRequest("k", (3,), "", 1, temperature=temperature, seed=seed)], context_length=9)
