"""4-bit weights against a loop, relearning and what is never trained on; and every byte put back."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.models.tiny_models import save_gpt2, save_llama
from support.unlearning.loss_batch import make_network
from support.unlearning.tiny_job import PATIENTS, make_bench

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.unlearning.benchmark.records import Split
from clinaudit.audit.unlearning.evaluation.asked_model import AskedModel
from clinaudit.audit.unlearning.evaluation.robustness import changed_weights
from clinaudit.audit.unlearning.evaluation.robustness.changed_weights import (
    RelearningPlan,
    asked_patients,
    donors_of,
    linear_weights,
    quantized,
    questions_to_relearn,
    relearned,
    round_to_nearest,
    texts_to_relearn,
)
from clinaudit.audit.unlearning.methods.batches import Example
from clinaudit.audit.unlearning.methods.examples import answered_question
from clinaudit.audit.unlearning.methods.training import DivergedError, Schedule
from clinaudit.errors import BadInputError, UsageError


def _loop(rows: list[list[float]], group: int) -> list[list[float]]:
    """Round each weight by itself; `round` of Python takes ties to the even number, too."""
    rounded = []
    for row in rows:
        made: list[float] = []
        for start in range(0, len(row), group):
            part = row[start : start + group]
            step = max(map(abs, part)) / 7.5
            made += [min(7, max(-8, round(value / step))) * step if step else 0.0 for value in part]
        rounded.append(made)
    return rounded


@pytest.mark.parametrize(("rows", "columns", "group"), [(3, 256, 128), (2, 200, 128), (4, 7, 128), (5, 12, 5)])
def test_it_is_the_rounding_of_a_loop(rows: int, columns: int, group: int) -> None:
    weight = torch.randn(rows, columns, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    weight[0, :group] = 0.0
    expected = torch.tensor(_loop(weight.tolist(), group), dtype=torch.float64)
    torch.testing.assert_close(round_to_nearest(weight, group=group), expected, rtol=0, atol=1e-12)


def test_rounding_by_hand() -> None:
    # A step of 1: the largest level above is 7, the lowest below -8, and 0 stays 0.
    weight = torch.tensor([[7.5, 0.0, 0.4, -0.6, 2.5, 3.5], [-7.5, 0.49, 7.2, 6.4, -3.2, 0.0]])
    expected = torch.tensor([[7.0, 0.0, 0.0, -1.0, 2.0, 4.0], [-8.0, 0.0, 7.0, 6.0, -3.0, 0.0]])
    assert torch.equal(round_to_nearest(weight), expected)


def test_a_group_has_its_own_step() -> None:
    weight = torch.tensor([[7.5, 3.1, 0.075, 0.031]])
    assert round_to_nearest(weight, group=2)[0].tolist() == pytest.approx([7.0, 3.0, 0.07, 0.03])
    assert round_to_nearest(weight, group=4)[0].tolist() == pytest.approx([7.0, 3.0, 0.0, 0.0])


def test_a_change_below_half_a_step_is_undone() -> None:
    weight = torch.tensor([[7.5, 3.0, -2.0, 1.0]])
    moved = weight + torch.tensor([[0.0, 0.3, -0.2, 0.4]])
    assert torch.equal(round_to_nearest(moved), round_to_nearest(weight))


def _bytes(network: Any) -> dict[str, bytes]:
    return {name: value.detach().numpy().tobytes() for name, value in network.named_parameters()}


def test_linear_layers_alone_are_rounded_and_everything_is_put_back() -> None:
    network = make_network(layers=2)
    before = _bytes(network)
    with quantized(network) as counts:
        within = _bytes(network)
        changed = {name for name, value in within.items() if before[name] != value}
        rounded = {name: value.detach().clone() for name, value in network.named_parameters()}
    assert changed == {f"{name}.weight" for name in linear_weights(network)}
    assert len(changed) == 2 * 7
    assert not any("embed" in name or "norm" in name or "lm_head" in name for name in changed)
    assert counts == {
        "quantized": sum(rounded[name].numel() for name in changed),
        "numbers": sum(value.numel() for value in rounded.values()),
    }
    assert _bytes(network) == before


def test_everything_is_put_back_after_an_error() -> None:
    network = make_network(layers=1)
    before = _bytes(network)
    with pytest.raises(RuntimeError, match="within"), quantized(network):
        raise RuntimeError("within")
    assert _bytes(network) == before


def test_weights_stored_the_other_way_round_are_grouped_by_their_inputs() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    network = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=200, n_layer=1, n_head=2))
    kept = network.transformer.h[0].mlp.c_fc.weight.detach().clone()
    assert kept.shape == (200, 800)  # input, output
    assert all(is_transposed for _, is_transposed in linear_weights(network).values())
    with quantized(network):
        assert torch.equal(network.transformer.h[0].mlp.c_fc.weight, round_to_nearest(kept.T).T)
    assert torch.equal(network.transformer.h[0].mlp.c_fc.weight, kept)


def test_a_network_without_linear_layers_is_refused() -> None:
    class Bare(torch.nn.Module):
        config = type("Config", (), {"model_type": "bare"})

        def get_input_embeddings(self) -> None:
            return None

        get_output_embeddings = get_input_embeddings

    with pytest.raises(BadInputError, match="bare"), quantized(Bare()):
        pass


SPLIT = Split("random", None, 50, PATIENTS[:7], PATIENTS[7:])
BENCH = replace(make_bench(), splits=(SPLIT,))
QUICK = RelearningPlan(steps=3, learning_rate=1e-2, texts=2)


@pytest.fixture
def model(tmp_path: Path, request: pytest.FixtureRequest) -> AskedModel:
    place = tmp_path / "model"
    place.mkdir()
    getattr(request, "param", save_llama)(place)
    return AskedModel.load("asked", inspect_model(place))


def _bytes_of_model(model: AskedModel) -> dict[str, bytes]:
    return {name: value.detach().numpy().tobytes() for name, value in model.network.named_parameters()}


def _within(model: AskedModel, texts: list[Example], plan: RelearningPlan, work: Path, *, seed: int = 1) -> Any:
    return relearned(model, texts, plan, seed=seed, work=work, progress=Progress(quiet=True), title="relearning")


@pytest.mark.parametrize("model", [save_llama, save_gpt2], indirect=True)
def test_all_weights_change_and_every_byte_is_put_back(model: AskedModel, tmp_path: Path) -> None:
    before = _bytes_of_model(model)
    texts = texts_to_relearn("retained_notes", model, BENCH, SPLIT, QUICK, form="addressed")
    made = []
    for seed in (1, 1, 2):
        with _within(model, texts, QUICK, tmp_path, seed=seed):
            made.append(_bytes_of_model(model))
        assert _bytes_of_model(model) == before
    assert all(made[0][name] != before[name] for name in before if "wpe" not in name)
    assert made[0] == made[1] != made[2]
    assert all(one.requires_grad and one.grad is None for one in model.network.parameters())
    # Nothing of the training is left lying about.
    assert [one.name for one in tmp_path.iterdir()] == ["model"]


def test_every_byte_is_put_back_after_an_error_and_after_divergence(model: AskedModel, tmp_path: Path) -> None:
    before = _bytes_of_model(model)
    texts = texts_to_relearn("questions_1", model, BENCH, SPLIT, QUICK, form="addressed")
    with pytest.raises(RuntimeError, match="within"), _within(model, texts, QUICK, tmp_path):
        raise RuntimeError("within")
    assert _bytes_of_model(model) == before
    with pytest.raises(DivergedError), _within(model, texts, replace(QUICK, learning_rate=1e38), tmp_path):
        pass
    assert _bytes_of_model(model) == before
    with pytest.raises(ValueError, match="no such text"), _within(model, [], QUICK, tmp_path):
        pass


@pytest.mark.parametrize(("texts", "a_step", "steps"), [(1, 4, 20), (5, 4, 20), (5, 2, 1), (9, 3, 4)])
def test_there_are_exactly_as_many_steps(model, tmp_path, monkeypatch, texts, a_step, steps) -> None:
    seen: list[Schedule] = []
    monkeypatch.setattr(changed_weights, "train", lambda _nets, _objective, schedule, *_, **__: seen.append(schedule))
    plan = RelearningPlan(steps=steps, texts=a_step, learning_rate=1e-3)
    some = [Example("question", (2, 3, number), 1) for number in range(texts)]
    with _within(model, some, plan, tmp_path):
        pass
    (epoch,) = seen[0].epochs
    assert len(epoch) == steps
    read = [example for (micro_batch,) in epoch for example in micro_batch.anchor]
    assert all(len(micro_batch.anchor) <= a_step for (micro_batch,) in epoch)
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
    texts = texts_to_relearn("retained_notes", model, BENCH, SPLIT, QUICK, form="addressed")
    assert len(texts) == 6
    decoded = {model.tokenizer.decode_with_spans(one.token_ids)[0] for one in texts}
    numbers = {int(text.split("cough ")[1].split()[0]) for text in decoded}
    assert numbers <= {PATIENTS.index(one) for one in SPLIT.retain}
    assert len(numbers) == 6
    everything = texts_to_relearn("retained_notes", model, BENCH, SPLIT, RelearningPlan(), form="addressed")
    assert len(everything) == len(SPLIT.retain)


def test_a_question_is_learned_as_it_is_asked(model: AskedModel) -> None:
    (text,) = texts_to_relearn("questions_1", model, BENCH, SPLIT, QUICK, form="paper")
    (question,) = questions_to_relearn(BENCH.questions, SPLIT, 1)
    assert text == answered_question(question, model.prompts, "paper")
    assert question.patient_id not in asked_patients(SPLIT)


@pytest.mark.parametrize("plan", [{"steps": 0}, {"texts": 0}, {"learning_rate": 0.0}, {"learning_rate": float("nan")}])
def test_plans_that_train_nothing_are_refused(plan: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="relearning"):
        RelearningPlan(**plan).require_sound()
