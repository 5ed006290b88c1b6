"""Texts as rows of token ids with labels, and the plan and order by which they are trained on (docs/unlearning.md).

A note is learned whole, of a question the answer alone, closed-book (AMNESIA, section 4.2). Most defaults of a plan are
those of Table 6.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from clinaudit.audit.unlearning.benchmark.records import QuestionForm

if TYPE_CHECKING:
    from torch import Generator, Tensor


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


#: Label of a token that no loss counts; torch's cross entropy leaves it out.
IGNORED: Final = -100
ExampleKind = Literal["note", "question"]
_KINDS: Final[tuple[ExampleKind, ...]] = ("note", "question")


@dataclass(frozen=True, slots=True)
class Example:
    """One text to train on."""

    kind: ExampleKind
    token_ids: tuple[int, ...]
    #: The first so many tokens are given, not learned: at least one, which nothing predicts.
    given: int


@dataclass(frozen=True, slots=True)
class Rows:
    """Some examples, padded on the right to the longest: a causal model's real tokens never see the padding."""

    #: (b, s), padded with 0.
    token_ids: "Tensor"
    #: (b, s): 1 where there is text, 0 where there is padding.
    is_text: "Tensor"
    #: (b, s): the token, or `IGNORED`.
    labels: "Tensor"


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """What one loss is taken of; the gradients of a step are the mean of those of its micro-batches."""

    #: What a pass over the data goes through, each once: the texts to be forgotten, or to be learned.
    anchor: tuple[Example, ...]
    #: As many texts of retained patients, drawn with replacement; empty where a loss has none.
    retain: tuple[Example, ...]


Step = tuple[MicroBatch, ...]


def pad_rows(examples: Sequence[Example], *, device: Any) -> Rows:
    """Return the examples as one batch."""
    import torch

    longest = max(len(example.token_ids) for example in examples)

    def padded(values: Sequence[int], padding: int) -> list[int]:
        return [*values, *[padding] * (longest - len(values))]

    labels = [[*[IGNORED] * one.given, *one.token_ids[one.given :]] for one in examples]
    return Rows(
        token_ids=torch.tensor([padded(one.token_ids, 0) for one in examples], device=device),
        is_text=torch.tensor([padded([1] * len(one.token_ids), 0) for one in examples], device=device),
        labels=torch.tensor([padded(row, IGNORED) for row in labels], device=device),
    )


def order_steps(
    anchor: Sequence[Example], retain: Sequence[Example], plan: TrainingPlan, *, seed: int
) -> list[list[Step]]:
    """Return the steps of each epoch.

    A micro-batch holds texts of one kind, and its retained texts are of that kind where there are any: a note is many
    times as long as a question, and would drown it in a mean over tokens.
    """
    import torch

    rng = torch.Generator().manual_seed(seed)
    kinds = {kind: [one for one in anchor if one.kind == kind] for kind in _KINDS}
    partners = {kind: [one for one in retain if one.kind == kind] or list(retain) for kind in _KINDS}
    return [_order_epoch(kinds, partners, plan, rng) for _ in range(plan.epochs)]


def _order_epoch(
    anchor: Mapping[ExampleKind, Sequence[Example]],
    retain: Mapping[ExampleKind, Sequence[Example]],
    plan: TrainingPlan,
    rng: "Generator",
) -> list[Step]:
    import torch

    found: list[MicroBatch] = []
    for kind, examples in anchor.items():
        order = torch.randperm(len(examples), generator=rng).tolist()
        for start in range(0, len(order), plan.micro_batch):
            places = order[start : start + plan.micro_batch]
            drawn: list[int] = []
            if retain[kind]:
                drawn = torch.randint(0, len(retain[kind]), (len(places),), generator=rng).tolist()
            found.append(
                MicroBatch(tuple(examples[place] for place in places), tuple(retain[kind][place] for place in drawn))
            )
    mixed = [found[place] for place in torch.randperm(len(found), generator=rng).tolist()]
    return [tuple(mixed[start : start + plan.micro_batches]) for start in range(0, len(mixed), plan.micro_batches)]
