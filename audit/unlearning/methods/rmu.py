"""RMU: the activations of a layer, of what is to be forgotten, are steered to one random direction (Li et al., 2024).

γ · ‖h − c·u‖² of what is to be forgotten + α · ‖h − h before‖² of what is retained (AMNESIA, section 4.2). The loss of
open-unlearning's `RMU` at commit d3d7cf9 with the retain loss `EMBED_DIFF`. Its configuration and its class disagree:
c is 2 and all parameters are trained by the one, c is 20 and three layers' `down_proj` by the other. Here: the former.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from clinaudit.audit.unlearning.methods.batches import Rows
from clinaudit.audit.unlearning.methods.losses import Averages, activation_distance
from clinaudit.audit.unlearning.methods.objective import Loss, retained
from clinaudit.audit.unlearning.methods.trained_network import Scope, TrainedNetwork

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Rmu:
    """Representation misdirection."""

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
