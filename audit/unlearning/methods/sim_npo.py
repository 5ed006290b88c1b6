"""SimNPO: −(2/β) · log σ(β · (NLL a token − δ)) · γ of what is to be forgotten + α · NLL of what is retained.

Fan et al., 2024; AMNESIA, section 4.2. The loss of open-unlearning's `SimNPO` at commit d3d7cf9, with the coefficients
of its configuration. It needs no reference model, and a long text weighs no more than a short one.
"""

from dataclasses import dataclass
from typing import ClassVar

from clinaudit.audit.unlearning.methods.batches import Rows
from clinaudit.audit.unlearning.methods.losses import mean_token_loss, row_token_losses
from clinaudit.audit.unlearning.methods.objective import Loss, retained
from clinaudit.audit.unlearning.methods.trained_network import Scope, TrainedNetwork


@dataclass(frozen=True, slots=True)
class SimNpo:
    """The texts to be forgotten as negative preferences."""

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
