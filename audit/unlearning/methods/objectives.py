"""The four losses that forget: GradDiff, KL-Min, SimNPO, RMU (AMNESIA, section 4.2).

Each is that of open-unlearning at commit d3d7cf9, with its coefficients.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from clinaudit.audit.unlearning.methods.batches import Rows
from clinaudit.audit.unlearning.methods.losses import (
    Averages,
    Positions,
    activation_distance,
    divergence,
    mean_token_loss,
    row_token_losses,
)
from clinaudit.audit.unlearning.methods.objective import Loss, retained
from clinaudit.audit.unlearning.methods.trained_network import Scope, TrainedNetwork

if TYPE_CHECKING:
    from torch import Tensor


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
    """KL-Min: −γ · NLL of what is to be forgotten + α · KL(before ‖ now) of what is retained (Nguyen et al., 2020).

    Open-unlearning takes the mean over all positions of a batch, padding included; here it is over those that predict a
    label, unless `positions` is `all`.
    """

    default_scope: ClassVar[Scope] = "layer"
    gamma: float = 1.0
    alpha: float = 1.0
    positions: Positions = "label"

    def loss(self, network: TrainedNetwork, anchor: Rows, retain: Rows | None) -> Loss:
        """Return the loss; its parts are the mean loss a token, and the mean divergence a position."""
        kept = retained(retain)
        forget_loss = mean_token_loss(network.logits(anchor), anchor.labels)
        moved = divergence(network.logits_before(kept), network.logits(kept), kept.labels, positions=self.positions)
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
    averages: Averages = "row"

    def loss(self, network: TrainedNetwork, anchor: Rows, retain: Rows | None) -> Loss:
        """Return the loss; its parts are the two mean squared distances of activations."""
        kept = retained(retain)
        steered = network.activations(anchor)
        target = self.target(steered.shape[-1]).to(steered)
        forget_loss = activation_distance(steered, target, anchor.labels, averages=self.averages)
        now, before = network.activations(kept), network.activations_before(kept)
        retain_loss = activation_distance(now, before, kept.labels, averages=self.averages)
        return Loss(self.gamma * forget_loss + self.alpha * retain_loss, forget_loss, retain_loss)

    def target(self, width: int) -> "Tensor":
        """Return where activations are steered to: numbers drawn evenly from 0 to 1, scaled to length c: (1, 1, d)."""
        import torch

        drawn = torch.rand(1, 1, width, generator=torch.Generator().manual_seed(self.seed))
        target: Tensor = drawn / drawn.norm() * self.steering
        return target
