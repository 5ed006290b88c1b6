"""How weights are changed, whatever the loss: epochs, rate, batches. Most defaults are those of AMNESIA, Table 6."""

from dataclasses import dataclass
from typing import Final

from clinaudit.audit.unlearning.benchmark.records import QuestionForm


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """How weights are changed, whatever the loss."""

    epochs: int = 3
    learning_rate: float = 2e-5
    #: Share of the steps over which the learning rate rises.
    warmup: float = 0.03
    weight_decay: float = 0.0
    #: Norm to which a step's gradient is cut, as transformers' trainer does.
    gradient_norm: float = 1.0
    #: Texts of a micro-batch, and micro-batches of a step [choice]: the paper has 64 texts a step, which is more than
    #: a few patients have.
    micro_batch: int = 4
    micro_batches: int = 2
    #: Longer notes are learned in pieces of so many tokens.
    max_tokens: int = 2048
    #: How questions are asked of the model [choice]: the paper's form names nobody.
    form: QuestionForm = "addressed"


DEFAULT_TRAINING: Final = TrainingPlan()
