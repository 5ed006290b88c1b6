"""KL-Min: −γ · NLL of what is to be forgotten + α · KL(before ‖ now) of what is retained (Nguyen et al., 2020).

AMNESIA, section 4.2: open-unlearning's `GradDiff` at commit d3d7cf9 with the retain loss `KL`. That one is a mean over
all positions of a batch, padding included; here over those that predict a label, unless `positions` is `all`.
"""

from dataclasses import dataclass
from typing import ClassVar

from clinaudit.audit.unlearning.methods.batches import Rows
from clinaudit.audit.unlearning.methods.losses import Positions, divergence, mean_token_loss
from clinaudit.audit.unlearning.methods.objective import Loss, retained
from clinaudit.audit.unlearning.methods.trained_network import Scope, TrainedNetwork


@dataclass(frozen=True, slots=True)
class KlMin:
    """Ascent on the forget set, held to what the model said of the retain set."""

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
