"""The parts that the losses of the methods are made of, each over one batch (docs/unlearning.md).

Knows nothing of methods, nor of networks: it takes logits, activations and labels. Shapes: b rows, s tokens, v entries
of the vocabulary, d numbers an activation. A label is the token itself, or `IGNORED` where nothing is to be learned.
"""

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from torch import Tensor

#: Label of a token that no loss counts; torch's cross entropy leaves it out.
IGNORED: Final = -100
#: Which positions a divergence is a mean over: those that predict a label, or all, padding included, as in
#: open-unlearning.
Positions = Literal["label", "all"]

#: How activations are averaged: over the tokens of each row, then over rows; or `crossed`, as in open-unlearning at
#: commit d3d7cf9, where each row's sum is divided by the number of tokens of every row, since one of the two has a
#: dimension more. Of rows with equally many labels, or of one row, both are the same.
Averages = Literal["row", "crossed"]


def mean_token_loss(logits: "Tensor", labels: "Tensor") -> "Tensor":
    """Return the mean negative log-likelihood of the batch's labels, in nats a token: (b, s, v), (b, s) -> ().

    A mean over tokens, not over rows: a long row counts for more.
    """
    from torch.nn.functional import cross_entropy

    return cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED)


def row_token_losses(logits: "Tensor", labels: "Tensor") -> "Tensor":
    """Return the mean negative log-likelihood of each row's labels, in nats a token: (b, s, v), (b, s) -> (b,)."""
    from torch.nn.functional import cross_entropy

    following = labels[:, 1:]
    losses = cross_entropy(logits[:, :-1].transpose(1, 2), following, ignore_index=IGNORED, reduction="none")
    return losses.sum(dim=1) / (following != IGNORED).sum(dim=1)


def divergence(before: "Tensor", now: "Tensor", labels: "Tensor", *, positions: Positions) -> "Tensor":
    """Return the mean of KL(before ‖ now) over the positions of a batch, in nats: two (b, s, v), (b, s) -> ()."""
    from torch.nn.functional import kl_div

    if positions == "label":
        predicting = labels[:, 1:] != IGNORED
        before, now = before[:, :-1][predicting], now[:, :-1][predicting]
    else:
        before, now = before.flatten(0, 1), now.flatten(0, 1)
    return kl_div(now.log_softmax(dim=-1), before.log_softmax(dim=-1), reduction="batchmean", log_target=True)


def activation_distance(
    activations: "Tensor", target: "Tensor", labels: "Tensor", *, averages: Averages = "row"
) -> "Tensor":
    """Return the mean squared distance to a target over the tokens with a label: (b, s, d), (b, s) -> ().

    `target` is of the same shape, or spreads to it.
    """
    has_label = labels != IGNORED
    squared = (activations - target).square().mean(dim=2)
    sums, tokens = (squared * has_label).sum(dim=1), has_label.sum(dim=1)
    if averages == "crossed":
        return sums.mean() * tokens.reciprocal().mean()
    return (sums / tokens).mean()
