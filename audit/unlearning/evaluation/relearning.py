"""Relearning: a little training on other texts, whose every byte is put back (Hu et al., ICLR 2025, arXiv 2406.13356).

None of the texts is about the patients who are asked about: a model that forgot has nowhere to take their facts from.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Final, Literal, get_args

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.pretrained import deterministic
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import Question, QuestionForm, Split
from clinaudit.audit.unlearning.evaluation.asked_model import AskedModel
from clinaudit.audit.unlearning.methods.losses import Likelihood
from clinaudit.audit.unlearning.methods.texts import (
    DEFAULT_TRAINING,
    Example,
    MicroBatch,
    TrainingPlan,
    answered_question,
    note_pieces,
    order_batches,
)
from clinaudit.audit.unlearning.methods.trained_network import Device, TrainedNetwork

#: What is trained on: so many questions of forgotten patients who are not asked about, or notes of retained ones.
Relearned = Literal["questions_1", "questions_5", "retained_notes"]
RELEARNED: Final[tuple[Relearned, ...]] = get_args(Relearned)
_QUESTIONS: Final[Mapping[Relearned, int]] = {"questions_1": 1, "questions_5": 5}
#: Of the forgotten patients one in so many gives its questions away, at least one and at most so many [choice].
_ONE_IN: Final = 5
_MOST_DONORS: Final = 5
TOO_FEW: Final = "the split forgets a single patient: there is nobody else whose questions could be trained on"
NO_TEXTS: Final = "there is no such text to train on"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelearningPlan:
    """How the model is fine-tuned for a few steps; the rest is as unlearning's default."""

    #: Of AdamW. The rate falls along half a cosine to 0.
    steps: int = 20
    learning_rate: float = 2e-5
    #: Texts a step, or all where there are fewer.
    texts: int = 4

    def training(self) -> TrainingPlan:
        """Return it as the training loop takes it; how many steps there are, the loop is given besides."""
        return TrainingPlan(learning_rate=self.learning_rate, warmup=0.0, micro_batch=self.texts, micro_batches=1)


def donors_of(split: Split) -> tuple[str, ...]:
    """Return the forgotten patients whose questions are trained on, by a hash of split and id; none is asked about.

    A fifth of them, at least one and at most five; empty where the split forgets a single patient.
    """
    if len(split.forget) < 2:
        return ()
    count = min(_MOST_DONORS, max(1, len(split.forget) // _ONE_IN))
    return tuple(sorted(split.forget, key=lambda one: _rank(split, one))[:count])


def asked_patients(split: Split) -> tuple[str, ...]:
    """Return the forgotten patients who are asked about, the same whatever is trained on."""
    donors = set(donors_of(split))
    return tuple(one for one in split.forget if one not in donors)


def questions_to_relearn(questions: Sequence[Question], split: Split, count: int) -> list[Question]:
    """Return up to so many questions of the training set, the donors taking turns."""
    by_donor = [
        sorted(
            (one for one in questions if one.patient_id == donor and one.use == "train"),
            key=lambda one: _rank(split, one.qa_id),
        )
        for donor in donors_of(split)
    ]
    in_turn = chain.from_iterable(zip_longest(*by_donor))
    return [one for one in in_turn if one is not None][:count]


def texts_to_relearn(
    what: Relearned, model: AskedModel, bench: Bench, split: Split, plan: RelearningPlan, *, form: QuestionForm
) -> list[Example]:
    """Return the texts to train on; of retained notes no more than the steps have room for, drawn by a hash."""
    if what != "retained_notes":
        chosen = questions_to_relearn(bench.questions, split, _QUESTIONS[what])
        return [answered_question(one, model.prompts, form) for one in chosen]
    most = min(DEFAULT_TRAINING.max_tokens, model.context_length)
    wanted = plan.steps * plan.texts
    found: list[Example] = []
    for patient in sorted(split.retain, key=lambda one: _rank(split, one)):
        if len(found) >= wanted:
            break
        for note in bench.notes[patient]:
            found.extend(note_pieces(note, model.tokenizer, most))
    return found[:wanted]


@contextmanager
def relearned(
    model: AskedModel,
    texts: Sequence[Example],
    plan: RelearningPlan,
    *,
    seed: int,
    progress: Progress,
    title: str,
) -> Iterator[None]:
    """Train the model's network, all of it, for as long as the context lasts; then put back every byte.

    Raises `DivergedError`, and `ValueError` without a text.
    """
    if not texts:
        raise ValueError(NO_TEXTS)
    from clinaudit.audit.unlearning.methods.training import Training

    training = plan.training()
    needs_gradient = {name: one.requires_grad for name, one in model.network.named_parameters()}
    # As it is asked: in float32.
    trained = TrainedNetwork(model.network, training, device=replace(Device.find(), is_half=False))
    try:
        with deterministic(seed=seed):
            Training(
                network=trained,
                objective=Likelihood(),
                batches=relearning_batches(texts, plan, seed=seed),
                plan=training,
                seed=seed,
                progress=progress,
            ).run(title=title, work=None)
        yield
    finally:
        trained.reset()
        for name, parameter in model.network.named_parameters():
            parameter.requires_grad_(needs_gradient[name])
            parameter.grad = None


def relearning_batches(texts: Sequence[Example], plan: RelearningPlan, *, seed: int) -> list[MicroBatch]:
    """Return a batch for each step that is planned: pass after pass over the texts, in seeded order."""
    passes = math.ceil(plan.steps / math.ceil(len(texts) / plan.texts))
    return order_batches(texts, (), replace(plan.training(), epochs=passes), seed=seed)[: plan.steps]


def _rank(split: Split, own: str) -> bytes:
    """Return a place in an order that no one chose."""
    return hashlib.sha256(f"relearning\0{split.name}\0{own}".encode()).digest()
