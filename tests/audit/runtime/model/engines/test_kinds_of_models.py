"""Transformers on small models of many kinds, some of which read a text otherwise beside a longer one: as alone."""

import random

import pytest
import torch
from support.models.families import prompts
from support.models.tiny_models import LONG_ABOVE, decode, generated_alone, save_kind

from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.engines.memory import DEFAULT_OPTIONS, EngineOptions, require_loadable
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest, ScoreRequest
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.errors import BadInputError


@pytest.mark.parametrize("kind", ["bloom", "mpt", "gpt_neox", "opt", "gemma3_text", "mistral", "llama", "bert"])
def test_kinds_that_are_decoded_in_batches_as_alone(kind, tmp_path):
    assert check_as_alone(kind, tmp_path) == {len(prompts())}


@pytest.mark.parametrize("kind", ["phi3", "qwen3_next", "minimax", "lfm2", "bamba"])
def test_kinds_that_are_decoded_one_by_one(kind, tmp_path):
    assert check_as_alone(kind, tmp_path) == {1}


def check_as_alone(kind, tmp_path):
    """Check that all is decoded as alone; return the sizes of the batches."""
    model = save_kind(tmp_path / "model", kind)
    requests = prompts()
    engine = make_engine(
        "transformers", inspect_model(tmp_path / "model"), context_length=128, options=EngineOptions(threads=1)
    )
    sizes = set()
    decode_batch = engine._decode
    engine._decode = lambda rows: (sizes.add(len(rows)), decode_batch(rows))[1]
    outputs = {output.key: output.token_ids for output in engine.generate(requests)}
    engine.close()
    assert outputs == {request.key: generated_alone(model, request) for request in requests}
    return sizes


def test_texts_are_scored_as_alone_where_positions_depend_on_their_length(tmp_path):
    model = save_kind(tmp_path / "model", "phi3")
    rng = random.Random(2)
    texts = [
        ScoreRequest(f"t{length}", tuple(rng.randrange(1, 300) for _ in range(length)), 1)
        for length in (LONG_ABOVE - 10, LONG_ABOVE + 1, LONG_ABOVE + 2, 2 * LONG_ABOVE)
    ]
    engine = make_engine("transformers", inspect_model(tmp_path / "model"), options=EngineOptions(threads=1))
    scores = {one.key: one.log_probs for one in engine.score(texts)}
    engine.close()
    for text in texts:
        ids = torch.tensor([text.token_ids])
        with torch.no_grad():
            logs = model(ids[:, :-1]).logits.log_softmax(-1)[0]
        alone = logs.gather(-1, ids[0, 1:, None])[:, 0]
        assert torch.allclose(torch.tensor(scores[text.key]), alone, atol=1e-4)


def test_longrope_is_read_in_batches_where_no_text_is_so_long(tmp_path):
    model = save_kind(tmp_path / "model", "phi3")
    files = inspect_model(tmp_path / "model")
    requests = [GenerationRequest(str(length), tuple(range(1, length)), "", 8) for length in (5, 20, 30)]
    engine = make_engine("transformers", files, context_length=LONG_ABOVE, options=EngineOptions(threads=1))
    assert engine._batch_size > 1
    outputs = {output.key: output.token_ids for output in engine.generate(requests)}
    engine.close()
    assert outputs == {request.key: generated_alone(model, request) for request in requests}


def test_vllm_is_refused_longrope_where_it_would_read_all_as_long(tmp_path):
    save_kind(tmp_path / "model", "phi3")
    files = inspect_model(tmp_path / "model")
    require_loadable(files, "vllm", context_length=LONG_ABOVE, options=DEFAULT_OPTIONS)
    require_loadable(files, "transformers", context_length=LONG_ABOVE + 1, options=DEFAULT_OPTIONS)
    with pytest.raises(BadInputError, match=r"longrope.*use --engine transformers"):
        require_loadable(files, "vllm", context_length=LONG_ABOVE + 1, options=DEFAULT_OPTIONS)


@pytest.mark.parametrize("kind", ["mamba", "rwkv"])
def test_kinds_without_a_cache_are_refused_by_name_before_they_are_loaded(kind, tmp_path):
    save_kind(tmp_path / "model", kind)
    files = inspect_model(tmp_path / "model")
    require_loadable(files, "vllm", context_length=1, options=DEFAULT_OPTIONS)
    with pytest.raises(BadInputError, match=rf"architecture .*\({kind}\) is not supported") as caught:
        require_loadable(files, "transformers", context_length=1, options=DEFAULT_OPTIONS)
    assert "max_position_embeddings" not in str(caught.value)


def test_a_kind_that_reads_otherwise_over_its_cache_is_refused(tmp_path):
    """RoBERTa counts its positions from another number where it is given them."""
    save_kind(tmp_path / "model", "roberta")
    with pytest.raises(BadInputError, match=r"architecture RobertaForCausalLM .* is not supported"):
        decode(inspect_model(tmp_path / "model"), prompts())
