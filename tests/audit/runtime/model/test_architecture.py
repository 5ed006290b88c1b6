"""Which models continue a text, how long it may be, and where rotary positions change, by config.json alone."""

from pathlib import Path

import pytest

from clinaudit.audit.runtime.model.files import context_length_of, long_rope_above, require_causal
from clinaudit.errors import BadInputError


def config(kind, architecture=None, **settings):
    return {"model_type": kind, **({} if architecture is None else {"architectures": [architecture]}), **settings}


@pytest.mark.parametrize(
    "given",
    [
        config("llama", "LlamaForCausalLM"),
        config("llama"),
        config("llama", "LlamaModel"),
        config("llama", "LLaMAForCausalLM"),
        config("gpt2", "GPT2LMHeadModel"),
        config("gemma3", "Gemma3ForConditionalGeneration"),
        config("bert", "BertLMHeadModel", is_decoder=True),
        config("bert-generation", "BertGenerationDecoder", is_decoder=True),
        config("mamba", "MambaForCausalLM"),
        # Left to the engines.
        config("a kind of tomorrow", "TomorrowForConditionalGeneration"),
    ],
)
def test_what_continues_a_text(given):
    require_causal(given, Path("model"))
    # The same network as an encoder-decoder does not pass: what was looked at is this configuration.
    with pytest.raises(BadInputError, match="encoder-decoder"):
        require_causal({**given, "is_encoder_decoder": True}, Path("model"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (config("bert", "BertForMaskedLM"), "BertForMaskedLM is a masked"),
        (config("bert", "BertLMHeadModel"), "masked language model or another encoder"),
        (config("roberta", "RobertaForCausalLM", is_decoder=False), "encoder"),
        (config("bert", "BertModel"), "encoder"),
        (config("llama", "LlamaForSequenceClassification"), "scores texts"),
        (config("qwen2", "Qwen2ForRewardModel"), "scores texts"),
        (config("t5", "T5ForConditionalGeneration", is_encoder_decoder=True), "encoder-decoder"),
        (config("t5", "T5ForConditionalGeneration"), "no causal language model in transformers"),
        (config("t5"), "no causal"),
        (config("vit", "ViTForImageClassification"), "scores"),
        (config("clip", "CLIPModel"), "images"),
    ],
)
def test_what_does_not(given, words):
    with pytest.raises(BadInputError, match=f"no causal language model.*{words}"):
        require_causal(given, Path("model"))


@pytest.mark.parametrize(
    ("text", "tokenizer", "length"),
    [
        ({"max_position_embeddings": 512, "seq_length": 8192}, {"model_max_length": 99}, 512),
        ({"max_position_embeddings": None, "n_positions": 300}, {}, 300),
        ({"max_seq_len": 2048}, {}, 2048),
        ({"max_sequence_length": 70}, {}, 70),
        ({"seq_len": 71}, {}, 71),
        ({"seq_length": 72}, {}, 72),
        ({"n_ctx": 73}, {}, 73),
        ({"max_target_positions": 74}, {}, 74),
        ({"context_length": 75}, {}, 75),
        ({"max_position_embeddings": -1}, {"model_max_length": 4096}, 4096),
        ({}, {"model_max_length": 10**30}, 1 << 17),
        ({"max_seq_len_cached": 3, "seq_length": "9"}, {}, 1 << 17),
    ],
)
def test_the_length_of_a_text_by_any_name(text, tokenizer, length):
    assert context_length_of(text, tokenizer) == length


@pytest.mark.parametrize(
    ("text", "above"),
    [
        ({}, None),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, None),
        ({"rope_scaling": {"type": "longrope"}, "original_max_position_embeddings": 4096}, 4096),
        ({"rope_scaling": {"type": "su"}, "original_max_position_embeddings": 4096}, 4096),
        ({"rope_parameters": {"rope_type": "longrope", "original_max_position_embeddings": 128}}, 128),
        (
            {
                "rope_parameters": {
                    "sliding_attention": {"rope_type": "default"},
                    "full_attention": {"rope_type": "longrope", "original_max_position_embeddings": 64},
                }
            },
            64,
        ),
        ({"rope_scaling": {"type": "longrope"}}, 0),
    ],
)
def test_where_rotary_positions_change(text, above):
    assert long_rope_above(text) == above
