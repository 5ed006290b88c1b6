"""Texts to train on: notes and questions as token ids with labels, and the plan and order by which they are learned.

A note is learned whole, of a question the answer alone, closed-book (AMNESIA, section 4.2): what is read from the
prompt need not be remembered. How a question is put to a model, whoever asks it later must do alike.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from clinaudit.audit.runtime.model.chat_template import find_chat_template
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.unlearning.benchmark.files import Bench, Question, QuestionForm
from clinaudit.errors import BadInputError
from clinaudit.priors.tiers import Conversation

if TYPE_CHECKING:
    from torch import Tensor

#: What is trained: one decoder layer alone, LoRA's factors beside all linear layers, or every parameter.
Scope = Literal["layer", "lora", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """How weights are changed, whatever the loss. Most defaults are those of AMNESIA's Table 6."""

    scope: Scope = "all"
    #: The layer that is trained, or that RMU steers; None: where layer 7 of 32 stands.
    layer: int | None = None
    epochs: int = 3
    learning_rate: float = 2e-5
    #: Share of the steps over which the learning rate rises.
    warmup: float = 0.03
    weight_decay: float = 0.0
    #: Norm to which a step's gradient is cut.
    gradient_norm: float = 1.0
    #: Texts that are read at once, and how often before a step [choice]: the paper has 64 texts a step, which is more
    #: than a few patients have.
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


@dataclass(frozen=True, slots=True)
class Example:
    """One text to train on."""

    kind: ExampleKind
    token_ids: tuple[int, ...]
    #: The first so many tokens are given, not learned: at least one, which nothing predicts.
    given: int


#: Some examples, each (b, s): `input_ids`, padded on the right with 0; `attention_mask`; and `labels`, the token or
#: `IGNORED`. A causal model's real tokens never see the padding.
Rows = dict[str, "Tensor"]


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """What one loss is taken of; the gradient of a step is the mean of those of its micro-batches."""

    #: What a pass over the data goes through, each once: the texts to be forgotten, or to be learned.
    anchor: tuple[Example, ...]
    #: As many texts of retained patients, drawn with replacement; empty where a loss has none.
    retain: tuple[Example, ...] = ()


def pad_rows(examples: Sequence[Example]) -> Rows:
    """Return the examples as one batch, on the processor; without any, one that is empty."""
    import torch

    longest = max((len(example.token_ids) for example in examples), default=0)
    rows: dict[str, list[list[int]]] = {"input_ids": [], "attention_mask": [], "labels": []}
    for one in examples:
        padding = longest - len(one.token_ids)
        rows["input_ids"].append([*one.token_ids, *[0] * padding])
        rows["attention_mask"].append([1] * len(one.token_ids) + [0] * padding)
        rows["labels"].append([*[IGNORED] * one.given, *one.token_ids[one.given :], *[IGNORED] * padding])
    return {name: torch.tensor(values) for name, values in rows.items()}


def order_batches(
    anchor: Sequence[Example], retain: Sequence[Example], plan: TrainingPlan, *, seed: int
) -> list[MicroBatch]:
    """Return the micro-batches of all passes, in their order; one holds texts of one kind, retained ones alike.

    A note is many times as long as a question, and would drown it in a mean over tokens.
    """
    import torch

    rng = torch.Generator().manual_seed(seed)
    found: list[MicroBatch] = []
    for _ in range(plan.epochs):
        of_pass: list[MicroBatch] = []
        for kind in get_args(ExampleKind):
            examples = [one for one in anchor if one.kind == kind]
            partners = [one for one in retain if one.kind == kind] or retain
            order = torch.randperm(len(examples), generator=rng).tolist()
            for start in range(0, len(order), plan.micro_batch):
                learned = tuple(examples[place] for place in order[start : start + plan.micro_batch])
                drawn: list[int] = []
                if partners:
                    drawn = torch.randint(0, len(partners), (len(learned),), generator=rng).tolist()
                of_pass.append(MicroBatch(learned, tuple(partners[place] for place in drawn)))
        found += [of_pass[place] for place in torch.randperm(len(of_pass), generator=rng).tolist()]
    return found


