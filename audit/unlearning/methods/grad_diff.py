"""GradDiff: −γ · NLL of what is to be forgotten + α · NLL of what is retained (Liu et al., 2022; AMNESIA, section 4.2).

The loss of open-unlearning's `GradDiff` at commit d3d7cf9, with its coefficients.
"""

from dataclasses import dataclass
from typing import ClassVar

from clinaudit.audit.unlearning.methods.batches import Rows
from clinaudit.audit.unlearning.methods.losses import mean_token_loss
from clinaudit.audit.unlearning.methods.objective import Loss, retained
from clinaudit.audit.unlearning.methods.trained_network import Scope, TrainedNetwork


@dataclass(frozen=True, slots=True)
class GradDiff:
    """Ascent on the forget set beside descent on the retain set."""

    default_scope: ClassVar[Scope] = "layer"
    gamma: float = 1.0
    alpha: float = 1.0

    def loss(self, network: TrainedNetwork, anchor: Rows, retain: Rows | None) -> Loss:
        """Return the loss; its parts are the two mean losses a token."""
        kept = retained(retain)
        forget_loss = mean_token_loss(network.logits(anchor), anchor.labels)
        retain_loss = mean_token_loss(network.logits(kept), kept.labels)
        return Loss(self.alpha * retain_loss - self.gamma * forget_loss, forget_loss, retain_loss)
