"""Asking a model: what is decoded, drawn and read, against loops that do one token of one question at a time."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from support.models.tiny_models import CONTEXT, save_gpt2, save_llama
from support.unlearning.tiny_job import make_bench

from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.unlearning.benchmark.files import Question
from clinaudit.audit.unlearning.evaluation import asked_model
from clinaudit.audit.unlearning.evaluation.asked_model import MOST_ANSWER_TOKENS, AskedModel
from clinaudit.audit.unlearning.methods.texts import answered_question
from clinaudit.errors import BadInputError

#: Of different lengths, and more than are answered at once.
QUESTIONS = tuple(
    replace(question, question=f"What was the plan{' then' * (place % 5)}?")
    for place, question in enumerate(make_bench().questions[:20])
)


#: Tokens of an answer where its length is not the matter.
SHORT = 40


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_model, "MOST_ANSWER_TOKENS", SHORT)


def _load(place: Path, *, save: Any = save_llama) -> AskedModel:
    if not place.exists():
        place.mkdir()
        save(place)
    return AskedModel.load("asked", inspect_model(place))


def _next_token(model: AskedModel, token_ids: tuple[int, ...]) -> int:
    with torch.no_grad():
        return int(model.network(torch.tensor([token_ids])).logits[0, -1].argmax())


def _greedy_loop(model: AskedModel, question: Question) -> tuple[int, ...]:
    prompt = written = model.prompts.prompt_ids(question.text("addressed"))
    while len(written) < min(len(prompt) + SHORT, CONTEXT):
        token = _next_token(model, written)
        if token == model.tokenizer.eos_id:
            break
        written = (*written, token)
    return written[len(prompt) :]


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("save", [save_llama, save_gpt2])
def test_greedy_answers_are_those_of_a_loop_of_one_token_of_one_question(tmp_path: Path, save: Any) -> None:
    model = _load(tmp_path / "model", save=save)
    answers = model.answer(QUESTIONS, "addressed")
    assert [answer.qa_id for answer in answers] == [question.qa_id for question in QUESTIONS]
    for place in (0, 4, 19):
        assert answers[place].token_ids == _greedy_loop(model, QUESTIONS[place])
        assert answers[place].text == model.tokenizer.decode_with_spans(answers[place].token_ids or ())[0].strip()
    assert {answer.sample for answer in answers} == {0}


def test_no_repetition_is_cut_whatever_the_models_own_file_asks_for(tmp_path: Path) -> None:
    _load(tmp_path / "model")
    asks = {"do_sample": True, "repetition_penalty": 5.0, "no_repeat_ngram_size": 2, "max_new_tokens": 3}
    (tmp_path / "model" / "generation_config.json").write_text(json.dumps(asks))
    model = _load(tmp_path / "model")

    def always_one_token(_module: object, _inputs: object, logits: Any) -> Any:
        logits[..., 70] = 1e3
        return logits

    model.network.lm_head.register_forward_hook(always_one_token)
    long = replace(QUESTIONS[0], qa_id="long", question=" ".join(["plan"] * 60))
    first, last = model.answer([QUESTIONS[0], long], "addressed")
    assert first.token_ids == (70,) * MOST_ANSWER_TOKENS
    # As many as the context has room for, not one less for the company of a shorter question.
    assert last.token_ids == (70,) * (CONTEXT - len(model.prompts.prompt_ids(long.text("addressed"))))


@pytest.mark.usefixtures("_short")
def test_a_draw_depends_on_nothing_but_seed_question_and_sample(tmp_path: Path) -> None:
    model = _load(tmp_path / "model")
    together = model.answer(QUESTIONS[:9], "addressed", count=3, seed=5)
    assert [(one.qa_id, one.sample) for one in together[:4]] == [
        *((QUESTIONS[0].qa_id, sample) for sample in (1, 2, 3)),
        (QUESTIONS[1].qa_id, 1),
    ]
    alone = model.answer(QUESTIONS[4:5], "addressed", count=2, seed=5)
    assert alone == together[12:14]
    assert alone != model.answer(QUESTIONS[4:5], "addressed", count=2, seed=6)
    assert len({one.token_ids for one in together}) == len(together)


def test_tokens_are_drawn_as_often_as_they_are_likely(tmp_path: Path) -> None:
    model = _load(tmp_path / "model")

    def half_a_quarter_and_the_end(_module: object, _inputs: object, logits: Any) -> Any:
        logits[...] = -math.inf
        logits[..., 65], logits[..., 66], logits[..., 0] = math.log(2), 0.0, 0.0
        return logits

    model.network.lm_head.register_forward_hook(half_a_quarter_and_the_end)
    drawn = [one.token_ids or () for one in model.answer(QUESTIONS[:1], "addressed", count=600, seed=0)]
    tokens = [token for token_ids in drawn for token in token_ids]
    ends = len(drawn)
    assert set(tokens) == {65, 66}
    # Of some 2,400 draws; one standard deviation of the first share is 0.01.
    assert tokens.count(65) / (len(tokens) + ends) == pytest.approx(0.5, abs=0.03)
    assert tokens.count(66) / (len(tokens) + ends) == pytest.approx(0.25, abs=0.03)


def test_exact_memorization_by_hand(tmp_path: Path) -> None:
    model = _load(tmp_path / "model")
    question = QUESTIONS[0]
    example = answered_question(question, model.prompts, "addressed")
    answer = example.token_ids[example.given :]
    assert answer[-1] == model.tokenizer.eos_id
    assert len(answer) >= 4
    # Each token is said to follow but two: the second of the answer and its last.
    place_of_first = example.given

    def network(*, input_ids: Any, attention_mask: Any, use_cache: bool) -> Any:
        logits = torch.zeros(*input_ids.shape, 400)
        for row, token_ids in enumerate(input_ids.tolist()):
            for place, following in enumerate([*token_ids[1:], 0]):
                is_wrong = place in (place_of_first, len(token_ids) - 2)
                logits[row, place, following + 1 if is_wrong else following] = 1.0
        return SimpleNamespace(logits=logits)

    asked = AskedModel(
        "stub", _Stub(network), model.tokenizer, context_length=model.context_length, stop_token_ids=frozenset()
    )
    assert asked.exact_memorization([question], "addressed") == {
        question.qa_id: pytest.approx((len(answer) - 2) / len(answer))
    }


class _Stub:
    """Stands for a network: what it says next is made up."""

    device = "cpu"

    def __init__(self, say: Any) -> None:
        self._say = say

    def __call__(self, **inputs: Any) -> Any:
        return self._say(**inputs)

    def eval(self) -> "_Stub":
        return self


def test_what_is_read_of_a_batch_is_what_is_read_of_one(tmp_path: Path) -> None:
    model = _load(tmp_path / "model")
    shares = model.exact_memorization(QUESTIONS, "paper")
    examples = [answered_question(question, model.prompts, "paper") for question in QUESTIONS]
    for place in (0, 4, 19):
        ids, given = examples[place].token_ids, examples[place].given
        right = []
        for at in range(given, len(ids)):
            with torch.no_grad():
                logits = model.network(torch.tensor([ids[:at]])).logits[0, -1]
            right.append(int(logits.argmax()) == ids[at])
        assert shares[QUESTIONS[place].qa_id] == pytest.approx(sum(right) / len(right))


def test_a_question_without_room_for_an_answer_is_refused(tmp_path: Path) -> None:
    model = _load(tmp_path / "model")
    long = replace(QUESTIONS[0], question=" ".join(["plan"] * 300))
    with pytest.raises(BadInputError, match=r"1 of 2 questions leave no room .* 256 tokens"):
        model.answer([QUESTIONS[1], long], "paper")
    with pytest.raises(BadInputError, match=r"1 of 2 texts are longer than the 256 tokens"):
        model.exact_memorization([QUESTIONS[1], long], "paper")
