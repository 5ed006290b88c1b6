"""What training minimizes: plain likelihood, and the four losses that forget (AMNESIA, 4.2; docs/unlearning.md).

GradDiff, KL-Min, SimNPO and RMU are those of open-unlearning at commit d3d7cf9, with its coefficients. Shapes: b rows,
s tokens, v entries of the vocabulary, d numbers an activation. Knows nothing of how a network is trained or asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from clinaudit.audit.runtime.choices import UnlearningMethod
from clinaudit.audit.unlearning.methods.texts import IGNORED, Rows

if TYPE_CHECKING:
    from torch import Tensor


class DivergedError(Exception):
    """A loss or a weight is no finite number any more."""

    def __init__(self, step: int) -> None:
        super().__init__(f"step {step}")
        #: The step at which it was seen, from 1.
        self.step = step


class Asked(Protocol):
    """A network that is asked, as it is now and as it was before; nothing is learned through what it said before."""

    def logits(self, rows: Rows, *, before: bool = False) -> "Tensor":
        """Return the logits: (b, s, v)."""

    def activations(self, rows: Rows, *, before: bool = False) -> "Tensor":
        """Return what the chosen layer gives: (b, s, d)."""


def following(labels: "Tensor") -> "Tensor":
    """Return for each position the label that it predicts, the next one's: (b, s) -> (b, s)."""
    import torch

    # Labels are moved rather than logits: of those a copy would take gigabytes.
    moved = torch.full_like(labels, IGNORED)
    moved[:, :-1] = labels[:, 1:]
    return moved


def mean_token_loss(logits: "Tensor", labels: "Tensor") -> "Tensor":
    """Return the mean negative log-likelihood over the labels of all rows, in nats: (b, s, v), (b, s) -> ()."""
    from torch.nn.functional import cross_entropy

    return cross_entropy(logits.flatten(0, 1), following(labels).flatten(), ignore_index=IGNORED)


def row_token_losses(logits: "Tensor", labels: "Tensor") -> "Tensor":
    """Return the mean negative log-likelihood of each row's labels, in nats: (b, s, v), (b, s) -> (b,)."""
    from torch.nn.functional import cross_entropy

    predicted = following(labels)
    losses = cross_entropy(logits.flatten(0, 1), predicted.flatten(), ignore_index=IGNORED, reduction="none")
    return losses.view(labels.shape).sum(dim=1) / (predicted != IGNORED).sum(dim=1)


def divergence(before: "Tensor", now: "Tensor", labels: "Tensor") -> "Tensor":
    """Return the mean of KL(before ‖ now), in nats, over the positions that predict a label: (b, s, v) twice -> ().

    Open-unlearning takes the mean over all positions of a batch, padding included.
    """
    from torch.nn.functional import kl_div

    predicts = following(labels) != IGNORED
    logs = now[predicts].log_softmax(dim=-1)
    return kl_div(logs, before[predicts].log_softmax(dim=-1), reduction="batchmean", log_target=True)


def activation_distance(activations: "Tensor", target: "Tensor", labels: "Tensor") -> "Tensor":
    """Return the mean squared distance to a target, over each row's tokens with a label, then over rows.

    (b, s, d), (b, s) -> (); `target` is of the same shape, or spreads to it. Open-unlearning divides each row's sum by
    the number of tokens of every row: of rows with equally many labels, or of one row, both are the same.
    """
    has_label = labels != IGNORED
    squared = (activations - target).square().mean(dim=2)
    return ((squared * has_label).sum(dim=1) / has_label.sum(dim=1)).mean()


class Loss(NamedTuple):
    """The loss of one batch; its parts are before they are weighed."""

    total: "Tensor"
    #: On the texts to be forgotten; in fine-tuning, on those to be learned.
    anchor: "Tensor"
    #: On retained texts; None where the loss has no such part.
    retain: "Tensor | None" = None


