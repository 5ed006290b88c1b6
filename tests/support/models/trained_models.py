"""Small models of three architectures that were taught some texts, stored in float32 or float16."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

Architecture = Literal["gpt2", "llama", "qwen2"]
CONTEXT: Final = 128
_WIDE, _LAYERS, _HEADS, _STEPS = 48, 2, 2, 80


def make_network(architecture: Architecture, vocabulary: int) -> Any:
    """Return a model with seeded random weights."""
    import torch
    from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, Qwen2Config

    sizes = {"vocab_size": vocabulary, "eos_token_id": 0, "bos_token_id": None, "initializer_range": 0.1}
    wide = {"hidden_size": _WIDE, "num_hidden_layers": _LAYERS, "num_attention_heads": _HEADS}
    wide |= {"intermediate_size": 2 * _WIDE, "num_key_value_heads": 1, "max_position_embeddings": CONTEXT}
    config: Any
    if architecture == "gpt2":
        config = GPT2Config(
            n_positions=CONTEXT, n_embd=_WIDE, n_layer=_LAYERS, n_head=_HEADS,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, **sizes,
        )  # fmt: skip
    else:
        config = {"llama": LlamaConfig, "qwen2": Qwen2Config}[architecture](**wide, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(2)
        return AutoModelForCausalLM.from_config(config)


def teach(network: Any, texts: Sequence[Sequence[int]]) -> None:
    """Train a model on the texts, each as far as its context goes."""
    import torch

    rows = [list(ids[:CONTEXT]) for ids in texts]
    longest = max(map(len, rows))
    token_ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    labels = torch.tensor([row + [-100] * (longest - len(row)) for row in rows])
    optimizer = torch.optim.AdamW(network.parameters(), lr=4e-3)
    network.train()
    for _ in range(_STEPS):
        network(input_ids=token_ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def store(network: Any, directory: Path, *, half: bool) -> None:
    """Save a model, its weights rounded to float16 where they are stored so."""
    (network.half() if half else network).save_pretrained(directory)
