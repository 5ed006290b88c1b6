"""The tiny model and the batch on which losses are compared with open-unlearning's, all drawn from seeds."""

from typing import Any

from clinaudit.audit.unlearning.methods.texts import Example, Rows, TrainingPlan, pad_rows
from clinaudit.audit.unlearning.methods.trained_network import TrainedNetwork

_VOCABULARY = 61


def make_network() -> Any:
    """Return a Llama of width 32 with random weights: the model before."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=_VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=4,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=64,
        initializer_range=0.3,
        eos_token_id=1,
        bos_token_id=None,
        pad_token_id=0,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return LlamaForCausalLM(config).eval()


def make_trained(*, layer: int | None = None) -> TrainedNetwork:
    """Return the model before, each of its weights moved a little."""
    import torch

    network, rng = make_network(), torch.Generator().manual_seed(1)
    trained = TrainedNetwork(network, TrainingPlan(layer=layer))
    for value in network.parameters():
        value.data += 0.05 * torch.randn(value.shape, generator=rng)
    return trained


def make_rows(*, seed: int, count: int = 3) -> Rows:
    """Return up to three rows of other lengths: one learned whole, two of which the beginning is given."""
    import torch

    rng = torch.Generator().manual_seed(seed)

    def draw(length: int, given: int) -> Example:
        drawn = torch.randint(2, _VOCABULARY, (length,), generator=rng).tolist()
        return Example("note", (*drawn, 1), given)

    return pad_rows([draw(12, 1), draw(9, 4), draw(17, 11)][:count])
