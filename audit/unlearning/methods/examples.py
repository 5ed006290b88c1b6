"""From a benchmark's patients to texts to train on: their notes, and the questions of the training set.

Owns how a question is put to a model, which whoever asks it later must do alike (docs/unlearning.md). The note never
stands before the question: what is read from the prompt need not be remembered.
"""

from collections.abc import Collection, Iterator
from itertools import chain
from typing import Final

from clinaudit.audit.runtime.model.chat_template import find_chat_template
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.unlearning.benchmark.records import Question, QuestionForm
from clinaudit.audit.unlearning.methods.batches import Example, TrainingPlan
from clinaudit.audit.unlearning.methods.model_in_training import Job
from clinaudit.errors import BadInputError
from clinaudit.priors.renderings import Conversation

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


def read_examples(job: Job, patients: Collection[str], plan: TrainingPlan) -> dict[str, list[Example]]:
    """Return each patient's texts to train on.

    Raises `BadInputError` where a question with its answer is longer than the model reads at once, or the patients have
    no text at all.
    """
    bench = job.bench
    tokenizer = ModelTokenizer(job.files.tokenizer_directory)
    prompts = QuestionPrompts(tokenizer)
    most = min(plan.max_tokens, job.files.context_length)
    found: dict[str, list[Example]] = {patient: [] for patient in sorted(patients)}
    for patient, examples in found.items():
        for note in bench.notes[patient]:
            examples.extend(note_pieces(note, tokenizer, most))
    asked = [one for one in bench.questions if one.use == "train" and one.patient_id in found]
    too_long = 0
    for question in asked:
        example = answered_question(question, prompts, plan.form)
        too_long += len(example.token_ids) > most
        found[question.patient_id].append(example)
    if too_long:
        raise BadInputError(
            f"{too_long} of {len(asked)} questions are longer with their answers than the {most} tokens that the model "
            "reads at once; shorten them, and build the benchmark again"
        )
    if not any(found.values()):
        raise BadInputError("the patients of the split have no text to train on; build the benchmark again")
    return found


def flatten(examples: dict[str, list[Example]], patients: Collection[str]) -> list[Example]:
    """Return the texts of some patients, in the order of the patients."""
    return list(chain.from_iterable(examples[patient] for patient in patients))


def answered_question(question: Question, prompts: QuestionPrompts, form: QuestionForm) -> Example:
    """Return a question with its reference answer: what is learned, or read token by token."""
    given = prompts.prompt_ids(question.text(form))
    return Example("question", (*given, *prompts.answer_ids(question.answer)), len(given))


def note_pieces(note: str, tokenizer: ModelTokenizer, most: int) -> Iterator[Example]:
    """Cut a note into pieces of `most` tokens: each token but the first is predicted once.

    So a piece begins with the last one's end.
    """
    end = () if tokenizer.eos_id is None else (tokenizer.eos_id,)
    token_ids = (*tokenizer.encode_prompt(note), *end)
    for start in range(0, max(1, len(token_ids) - 1), most - 1):
        piece = token_ids[start : start + most]
        if len(piece) > 1:
            yield Example("note", piece, 1)
