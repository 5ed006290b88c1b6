"""Relearning: what is trained on and what never is, and every byte put back."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.models.tiny_models import save_gpt2, save_llama
from support.unlearning.shared_words import SharedWords
from support.unlearning.tiny_job import PATIENTS, make_bench

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.unlearning.benchmark.files import Split
from clinaudit.audit.unlearning.evaluation.asked_model import AskedModel
from clinaudit.audit.unlearning.evaluation.trials import (
    RelearningPlan,
    Setup,
    TrialOptions,
    Tried,
    asked_patients,
    donors_of,
    questions_to_relearn,
    relearned,
    relearning_batches,
    texts_to_relearn,
)
from clinaudit.audit.unlearning.methods.losses import DivergedError
from clinaudit.audit.unlearning.methods.texts import Example, answered_question
from clinaudit.audit.unlearning.metrics.answer_scores import EntailmentByRules, Scorers

SPLIT = Split("random", None, 50, PATIENTS[:7], PATIENTS[7:])
BENCH = replace(make_bench(), splits=(SPLIT,))
QUICK = RelearningPlan(steps=3, learning_rate=1e-2, texts=2)


@pytest.fixture
def model(tmp_path: Path, request: pytest.FixtureRequest) -> AskedModel:
    place = tmp_path / "model"
    place.mkdir()
    getattr(request, "param", save_llama)(place)
    return AskedModel.load("asked", inspect_model(place))


def _bytes(model: AskedModel) -> dict[str, bytes]:
    return {name: value.detach().numpy().tobytes() for name, value in model.network.named_parameters()}


def _tried(model: AskedModel, plan: RelearningPlan = QUICK, *, seed: int = 1, form: Any = "addressed") -> Tried:
    scorers = Scorers(SharedWords(), EntailmentByRules())
    setup = Setup(bench=BENCH, form=form, seed=seed, scorers=scorers, progress=Progress(quiet=True))
    return Tried(setup=setup, options=TrialOptions(relearning=plan), split=SPLIT, model=model)


@pytest.mark.parametrize("model", [save_llama, save_gpt2], indirect=True)
def test_all_weights_change_and_every_byte_is_put_back(model: AskedModel) -> None:
    before = _bytes(model)
    texts = texts_to_relearn(_tried(model), "retained_notes")
    made = []
    for seed in (1, 1, 2):
        with relearned(_tried(model, seed=seed), texts, "relearning"):
            made.append(_bytes(model))
        assert _bytes(model) == before
    assert all(made[0][name] != before[name] for name in before if "wpe" not in name)
    assert made[0] == made[1] != made[2]
    assert all(one.requires_grad and one.grad is None for one in model.network.parameters())


def test_every_byte_is_put_back_after_an_error_and_after_divergence(model: AskedModel) -> None:
    before, tried = _bytes(model), _tried(model)
    texts = texts_to_relearn(tried, "questions_1")
    with pytest.raises(RuntimeError, match="within"), relearned(tried, texts, "relearning"):
        raise RuntimeError("within")
    assert _bytes(model) == before
    wild = _tried(model, replace(QUICK, learning_rate=1e38))
    with pytest.raises(DivergedError), relearned(wild, texts, "relearning"):
        pass
    assert _bytes(model) == before


@pytest.mark.parametrize(("texts", "a_step", "steps"), [(1, 4, 20), (5, 4, 20), (5, 2, 1), (9, 3, 4)])
def test_there_are_exactly_as_many_steps(texts: int, a_step: int, steps: int) -> None:
    some = [Example("question", (2, 3, number), 1) for number in range(texts)]
    batches = relearning_batches(some, RelearningPlan(steps=steps, texts=a_step), seed=1)
    assert len(batches) == steps
    read = [example for batch in batches for example in batch.anchor]
    assert all(len(batch.anchor) <= a_step for batch in batches)
    # Pass after pass: each text as often as any other, or once less.
    times = [read.count(one) for one in some]
    assert max(times) - min(times) <= 1


@pytest.mark.parametrize(("forgotten", "donors"), [(1, 0), (2, 1), (5, 1), (9, 1), (10, 2), (26, 5), (100, 5)])
def test_who_is_trained_on_is_never_asked(forgotten: int, donors: int) -> None:
    ids = tuple(f"patient {number}" for number in range(forgotten))
    split = Split("random", None, 10, ids, ())
    chosen = donors_of(split)
    assert len(chosen) == donors
    assert set(chosen) | set(asked_patients(split)) == set(ids)
    assert not set(chosen) & set(asked_patients(split))
    # Their order in the split chooses nobody.
    assert set(donors_of(replace(split, forget=ids[::-1]))) == set(chosen)


def test_donors_take_turns_and_only_questions_of_the_training_set_are_learned() -> None:
    split = Split("random", None, 50, PATIENTS[:10], PATIENTS[10:])
    more = [
        replace(one, qa_id=f"{one.qa_id} {number}")
        for one in BENCH.questions
        if one.use == "train"
        for number in (1, 2)
    ]
    chosen = questions_to_relearn([*BENCH.questions, *more], split, 5)
    donors = donors_of(split)
    assert len(donors) == 2
    assert [one.patient_id for one in chosen] == [donors[0], donors[1], donors[0], donors[1], donors[0]]
    assert {one.use for one in chosen} == {"train"}
    assert len({one.qa_id for one in chosen}) == 5
    assert chosen[:1] == questions_to_relearn([*BENCH.questions, *more], split, 1)


def test_retained_notes_are_of_retained_patients_and_no_more_than_the_steps_have_room_for(model: AskedModel) -> None:
    texts = texts_to_relearn(_tried(model), "retained_notes")
    assert len(texts) == 6
    decoded = {model.tokenizer.decode_with_spans(one.token_ids)[0] for one in texts}
    numbers = {int(text.split("cough ")[1].split()[0]) for text in decoded}
    assert numbers <= {PATIENTS.index(one) for one in SPLIT.retain}
    assert len(numbers) == 6
    everything = texts_to_relearn(_tried(model, RelearningPlan()), "retained_notes")
    assert len(everything) == len(SPLIT.retain)


def test_a_question_is_learned_as_it_is_asked(model: AskedModel) -> None:
    (text,) = texts_to_relearn(_tried(model, form="paper"), "questions_1")
    (question,) = questions_to_relearn(BENCH.questions, SPLIT, 1)
    assert text == answered_question(question, model.prompts, "paper")
    assert question.patient_id not in asked_patients(SPLIT)
