"""One model that is asked the questions of a benchmark: greedily, by sampling, or teacher-forced.

The note is not in the prompt, and no repetition guard cuts an answer: it would hide a collapse (docs/unlearning.md).
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

import numpy as np

from clinaudit.audit.runtime.model.engines.sampling import draw_tokens, uniform_numbers
from clinaudit.audit.runtime.model.files import ModelFiles
from clinaudit.audit.runtime.model.pretrained import deterministic
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.unlearning.benchmark.files import Answer, Question, QuestionForm
from clinaudit.audit.unlearning.methods.texts import IGNORED, QuestionPrompts, answered_question, pad_rows
from clinaudit.audit.unlearning.methods.trained_network import load_network, place
from clinaudit.errors import BadInputError

if TYPE_CHECKING:
    from torch import Tensor

#: Longest answer, as open-unlearning has it at commit d3d7cf9 [choice]: AMNESIA names none.
MOST_ANSWER_TOKENS: Final = 200
#: Questions of one batch of decoding, and texts of one forward pass, which holds the whole vocabulary for each token.
ANSWERED_AT_ONCE: Final = 32
_READ_AT_ONCE: Final = 4
Advance = Callable[[int], None]
Item = TypeVar("Item")


class _Asked(NamedTuple):
    """One answer that is to be decoded."""

    qa_id: str
    #: 0: greedily.
    sample: int
    prompt_ids: tuple[int, ...]
    #: Tokens that the answer may have.
    room: int


class AskedModel:
    """One loaded network of transformers with its tokenizer, in float32; one thread an operation, for equal results."""

    def __init__(
        self, name: str, network: Any, tokenizer: ModelTokenizer, *, context_length: int, stop_token_ids: frozenset[int]
    ) -> None:
        """`stop_token_ids` end an answer."""
        from transformers import GenerationConfig

        self.name = name
        self.network: Any = network.eval()
        self.tokenizer = tokenizer
        self.prompts = QuestionPrompts(tokenizer)
        #: What prompt and answer may have together, in tokens.
        self.context_length = context_length
        self._stop_token_ids = stop_token_ids | self.prompts.stop_token_ids
        untyped: Any = GenerationConfig
        # `generate` takes from here what it is not given: a model's own file may ask for sampling or penalties.
        self.network.generation_config = untyped()

    @classmethod
    def load(cls, name: str, files: ModelFiles) -> Self:
        """Load a model; raises `BadInputError` where it cannot be loaded, or is quantized."""
        tokenizer = ModelTokenizer(files.tokenizer_directory)
        tokenizer.require_embedded(files.vocab_size)
        return cls(
            name,
            place(load_network(files, refusal="is not evaluated")),
            tokenizer,
            context_length=files.context_length,
            stop_token_ids=files.stop_token_ids,
        )

    def answer(
        self,
        questions: Sequence[Question],
        form: QuestionForm,
        *,
        count: int = 0,
        seed: int = 0,
        advance: Advance = lambda _answers: None,
    ) -> list[Answer]:
        """Return the greedy answers, in the order of the questions; with a `count`, so many samples of each instead.

        Samples, 1 to `count`, are drawn at temperature 1: each token is the inverse of the predicted distribution at a
        number that depends on the seed, the question's id, the sample and the token's place alone, so that other
        questions and batches change no draw. `advance` learns of answers as they come. Raises `BadInputError` where a
        question fills the model's context.
        """
        prompts = [self.prompts.prompt_ids(question.text(form)) for question in questions]
        too_long = sum(len(prompt) >= self.context_length for prompt in prompts)
        if too_long:
            raise BadInputError(
                f"{too_long} of {len(prompts)} questions leave no room for an answer in the {self.context_length} "
                f"tokens of the model {self.name}; shorten them in --qa FILE and build the benchmark again"
            )
        asked = [
            _Asked(question.qa_id, sample, prompt, min(MOST_ANSWER_TOKENS, self.context_length - len(prompt)))
            for question, prompt in zip(questions, prompts, strict=True)
            for sample in (range(1, count + 1) if count else (0,))
        ]
        answers: dict[tuple[str, int], Answer] = {}
        # Together only what has the same room: no row is decoded beyond the context for another's sake.
        ordered = sorted(asked, key=lambda one: (-one.room, -len(one.prompt_ids)))
        for room, alike in groupby(ordered, key=lambda one: one.room):
            for batch in _batches(list(alike), ANSWERED_AT_ONCE):
                for one, token_ids in zip(batch, self._generate(batch, room=room, seed=seed), strict=True):
                    text, _ = self.tokenizer.decode_with_spans(token_ids)
                    key = one.qa_id, one.sample
                    answers[key] = Answer(self.name, one.qa_id, text.strip(), token_ids, sample=one.sample)
                advance(len(batch))
        return [answers[one.qa_id, one.sample] for one in asked]

    def exact_memorization(self, questions: Sequence[Question], form: QuestionForm) -> dict[str, float]:
        """Return by qa_id the share of the reference answer's tokens, its end included, that the model would write."""
        import torch

        texts = [answered_question(question, self.prompts, form) for question in questions]
        too_long = sum(len(text.token_ids) > self.context_length for text in texts)
        if too_long:
            raise BadInputError(
                f"{too_long} of {len(texts)} texts are longer than the {self.context_length} tokens that the model "
                f"{self.name} reads at once; shorten questions and answers in --qa FILE and build the benchmark again"
            )
        shares: dict[int, float] = {}
        by_length = sorted(range(len(texts)), key=lambda place: len(texts[place].token_ids))
        with deterministic(seed=0), torch.no_grad():
            for places in _batches(by_length, _READ_AT_ONCE):
                rows = pad_rows([texts[place] for place in places])
                rows = {name: values.to(self.network.device) for name, values in rows.items()}
                following = rows.pop("labels")[:, 1:]
                logits = self.network(**rows, use_cache=False).logits
                is_right = (logits[:, :-1].argmax(dim=-1) == following).sum(dim=1)
                shares.update(zip(places, (is_right / (following != IGNORED).sum(dim=1)).tolist(), strict=True))
        return {question.qa_id: shares[place] for place, question in enumerate(questions)}

    def _generate(self, batch: Sequence[_Asked], *, room: int, seed: int) -> list[tuple[int, ...]]:
        """Return the ids of each answer, without what ends it. A batch is greedy or sampled, not both."""
        import torch
        from transformers import GenerationConfig

        longest = max(len(one.prompt_ids) for one in batch)
        pads = [longest - len(one.prompt_ids) for one in batch]
        device = self.network.device
        # On the left: what follows a prompt must follow its last token. Masked, so that the padding's id means nothing.
        rows = [[0] * pad + list(one.prompt_ids) for pad, one in zip(pads, batch, strict=True)]
        masks = [[0] * pad + [1] * (longest - pad) for pad in pads]
        stops = sorted(self._stop_token_ids)
        untyped: Any = GenerationConfig
        drawing = [_Draws(batch, seed=seed, prompt_tokens=longest)] if batch[0].sample else []
        with deterministic(seed=0), torch.no_grad():
            written = self.network.generate(
                torch.tensor(rows, device=device),
                attention_mask=torch.tensor(masks, device=device),
                logits_processor=drawing,
                generation_config=untyped(
                    # The processor draws, for each row apart: the library draws from one stream for the whole batch.
                    do_sample=False,
                    max_new_tokens=room,
                    eos_token_id=stops or None,
                    pad_token_id=stops[0] if stops else 0,
                ),
            )
        stop = self._stop_token_ids
        return [tuple(takewhile(lambda token: token not in stop, row)) for row in written[:, longest:].tolist()]


class _Draws:
    """A logits processor of transformers: it leaves each row the one token that is drawn, at temperature 1."""

    def __init__(self, batch: Sequence[_Asked], *, seed: int, prompt_tokens: int) -> None:
        seeds = (hashlib.sha256(f"{seed}\0{one.qa_id}\0{one.sample}".encode()).digest() for one in batch)
        numbers = [uniform_numbers(int.from_bytes(own, "big"), MOST_ANSWER_TOKENS) for own in seeds]
        self._numbers = np.stack(numbers)  # (b, tokens of an answer), each in [0, 1)
        self._prompt_tokens = prompt_tokens

    def __call__(self, token_ids: "Tensor", scores: "Tensor") -> "Tensor":
        """Return the scores (b, v) with all tokens ruled out but the drawn ones."""
        import torch

        place = token_ids.shape[1] - self._prompt_tokens
        drawn = draw_tokens(scores, self._numbers[:, place].tolist(), temperatures=[1.0] * len(scores))
        return torch.full_like(scores, -torch.inf).scatter(1, drawn[:, None], 0.0)


def _batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