@dataclass(frozen=True)
class Likelihood:
    """Plain fine-tuning: the negative log-likelihood of the texts, without retained ones."""

    def loss(self, asked: Asked, anchor: Rows, _retain: Rows) -> Loss:
        """Return the mean loss a token."""
        learned = mean_token_loss(asked.logits(anchor), anchor["labels"])
        return Loss(learned, learned)


@dataclass(frozen=True)
class GradDiff:
    """GradDiff: −γ · NLL of what is to be forgotten + α · NLL of what is retained (Liu et al., 2022).

    The others have other parts in place of −NLL, NLL or both.
    """

    gamma: float = 1.0
    alpha: float = 1.0

    def loss(self, asked: Asked, anchor: Rows, retain: Rows) -> Loss:
        """Return γ · the part of what is to be forgotten + α · the part of what is retained, and both parts."""
        forgotten, kept = self._forgotten(asked, anchor), self._kept(asked, retain)
        return Loss(self.gamma * forgotten + self.alpha * kept, forgotten, kept)

    def _forgotten(self, asked: Asked, rows: Rows) -> "Tensor":
        return -mean_token_loss(asked.logits(rows), rows["labels"])

    def _kept(self, asked: Asked, rows: Rows) -> "Tensor":
        return mean_token_loss(asked.logits(rows), rows["labels"])


@dataclass(frozen=True)
class KlMin(GradDiff):
    """KL-Min: −γ · NLL of what is to be forgotten + α · KL(before ‖ now) of what is retained (Nguyen et al., 2020)."""

    def _kept(self, asked: Asked, rows: Rows) -> "Tensor":
        return divergence(asked.logits(rows, before=True), asked.logits(rows), rows["labels"])


@dataclass(frozen=True)
class SimNpo(GradDiff):
    """SimNPO: −(2/β) · log σ(β · (NLL a token − δ)) · γ of what is to be forgotten + α · NLL of what is retained.

    Fan et al., 2024. It needs no reference model, and a long text weighs no more than a short one.
    """

    gamma: float = 0.125
    beta: float = 4.5
    delta: float = 0.0

    def _forgotten(self, asked: Asked, rows: Rows) -> "Tensor":
        from torch.nn.functional import logsigmoid

        margins = row_token_losses(asked.logits(rows), rows["labels"]) - self.delta
        return -logsigmoid(self.beta * margins).mean() * 2 / self.beta


@dataclass(frozen=True)
class Rmu(GradDiff):
    """RMU: γ · ‖h − c·u‖² of what is to be forgotten + α · ‖h − h before‖² of what is retained (Li et al., 2024).

    The activations h of a layer are steered to one random direction u. Open-unlearning's configuration and its class
    disagree: c is 2 and all parameters are trained by the one, c is 20 and three layers' `down_proj` by the other.
    Here: the former, with the retain loss `EMBED_DIFF`.
    """

    #: Length of the target (c).
    steering: float = 2.0
    #: Of the direction.
    seed: int = 0

    def _forgotten(self, asked: Asked, rows: Rows) -> "Tensor":
        steered = asked.activations(rows)
        return activation_distance(steered, self.target(steered.shape[-1]).to(steered), rows["labels"])

    def _kept(self, asked: Asked, rows: Rows) -> "Tensor":
        return activation_distance(asked.activations(rows), asked.activations(rows, before=True), rows["labels"])

    def target(self, width: int) -> "Tensor":
        """Return where activations are steered to: numbers drawn evenly from 0 to 1, scaled to length c: (1, 1, d)."""
        import torch

        drawn = torch.rand(1, 1, width, generator=torch.Generator().manual_seed(self.seed))
        target: Tensor = drawn / drawn.norm() * self.steering
        return target


#: A loss with its coefficients, which are its fields.
Objective = Likelihood | GradDiff
METHODS: Final[Mapping[UnlearningMethod, type[GradDiff]]] = {
    "grad_diff": GradDiff,
    "kl_min": KlMin,
    "sim_npo": SimNpo,
    "rmu": Rmu,
}
