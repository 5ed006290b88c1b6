"""Trials: leak@k against all subsets, all trials of a tiny model, who is tried, and relearning, which puts back all."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hand_made_bench import question
from support.models.tiny_models import save_gpt2, save_llama
from support.unlearning.shared_words import SharedWords
from support.unlearning.tiny_job import PATIENTS, make_bench

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.unlearning.benchmark.files import Answer, Bench, Keyword, Question, QuestionForm, Split
from clinaudit.audit.unlearning.evaluation.asked_model import Advance, AskedModel
from clinaudit.audit.unlearning.evaluation.trials import (
    NO_KEYWORDS,
    TOO_FEW,
    TRIALS,
    RelearningPlan,
    Setup,
    TrialOptions,
    Tried,
    asked_patients,
    compared_patients,
    donors_of,
    floor_patients,
    leak_at,
    measure_leaks,
    measure_trial,
    questions_to_relearn,
    relearned,
    relearning_batches,
    texts_to_relearn,
)
from clinaudit.audit.unlearning.methods.losses import DivergedError
from clinaudit.audit.unlearning.methods.texts import Example
from clinaudit.audit.unlearning.metrics.answer_scores import EntailmentByRules, Scorers, score_answers
from clinaudit.audit.unlearning.metrics.means import PATIENT_FIGURES, patient_figures

_VALUES = st.lists(st.integers(0, 64).map(lambda whole: whole / 64), min_size=1, max_size=8)


@given(_VALUES, st.data())
def test_it_is_the_mean_of_the_largest_of_all_subsets(values: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    largest = [max(chosen) for chosen in itertools.combinations(values, k)]
    twin = sum(map(Fraction, largest), Fraction(0)) / len(largest)
    assert leak_at(values, k) == pytest.approx(float(twin), abs=1e-12)


def test_leak_at_by_hand() -> None:
    assert leak_at([0.0, 1.0, 0.5], 1) == 0.5
    # Of three pairs two hold the 1, and one has 0.5.
    assert leak_at([0.0, 1.0, 0.5], 2) == pytest.approx(2.5 / 3)
    # A leak in one of 32 is met by one of four who ask eight times.
    assert leak_at([1.0] + [0.0] * 31, 8) == pytest.approx(0.25)
    # Binomials of a thousand samples are no floats any more.
    assert leak_at([0.25] * 2000, 1000) == pytest.approx(0.25)
    for values, k in (([0.5], 2), ([0.5], 0), ([], 1)):
        with pytest.raises(ValueError, match="as many values"):
            leak_at(values, k)


def test_answers_are_scored_without_the_words_of_their_question() -> None:
    asked = question("q", "P", "Is there cancer?", "a lung cancer")
    keywords = [Keyword("q", "cancer", 1.0, ("note",)), Keyword("q", "biopsy", 3.0, ("note",))]
    answers = [Answer("m", "q", text, None, sample=place) for place, text in enumerate(("cancer biopsy", "cancer"))]
    leaks = measure_leaks([asked], keywords, answers, form="paper", ks=(1, 2))
    values = dict(leaks.select("metric", "value").iter_rows())
    assert values == pytest.approx(
        {
            "ls@1": 0.625,
            "ls@2": 1.0,
            "ls_echo_free@1": 0.5,
            "ls_echo_free@2": 1.0,
            "rouge_l@1": 1 / 3,
            "rouge_l@2": 1 / 3,
        }
    )
    # Without keywords there is no leakage score to be largest.
    without = measure_leaks([asked], [], answers, form="paper", ks=(1,))
    assert without.filter(metric="ls@1")["reason"].to_list() == [NO_KEYWORDS]


FORGET, RETAIN, NEVER = PATIENTS[:6], PATIENTS[6:8], PATIENTS[8:]
SPLIT = Split("random", None, 75, FORGET, RETAIN)
OPTIONS = TrialOptions(samples=8, relearning=RelearningPlan(steps=2, learning_rate=1e-3))


def _bench() -> Bench:
    bench = make_bench()
    return replace(
        bench,
        patients=tuple(replace(one, is_trained=one.patient_id not in NEVER) for one in bench.patients),
        splits=(SPLIT,),
        keywords=tuple(Keyword(one.qa_id, "rest", 1.0, ("answer",)) for one in bench.questions),
    )


BENCH = _bench()


@dataclass
class _Shy:
    """Stands for a model that says what it knows of forgotten patients to whoever asks it eight times."""

    name: str = "shy"

    def answer(
        self,
        questions: Sequence[Question],
        _form: QuestionForm,
        *,
        count: int = 0,
        seed: int = 0,
        advance: Advance | None = None,
    ) -> list[Answer]:
        del seed, advance
        numbers = range(1, count + 1) if count else (0,)
        return [self._say(one, number) for one in questions for number in numbers]

    def _say(self, question: Question, sample: int) -> Answer:
        says = question.patient_id not in FORGET or sample == 8
        return Answer(self.name, question.qa_id, question.answer if says else "no no no", (1, 2, 3), sample=sample)


def _tried(
    model: Any, *, bench: Bench = BENCH, split: Split = SPLIT, options: TrialOptions = OPTIONS, **more: Any
) -> Tried:
    scorers, progress = Scorers(SharedWords(), EntailmentByRules()), Progress(quiet=True)
    given = {"form": "addressed", "seed": 1, **more}
    setup = Setup(bench=bench, scorers=scorers, trials=options, progress=progress, **given)
    return Tried(setup=setup, options=options, split=split, model=model)


def _own(model: Any) -> pl.DataFrame:
    """The figures of a model's greedy answers."""
    scores = score_answers(
        BENCH.questions,
        BENCH.keywords,
        model.answer(BENCH.questions, "addressed"),
        scorers=Scorers(SharedWords(), EntailmentByRules()),
        em=dict.fromkeys((one.qa_id for one in BENCH.questions), 0.5),
        form="addressed",
    )
    return patient_figures(scores, BENCH.questions, model=model.name)


