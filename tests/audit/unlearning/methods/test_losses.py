"""The four losses: equal to open-unlearning's own, and to values worked out by hand."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.unlearning.loss_batch import make_rows, make_trained

from clinaudit.audit.unlearning.methods import losses
from clinaudit.audit.unlearning.methods.losses import (
    METHODS,
    KlMin,
    Rmu,
    activation_distance,
    divergence,
    mean_token_loss,
    row_token_losses,
)
from clinaudit.audit.unlearning.methods.texts import IGNORED, Example, pad_rows


def _divergence_everywhere(before: Any, now: Any, _labels: Any) -> Any:
    """Open-unlearning's mean: over all positions of a batch, padding included."""
    from torch.nn.functional import kl_div

    before, now = (one.flatten(0, 1).log_softmax(dim=-1) for one in (before, now))
    return kl_div(now, before, reduction="batchmean", log_target=True)


def _distance_crossed(activations: Any, target: Any, labels: Any) -> Any:
    """Open-unlearning's mean: each row's sum is divided by the number of tokens of every row."""
    has_label = labels != IGNORED
    sums = ((activations - target).square().mean(dim=2) * has_label).sum(dim=1)
    return (sums[:, None] / has_label.sum(dim=1)[None, :]).mean()


_SAVED = json.loads(Path(__file__).with_name("open_unlearning_losses.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", _SAVED, ids=lambda case: f"{case['method']} {case['coefficients']}")
def test_it_is_that_of_open_unlearning(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    # But for both means, which differ by choice and are worked out by hand below.
    monkeypatch.setattr(losses, "divergence", _divergence_everywhere)
    monkeypatch.setattr(losses, "activation_distance", _distance_crossed)
    trained = make_trained(layer=1)
    objective = METHODS[case["method"]](**case["coefficients"])
    loss = objective.loss(trained, make_rows(seed=2, count=case["rows"]), make_rows(seed=3, count=case["rows"])).total
    loss.backward()
    gradients = [value.grad.double() for value in trained.trained.values() if value.grad is not None]
    norm = math.sqrt(sum((gradient**2).sum().item() for gradient in gradients))
    assert loss.item() == pytest.approx(case["loss"], rel=1e-6, abs=1e-6)
    assert norm == pytest.approx(case["gradient_norm"], rel=1e-5)


def test_every_method_was_compared() -> None:
    assert {case["method"] for case in _SAVED} == set(METHODS)


def test_losses_by_hand() -> None:
    """Two rows over a vocabulary of two: each token is predicted with odds that are worked out by hand."""
    import torch

    rows = pad_rows([Example("note", (0, 1, 1), 1), Example("note", (0, 1), 1)])
    # The token 1 has the probability 3/4 first, then 1/2; in the second row 1/4.
    first, second, other = math.log(3.0), 0.0, -math.log(3.0)
    logits = torch.tensor([[[0.0, first], [0.0, second], [0.0, 9.0]], [[0.0, other], [0.0, 5.0], [0.0, 5.0]]])
    quarters = [-math.log(0.75), -math.log(0.5), -math.log(0.25)]
    assert mean_token_loss(logits, rows["labels"]).item() == pytest.approx(sum(quarters) / 3, abs=1e-6)
    assert row_token_losses(logits, rows["labels"]).tolist() == pytest.approx([sum(quarters[:2]) / 2, quarters[2]])
    even = torch.zeros_like(logits)
    # KL of an even guess from p: log(1/2) less the mean of log p and log (1 - p).
    apart = [math.log(0.5) - (math.log(p) + math.log(1 - p)) / 2 for p in (0.75, 0.5, 0.25)]
    assert divergence(even, logits, rows["labels"]).item() == pytest.approx(sum(apart) / 3, abs=1e-6)


def test_activations_by_hand() -> None:
    """A row of two labelled tokens, and one of one: the mean is over tokens first, then over rows."""
    import torch

    rows = pad_rows([Example("note", (5, 6, 7), 1), Example("note", (5, 6), 1)])
    activations = torch.tensor([[[9.0, 9.0], [1.0, 3.0], [2.0, 0.0]], [[9.0, 9.0], [4.0, 2.0], [9.0, 9.0]]])
    target = torch.tensor([[[1.0, 1.0]]])
    # Squared distances, halved for two numbers: (0 + 4)/2 and (1 + 1)/2; (9 + 1)/2.
    assert activation_distance(activations, target, rows["labels"]).item() == pytest.approx(((2 + 1) / 2 + 5) / 2)


def test_the_direction_of_rmu_is_as_long_as_it_says_and_drawn_from_its_seed() -> None:
    target = Rmu(steering=3.0, seed=1).target(32)
    assert target.norm().item() == pytest.approx(3.0)
    assert bool((target >= 0).all())
    assert Rmu(steering=3.0, seed=1).target(32).equal(target)
    assert not Rmu(steering=3.0, seed=2).target(32).equal(target)


def test_a_model_that_has_not_moved_has_no_divergence() -> None:
    trained = make_trained()
    trained.reset()
    rows = make_rows(seed=2)
    loss = KlMin().loss(trained, rows, rows)
    assert loss.retain is not None
    assert loss.retain.item() == pytest.approx(0.0, abs=1e-7)
    assert Rmu().loss(trained, rows, rows).retain == 0.0


def test_padding_changes_no_row() -> None:
    trained = make_trained()
    short = Example("note", (5, 9, 8, 3), 1)
    alone, padded = (pad_rows([short]), pad_rows([short, Example("note", tuple(range(2, 22)), 19)]))
    logits = trained.logits(alone), trained.logits(padded)
    assert row_token_losses(logits[1], padded["labels"])[0].item() == pytest.approx(
        row_token_losses(logits[0], alone["labels"]).item(), abs=1e-5
    )
