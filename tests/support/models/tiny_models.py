"""Small causal models with random weights, whole or with an adapter of peft's, saved where a test wants them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.byte_level_tokenizer import save_byte_level_tokenizer

from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.model.engines.repetition_guard import first_repeated_ngram
from clinaudit.audit.runtime.model.files import ModelFiles, inspect_model

CONTEXT = 256
#: Of `make_model`.
ENGINE_CONTEXT, BUDGET = 384, 200
#: Of a model as sites have them.
SITE_BUDGET = 60


def save_llama(
    directory: Path,
    *,
    wide: int = 32,
    heads: int = 2,
    head_dim: int = 32,
    context: int = CONTEXT,
    vocabulary: int = 400,
    tied: bool = False,
    seed: int = 0,
    **saving: Any,
) -> Any:
    """Save a Llama model with seeded random weights and a byte-level tokenizer; return it."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    save_byte_level_tokenizer(directory)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=wide,
        intermediate_size=2 * wide,
        num_hidden_layers=2,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=head_dim,
        max_position_embeddings=context,
        initializer_range=0.1,
        eos_token_id=0,
        bos_token_id=None,
        tie_word_embeddings=tied,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    model.save_pretrained(directory, **saving)
    return model


def save_gpt2(directory: Path) -> None:
    """Save a GPT-2 model, whose linear weights are stored as (input, output), and a byte-level tokenizer."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    save_byte_level_tokenizer(directory)
    config = GPT2Config(vocab_size=400, n_positions=CONTEXT, n_embd=32, n_layer=2, n_head=2, initializer_range=0.1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        GPT2LMHeadModel(config).save_pretrained(directory)


def save_adapter(base: Path, directory: Path, **settings: Any) -> None:
    """Save an adapter of peft's on the base, each of its weights drawn at random: untrained ones change nothing."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    adapted = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **settings))
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(1)
        for parameter in adapted.parameters():
            if parameter.requires_grad:
                parameter.normal_(std=0.1)
    adapted.save_pretrained(directory)


def peft_merged(base: Path, adapter: Path, *, dtype: Any) -> Any:
    """Return the whole model as peft merges it."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base, dtype=dtype)
    return PeftModel.from_pretrained(model, adapter).merge_and_unload()


def make_model(directory: Path, *, heads: int = 2) -> ModelFiles:
    """Save a Llama model some of whose generations stop, some repeat, and some use up their budget."""
    save_llama(directory, wide=64, heads=heads, head_dim=64 // heads, context=ENGINE_CONTEXT, vocabulary=300)
    return inspect_model(directory)


def decode(files: ModelFiles, requests: Sequence[GenerationRequest], *, batch_size: int = 16) -> dict[str, Any]:
    """Return what transformers decodes on one thread, by the keys of the requests."""
    engine = make_engine("transformers", files, options=EngineOptions(batch_size, threads=1))
    try:
        return {output.key: output for output in engine.generate(requests)}
    finally:
        engine.close()


_SIZES: dict[str, Any] = {
    "vocab_size": 300,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": CONTEXT,
    "initializer_range": 0.15,
    "bos_token_id": None,
    "eos_token_id": 0,
    "pad_token_id": None,
    "tie_word_embeddings": False,
}
_LINEAR = {
    "layer_types": ["linear_attention", "full_attention"],
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
}
#: Above how many tokens the longrope model here reads with other positions.
LONG_ABOVE = 40
#: By kind, what makes a model small, or what makes it the kind it is.
KINDS: dict[str, dict[str, Any]] = {
    "bloom": {"n_layer": 2, "n_head": 4},
    "mpt": {"d_model": 64, "n_layers": 2, "n_heads": 4, "max_seq_len": CONTEXT},
    "gpt_neox": {},
    "opt": {"ffn_dim": 96, "word_embed_proj_dim": 64},
    "gemma3_text": {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]},
    "mistral": {"sliding_window": 8},
    "llama": {"rope_parameters": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0}},
    "phi3": {
        "rope_parameters": {
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "original_max_position_embeddings": LONG_ABOVE,
            "short_factor": [1.0 + place / 8 for place in range(8)],
            "long_factor": [2.0 + place for place in range(8)],
        },
        "original_max_position_embeddings": LONG_ABOVE,
    },
    "qwen3_next": _LINEAR,
    "minimax": {"layer_types": _LINEAR["layer_types"], "block_size": 16, "num_local_experts": 2},
    "lfm2": {"layer_types": ["conv", "full_attention"]},
    "bamba": {"attn_layer_indices": [1], "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 8},
    "mamba": {"state_size": 8, "intermediate_size": 128},
    "rwkv": {"attention_hidden_size": 64},
    "roberta": {"is_decoder": True, "pad_token_id": 1},
    "bert": {"is_decoder": True},
}


def make_kind(kind: str, **given: Any) -> Any:
    """Return a model of one of `KINDS`, or of what is given, with seeded random weights."""
    import torch
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM

    renamed, own = CONFIG_MAPPING[kind].attribute_map, given or KINDS[kind]
    sizes = {name: value for name, value in _SIZES.items() if renamed.get(name, name) not in own}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return AutoModelForCausalLM.from_config(CONFIG_MAPPING[kind](**sizes | own)).eval()


def save_kind(directory: Path, kind: str, **given: Any) -> Any:
    """Save such a model, and a tokenizer; return it."""
    save_byte_level_tokenizer(directory)
    model = make_kind(kind, **given)
    model.save_pretrained(directory)
    return model


def generated_alone(model: Any, request: GenerationRequest) -> tuple[int, ...]:
    """Return what transformers itself writes, up to a repeat: without its cache, which longrope does not survive."""
    import torch

    with torch.no_grad():
        ids = torch.tensor([request.prompt_ids])
        given = {"attention_mask": torch.ones_like(ids), "max_new_tokens": request.max_new_tokens}
        written = model.generate(ids, **given, do_sample=False, use_cache=False, pad_token_id=0)
    tokens = written[0, ids.shape[1] :].tolist()
    tokens = tokens[: tokens.index(0)] if 0 in tokens else tokens
    return tuple(tokens[: first_repeated_ngram(tokens)])
