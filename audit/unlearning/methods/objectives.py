"""What training minimizes: plain likelihood, and the four losses that forget (AMNESIA, 4.2; docs/unlearning.md).

GradDiff, KL-Min, SimNPO and RMU are those of open-unlearning at commit d3d7cf9, with its coefficients. Shapes: b rows,
s tokens, v entries of the vocabulary, d numbers an activation.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from clinaudit.audit.unlearning.methods.batches import IGNORED, Rows
from clinaudit.audit.unlearning.methods.trained_network import Scope, TrainedNetwork

if TYPE_CHECKING:
    from torch import Tensor


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


def divergence(before: "Tensor", now: "Tensor", labels: "Tensor") -> "Tensor":
    """Return the mean of KL(before ‖ now) over the positions that predict a label: two (b, s, v), (b, s) -> ().

    In nats. Open-unlearning takes the mean over all positions of a batch, padding included.
    """
    from torch.nn.functional import kl_div

    predicting = labels[:, 1:] != IGNORED
    before, now = before[:, :-1][predicting], now[:, :-1][predicting]
    return kl_div(now.log_softmax(dim=-1), before.log_softmax(dim=-1), reduction="batchmean", log_target=True)


def activation_distance(activations: "Tensor", target: "Tensor", labels: "Tensor") -> "Tensor":
    """Return the mean squared distance to a target, over each row's tokens with a label, then over rows.

    (b, s, d), (b, s) -> (); `target` is of the same shape, or spreads to it. Open-unlearning divides each row's sum by
    the number of tokens of every row: of rows with equally many labels, or of one row, both are the same.
    """
    has_label = labels != IGNORED
    squared = (activations - target).square().mean(dim=2)
    return ((squared * has_label).sum(dim=1) / has_label.sum(dim=1)).mean()


class Loss(NamedTuple):
    """The loss of one micro-batch; its parts are before they are weighed."""

    total: "Tensor"
    #: On the texts to be forgotten; in fine-tuning, on those to be learned.
    anchor: "Tensor"
    #: On retained texts; None where the loss has no such part.
    retain: "Tensor | None"


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Plain fine-tuning: the negative log-likelihood of the texts."""

    default_scope: ClassVar[Scope] = "all"

    def loss(self, network: TrainedNetwork, anchor: Rows, _retain: Rows | None) -> Loss:
        """Return the mean loss a token."""
        learned = mean_token_loss(network.logits(anchor), anchor.labels)
        return Loss(learned, learned, None)


def retained(rows: Rows | None) -> Rows:
    """Return the retained texts of a micro-batch, which every method that unlearns needs."""
    if rows is None:
        raise ValueError("a method that unlearns needs retained texts")
    return rows


@dataclass(frozen=True, slots=True)
class GradDiff:
    """GradDiff: −γ · NLL of what is to be forgotten + α · NLL of what is retained (Liu et al., 2022)."""

    default_scope: ClassVar[Scope] = "layer"
    gamma: float = 1.0
    alpha: float = 1.0

    def loss(self, network: TrainedNetwork, anchor: Rows, retain: Rows | None) -> Loss:
        """Return the loss; its parts are the two mean losses a token."""
        kept = retained(retain)
        forget_loss = mean_token_loss(network.logits(anchor), anchor.labels)
        retain_loss = mean_token_loss(network.logits(kept), kept.labels)
        return Loss(self.alpha * retain_loss - self.gamma * forget_loss, forget_loss, retain_loss)


@dataclass(frozen=True, slots=True)
class KlMin:
    """KL-Min: −γ · NLL of what is to be forgotten + α · KL(before ‖ now) of what is retained (Nguyen et al., 2020)."""

    default_scope: ClassVar[Scope] = "layer"
    gamma: float = 1.0
    alpha: float = 1.0

    def loss(self, network: TrainedNetwork, anchor: Rows, retain: Rows | None) -> Loss:
        """Return the loss; its parts are the mean loss a token, and the mean divergence a position."""
        kept = retained(retain)
        forget_loss = mean_token_loss(network.logits(anchor), anchor.labels)
        moved = divergence(network.logits_before(kept), network.logits(kept), kept.labels)
        return Loss(self.alpha * moved - self.gamma * forget_loss, forget_loss, moved)


@dataclass(frozen=True, slots=True)
class SimNpo:
    """SimNPO: −(2/β) · log σ(β · (NLL a token − δ)) · γ of what is to be forgotten + α · NLL of what is retained.

    Fan et al., 2024. It needs no reference model, and a long text weighs no more than a short one.
    """

    default_scope: ClassVar[Scope] = "layer"
    beta: float = 4.5
    delta: float = 0.0
    gamma: float = 0.125
    alpha: float = 1.0

    def loss(self, network: TrainedNetwork, anchor: Rows, retain: Rows | None) -> Loss:
        """Return the loss; its parts are the preference loss, and the mean loss a token."""
        from torch.nn.functional import logsigmoid

        kept = retained(retain)
        margins = row_token_losses(network.logits(anchor), anchor.labels) - self.delta
        disliked = -logsigmoid(self.beta * margins).mean() * 2 / self.beta
        retain_loss = mean_token_loss(network.logits(kept), kept.labels)
        return Loss(self.gamma * disliked + self.alpha * retain_loss, disliked, retain_loss)


@dataclass(frozen=True, slots=True)
class Rmu:
    """RMU: γ · ‖h − c·u‖² of what is to be forgotten + α · ‖h − h before‖² of what is retained (Li et al., 2024).

    The activations h of a layer are steered to one random direction u. Open-unlearning's configuration and its class
    disagree: c is 2 and all parameters are trained by the one, c is 20 and three layers' `down_proj` by the other.
    Here: the former, with the retain loss `EMBED_DIFF`.
    """

    default_scope: ClassVar[Scope] = "all"
    gamma: float = 1.0
    alpha: float = 1.0
    #: Length of the target (c).
    steering: float = 2.0
    #: Of the direction.
    seed: int = 0

    def loss(self, network: TrainedNetwork, anchor: Rows, retain: Rows | None) -> Loss:
        """Return the loss; its parts are the two mean squared distances of activations."""
        kept = retained(retain)
        steered = network.activations(anchor)
        target = self.target(steered.shape[-1]).to(steered)
        forget_loss = activation_distance(steered, target, anchor.labels)
        now, before = network.activations(kept), network.activations_before(kept)
        retain_loss = activation_distance(now, before, kept.labels)
        return Loss(self.gamma * forget_loss + self.alpha * retain_loss, forget_loss, retain_loss)

    def target(self, width: int) -> "Tensor":
        """Return where activations are steered to: numbers drawn evenly from 0 to 1, scaled to length c: (1, 1, d)."""
        import torch

        drawn = torch.rand(1, 1, width, generator=torch.Generator().manual_seed(self.seed))
        target: Tensor = drawn / drawn.norm() * self.steering
        return target


#: A loss with its coefficients, which are its fields; `default_scope` is what is trained where the user does not say.
Objective = Likelihood | GradDiff | KlMin | SimNpo | Rmu
