"""Small causal models with random weights, whole or with an adapter of peft's, saved where a test wants them."""

from pathlib import Path
from typing import Any

from support.byte_level_tokenizer import save_byte_level_tokenizer

CONTEXT = 256


def save_llama(directory: Path, *, tied: bool = False, seed: int = 0, **saving: Any) -> Any:
    """Save a Llama model with seeded random weights and a byte-level tokenizer; return it."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    save_byte_level_tokenizer(directory)
    config = LlamaConfig(
        vocab_size=400,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT,
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
