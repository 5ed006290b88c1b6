"""What a method minimizes: one number for one micro-batch, and the parts that it is made of.

Each method has a module of its own. Knows nothing of training.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from clinaudit.audit.unlearning.methods.batches import Rows
from clinaudit.audit.unlearning.methods.losses import mean_token_loss
from clinaudit.audit.unlearning.methods.trained_network import Scope, TrainedNetwork

if TYPE_CHECKING:
    from torch import Tensor


class Loss(NamedTuple):
    """The loss of one micro-batch; its parts are before they are weighed."""

    total: "Tensor"
    #: On the texts to be forgotten; in fine-tuning, on those to be learned.
    anchor: "Tensor"
    #: On retained texts; None where the loss has no such part.
    retain: "Tensor | None"


class Objective(Protocol):
    """A loss with its coefficients, which are its fields."""

    #: What is trained where the user does not say.
    default_scope: ClassVar[Scope]

    def loss(self, network: TrainedNetwork, anchor: Rows, retain: Rows | None) -> Loss:
        """Return the loss of one micro-batch."""
        ...


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
