"""4-bit weights: a loop over single weights, hand cases, what is left alone, and every byte put back."""

from typing import Any

import pytest
import torch
from support.unlearning.loss_batch import make_network

from clinaudit.audit.unlearning.evaluation.robustness.changed_weights import linear_weights, quantized, round_to_nearest
from clinaudit.errors import BadInputError


def _loop(rows: list[list[float]], group: int) -> list[list[float]]:
    """Round each weight by itself; `round` of Python takes ties to the even number, too."""
    rounded = []
    for row in rows:
        made: list[float] = []
        for start in range(0, len(row), group):
            part = row[start : start + group]
            step = max(map(abs, part)) / 7.5
            made += [min(7, max(-8, round(value / step))) * step if step else 0.0 for value in part]
        rounded.append(made)
    return rounded


@pytest.mark.parametrize(("rows", "columns", "group"), [(3, 256, 128), (2, 200, 128), (4, 7, 128), (5, 12, 5)])
def test_it_is_the_rounding_of_a_loop(rows: int, columns: int, group: int) -> None:
    weight = torch.randn(rows, columns, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    weight[0, :group] = 0.0
    expected = torch.tensor(_loop(weight.tolist(), group), dtype=torch.float64)
    torch.testing.assert_close(round_to_nearest(weight, group=group), expected, rtol=0, atol=1e-12)


def test_by_hand() -> None:
    # A step of 1: the largest level above is 7, the lowest below -8, and 0 stays 0.
    weight = torch.tensor([[7.5, 0.0, 0.4, -0.6, 2.5, 3.5], [-7.5, 0.49, 7.2, 6.4, -3.2, 0.0]])
    expected = torch.tensor([[7.0, 0.0, 0.0, -1.0, 2.0, 4.0], [-8.0, 0.0, 7.0, 6.0, -3.0, 0.0]])
    assert torch.equal(round_to_nearest(weight), expected)


def test_a_group_has_its_own_step() -> None:
    weight = torch.tensor([[7.5, 3.1, 0.075, 0.031]])
    assert round_to_nearest(weight, group=2)[0].tolist() == pytest.approx([7.0, 3.0, 0.07, 0.03])
    assert round_to_nearest(weight, group=4)[0].tolist() == pytest.approx([7.0, 3.0, 0.0, 0.0])


def test_a_change_below_half_a_step_is_undone() -> None:
    weight = torch.tensor([[7.5, 3.0, -2.0, 1.0]])
    moved = weight + torch.tensor([[0.0, 0.3, -0.2, 0.4]])
    assert torch.equal(round_to_nearest(moved), round_to_nearest(weight))


def _bytes(network: Any) -> dict[str, bytes]:
    return {name: value.detach().numpy().tobytes() for name, value in network.named_parameters()}


def test_linear_layers_alone_are_rounded_and_everything_is_put_back() -> None:
    network = make_network(layers=2)
    before = _bytes(network)
    with quantized(network) as counts:
        within = _bytes(network)
        changed = {name for name, value in within.items() if before[name] != value}
        rounded = {name: value.detach().clone() for name, value in network.named_parameters()}
    assert changed == {f"{name}.weight" for name in linear_weights(network)}
    assert len(changed) == 2 * 7
    assert not any("embed" in name or "norm" in name or "lm_head" in name for name in changed)
    assert counts == {
        "quantized": sum(rounded[name].numel() for name in changed),
        "numbers": sum(value.numel() for value in rounded.values()),
    }
    assert _bytes(network) == before


def test_everything_is_put_back_after_an_error() -> None:
    network = make_network(layers=1)
    before = _bytes(network)
    with pytest.raises(RuntimeError, match="within"), quantized(network):
        raise RuntimeError("within")
    assert _bytes(network) == before


def test_weights_stored_the_other_way_round_are_grouped_by_their_inputs() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    network = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=200, n_layer=1, n_head=2))
    kept = network.transformer.h[0].mlp.c_fc.weight.detach().clone()
    assert kept.shape == (200, 800)  # input, output
    assert all(is_transposed for _, is_transposed in linear_weights(network).values())
    with quantized(network):
        assert torch.equal(network.transformer.h[0].mlp.c_fc.weight, round_to_nearest(kept.T).T)
    assert torch.equal(network.transformer.h[0].mlp.c_fc.weight, kept)


def test_a_network_without_linear_layers_is_refused() -> None:
    class Bare(torch.nn.Module):
        config = type("Config", (), {"model_type": "bare"})

        def get_input_embeddings(self) -> None:
            return None

        get_output_embeddings = get_input_embeddings

    with pytest.raises(BadInputError, match="bare"), quantized(Bare()):
        pass