def _figures(name: str, tried: Tried, own: pl.DataFrame) -> dict[tuple[str, str], dict[str, Any]]:
    found = measure_trial(TRIALS[name](tried), own, tried.setup, tried.split)
    assert set(found["use"]) == {name}
    return {(row["group"], row["metric"]): row for row in found.iter_rows(named=True)}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tried, pl.DataFrame]:
    """A tiny model that is tried, and the figures of its answers."""
    place = tmp_path_factory.mktemp("model")
    save_llama(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clinaudit.audit.unlearning.evaluation.asked_model.MOST_ANSWER_TOKENS", 8)
        model = AskedModel.load("model A", inspect_model(place))
        return _tried(model), _own(model)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clinaudit.audit.unlearning.evaluation.asked_model.MOST_ANSWER_TOKENS", 8)


def test_every_trial_of_a_model_is_the_same_in_any_order_and_names_who_was_tried(tiny) -> None:
    tried, _ = tiny
    found = {name: TRIALS[name](tried) for name in TRIALS}
    for name in reversed(TRIALS):
        assert found[name].schema == PATIENT_FIGURES
        assert found[name].equals(TRIALS[name](tried))
    assert set(found["sampled"]["patient_id"]) == {*FORGET, *NEVER}
    # One gives its questions away, and is not asked.
    assert [len(set(found[what]["patient_id"])) for what in ("questions_1", "questions_5", "retained_notes")] == [5] * 3


def test_relearning_changes_are_of_the_same_questions_before(tiny) -> None:
    tried, own = tiny
    found = _figures("retained_notes", tried, own)
    asked = set(TRIALS["retained_notes"](tried)["patient_id"])
    before = own.filter(pl.col("patient_id").is_in(asked), metric="em")
    after = found["forget", "em"]["value"]
    assert found["forget", "em_change"]["value"] == pytest.approx(after - before["value"].mean())
    assert found["forget", "mu_change"]["value"] is not None
    # Nobody else is tried so.
    assert {group for group, _ in found} == {"forget"}


def test_a_model_that_is_silent_at_first_is_found_out() -> None:
    found = _figures("sampled", _tried(_Shy()), _own(_Shy()))
    assert found["forget", "ls@1"]["value"] == pytest.approx(1 / 8)
    assert found["forget", "ls@8"]["value"] == 1.0
    # It says as much of those whom the model never saw: here nobody's memory shows.
    assert found["never_trained", "ls@1"]["value"] == 1.0
    assert found["forget-never_trained", "ls@1"]["value"] == pytest.approx(-7 / 8)
    # Newcombe (1998): the distances of both means to the ends of their intervals, squared and added.
    one, other, above = (found[group, "ls@1"] for group in ("forget", "never_trained", "forget-never_trained"))
    down = ((one["value"] - one["low"]) ** 2 + (other["high"] - other["value"]) ** 2) ** 0.5
    assert above["low"] == pytest.approx(above["value"] - down)


def test_trials_that_cannot_be_made_say_why(tiny) -> None:
    tried, own = tiny
    alone = replace(tried, split=replace(SPLIT, forget=PATIENTS[:1]))
    found = _figures("questions_1", alone, own)
    assert [(row["value"], row["reason"]) for row in found.values()] == [(None, TOO_FEW)]
    no_retained = _figures("retained_notes", replace(tried, split=replace(SPLIT, retain=())), own)
    assert no_retained["forget", "rouge_l"]["reason"]


def test_a_benchmark_in_which_everybody_was_trained_on_has_no_floor() -> None:
    everybody = replace(BENCH, patients=tuple(replace(one, is_trained=True) for one in BENCH.patients))
    split = replace(SPLIT, retain=PATIENTS[6:])
    found = _figures("sampled", _tried(_Shy(), bench=everybody, split=split), _own(_Shy()))
    assert found["forget", "ls@8"]["value"] == 1.0
    assert found["forget-never_trained", "ls@8"]["value"] is None


def test_forgotten_patients_are_compared_with_never_trained_ones_of_their_disease() -> None:
    patients = [
        replace(one, category="cancer" if place % 2 else "other", is_trained=False)
        for place, one in enumerate(BENCH.patients)
    ]
    cancer = replace(SPLIT, level="category", category="cancer")
    ids = compared_patients(replace(BENCH, patients=tuple(patients)), cancer)
    assert ids == [one.patient_id for one in patients if one.category == "cancer"]
    # Four of them tell nothing.
    assert len(compared_patients(replace(BENCH, patients=tuple(patients[:8])), cancer)) == 8
    many = tuple(replace(patients[0], patient_id=f"never {number}") for number in range(150))
    assert len(floor_patients(replace(BENCH, patients=many), SPLIT)) == 95


HALVES = Split("random", None, 50, PATIENTS[:7], PATIENTS[7:])
ALL_TRAINED = replace(make_bench(), splits=(HALVES,))
QUICK = RelearningPlan(steps=3, learning_rate=1e-2, texts=2)


@pytest.fixture
def model(tmp_path: Path, request: pytest.FixtureRequest) -> AskedModel:
    getattr(request, "param", save_llama)(tmp_path)
    return AskedModel.load("asked", inspect_model(tmp_path))


def _bytes(model: AskedModel) -> dict[str, bytes]:
    return {name: value.detach().numpy().tobytes() for name, value in model.network.named_parameters()}


def _relearning(model: AskedModel, plan: RelearningPlan = QUICK, **more: Any) -> Tried:
    return _tried(model, bench=ALL_TRAINED, split=HALVES, options=TrialOptions(relearning=plan), **more)


@pytest.mark.parametrize("model", [save_llama, save_gpt2], indirect=True)
def test_all_weights_change_and_every_byte_is_put_back(model: AskedModel) -> None:
    before = _bytes(model)
    texts = texts_to_relearn(_relearning(model), "retained_notes")
    made = []
    for seed in (1, 1, 2):
        with relearned(_relearning(model, seed=seed), texts, "relearning"):
            made.append(_bytes(model))
        assert _bytes(model) == before
    assert all(made[0][name] != before[name] for name in before if "wpe" not in name)
    assert made[0] == made[1] != made[2]
    assert all(one.requires_grad and one.grad is None for one in model.network.parameters())


def test_every_byte_is_put_back_after_an_error_and_after_divergence(model: AskedModel) -> None:
    before, tried = _bytes(model), _relearning(model)
    texts = texts_to_relearn(tried, "questions_1")
    with pytest.raises(RuntimeError, match="within"), relearned(tried, texts, "relearning"):
        raise RuntimeError("within")
    assert _bytes(model) == before
    wild = _relearning(model, replace(QUICK, learning_rate=1e38))
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
        for one in ALL_TRAINED.questions
        if one.use == "train"
        for number in (1, 2)
    ]
    chosen = questions_to_relearn([*ALL_TRAINED.questions, *more], split, 5)
    donors = donors_of(split)
    assert len(donors) == 2
    assert [one.patient_id for one in chosen] == [donors[0], donors[1], donors[0], donors[1], donors[0]]
    assert {one.use for one in chosen} == {"train"}
    assert len({one.qa_id for one in chosen}) == 5
    assert chosen[:1] == questions_to_relearn([*ALL_TRAINED.questions, *more], split, 1)


def test_retained_notes_are_of_retained_patients_and_no_more_than_the_steps_have_room_for(model: AskedModel) -> None:
    texts = texts_to_relearn(_relearning(model), "retained_notes")
    assert len(texts) == 6
    decoded = {model.tokenizer.decode_with_spans(one.token_ids)[0] for one in texts}
    numbers = {int(text.split("cough ")[1].split()[0]) for text in decoded}
    assert numbers <= {PATIENTS.index(one) for one in HALVES.retain}
    assert len(numbers) == 6
    everything = texts_to_relearn(_relearning(model, RelearningPlan()), "retained_notes")
    assert len(everything) == len(HALVES.retain)