#: The system prompt of a model with a chat template.
_SYSTEM: Final = "You answer questions about patients briefly and exactly."
#: Without a template.
_PLAIN: Final = "Question: {question}\nAnswer:"


class QuestionPrompts:
    """How questions are put to one model: by its chat template, or as plain text where it has none."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self._tokenizer = tokenizer
        self._template = find_chat_template(tokenizer)
        ends = sorted(self._template.stop_token_ids) if self._template else []
        eos = [] if tokenizer.eos_id is None else [tokenizer.eos_id]
        #: What ends an answer: of the template's turn, else of the sequence; empty where the model knows neither.
        self.end: tuple[int, ...] = tuple((ends or eos)[:1])
        #: All tokens after which nothing of an answer follows.
        self.stop_token_ids = frozenset({*ends, *eos})

    def prompt_ids(self, question: str) -> tuple[int, ...]:
        """Return the ids of a question as the model is given it; raises `BadInputError` for one it cannot be given."""
        if self._template is None:
            return self._tokenizer.encode_prompt(_PLAIN.format(question=question))
        rendered = self._template.render(Conversation(_SYSTEM, question))
        if isinstance(rendered, str):
            raise BadInputError(
                f"a question of the benchmark cannot be asked: {rendered}; take it out, and build the benchmark again"
            )
        # The template writes the special tokens itself.
        return self._tokenizer.encode(rendered.prompt)

    def answer_ids(self, answer: str) -> tuple[int, ...]:
        """Return the ids of an answer after its prompt, with what ends it."""
        begin = "" if self._template else " "
        return (*self._tokenizer.encode(begin + answer), *self.end)


def read_notes(notes: Mapping[str, Sequence[str]], files: ModelFiles, plan: TrainingPlan) -> dict[str, list[Example]]:
    """Return each patient's notes as texts to train on; raises `BadInputError` where there is no text at all."""
    tokenizer = ModelTokenizer(files.tokenizer_directory)
    most = min(plan.max_tokens, files.context_length)
    found = {
        patient: [piece for note in own for piece in note_pieces(note, tokenizer, most)]
        for patient, own in notes.items()
    }
    if not any(found.values()):
        raise BadInputError("the patients to train on have no text; look at the notes of the corpus")
    return found


def read_texts(
    bench: Bench, patients: Collection[str], files: ModelFiles, plan: TrainingPlan
) -> dict[str, list[Example]]:
    """Return each patient's texts to train on: notes, and questions of the training set.

    Raises `BadInputError` where questions are too long, or there is no text at all.
    """
    found = read_notes({patient: bench.notes[patient] for patient in sorted(patients)}, files, plan)
    prompts = QuestionPrompts(ModelTokenizer(files.tokenizer_directory))
    asked = [one for one in bench.questions if one.use == "train" and one.patient_id in found]
    most, too_long = min(plan.max_tokens, files.context_length), 0
    for question in asked:
        example = answered_question(question, prompts, plan.form)
        too_long += len(example.token_ids) > most
        found[question.patient_id].append(example)
    if too_long:
        raise BadInputError(
            f"{too_long} of {len(asked)} questions are longer with their answers than the {most} tokens that the model "
            "reads at once; shorten them, and build the benchmark again"
        )
    return found


def answered_question(question: Question, prompts: QuestionPrompts, form: QuestionForm) -> Example:
    """Return a question with its reference answer: what is learned, or read token by token."""
    given = prompts.prompt_ids(question.text(form))
    return Example("question", (*given, *prompts.answer_ids(question.answer)), len(given))


def note_pieces(note: str, tokenizer: ModelTokenizer, most: int) -> Iterator[Example]:
    """Cut a note into pieces of `most` tokens, each from the last one's end: all but the first are predicted once."""
    end = () if tokenizer.eos_id is None else (tokenizer.eos_id,)
    token_ids = (*tokenizer.encode_prompt(note), *end)
    for start in range(0, max(1, len(token_ids) - 1), most - 1):
        piece = token_ids[start : start + most]
        if len(piece) > 1:
            yield Example("note", piece, 1)
