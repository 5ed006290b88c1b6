"""The document of one model: all parts of a tiny model, trials by hand, and what never stands there."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic import TypeAdapter
from support.hand_made_bench import question
from support.models.tiny_models import save_llama
from support.unlearning.shared_words import SharedWords
from support.unlearning.tiny_job import PATIENTS, make_bench

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import Answer, Keyword, Question, QuestionForm, Scores, Split
from clinaudit.audit.unlearning.evaluation.asked_model import Advance, AskedModel
from clinaudit.audit.unlearning.evaluation.robustness.document import (
    NO_REPHRASINGS,
    TrialWriter,
    by_id,
    describe_robustness,
    pair_rephrased,
)
from clinaudit.audit.unlearning.evaluation.robustness.parts import (
    PARTS,
    PIECE_TYPES,
    ModelUnderTest,
    Piece,
    RobustnessOptions,
    Setup,
    TraitsPiece,
    TrialPiece,
    compared_patients,
    floor_patients,
)
from clinaudit.audit.unlearning.evaluation.robustness.relearning import TOO_FEW, RelearningPlan
from clinaudit.audit.unlearning.metrics.answer_scores import EntailmentByRules, score_answers
from clinaudit.reports.schema.unlearning_evaluation import Trial, TrialCounts

FORGET, RETAIN, NEVER = PATIENTS[:6], PATIENTS[6:8], PATIENTS[8:]
SPLIT = Split("random", None, 75, FORGET, RETAIN)
OPTIONS = RobustnessOptions(samples=3, leak_at=(1, 3), relearning=RelearningPlan(steps=2, learning_rate=1e-3))


def _bench() -> Bench:
    bench = make_bench()
    rephrased = [
        replace(one, qa_id=f"{one.qa_id} again", use="rephrased", question="And the plan?", rephrased_from=one.qa_id)
        for one in bench.questions
        if one.use == "train"
    ]
    questions = (*bench.questions, *rephrased)
    return replace(
        bench,
        patients=tuple(replace(one, is_trained=one.patient_id not in NEVER) for one in bench.patients),
        questions=questions,
        splits=(SPLIT,),
        keywords=tuple(Keyword(one.qa_id, "rest", 1.0, ("answer",)) for one in questions),
    )


BENCH = _bench()


@dataclass
class _Shy:
    """Stands for a model that says what it knows to whoever does not name the patient, or asks it three times."""

    name: str = "shy"

    def answer(
        self,
        questions: Sequence[Question],
        form: QuestionForm,
        *,
        count: int = 0,
        seed: int = 0,
        advance: Advance | None = None,
    ) -> list[Answer]:
        del seed, advance
        return [
            self._say(one, form, number) for one in questions for number in (range(1, count + 1) if count else (0,))
        ]

    def _say(self, question: Question, form: QuestionForm, sample: int) -> Answer:
        says = form == "paper" or question.patient_id not in FORGET or sample == 3
        text = question.answer if says else "no no no"
        return Answer(self.name, question.qa_id, text, (1, 2, 3) if says else (1, 1, 1), sample=sample)

    def exact_memorization(self, questions: Sequence[Question], _form: QuestionForm) -> dict[str, float]:
        return {one.qa_id: 0.5 for one in questions}


def _scores(model: Any) -> list[Scores]:
    return score_answers(
        BENCH.questions,
        BENCH.keywords,
        model.answer(BENCH.questions, "addressed"),
        embedder=SharedWords(),
        entailment=EntailmentByRules(),
        em=model.exact_memorization(BENCH.questions, "addressed"),
        form="addressed",
    )


def _setup(bench: Bench = BENCH) -> Setup:
    return Setup(
        bench=bench,
        form="addressed",
        seed=1,
        embedder=SharedWords(),
        entailment=EntailmentByRules(),
        options=OPTIONS,
        progress=Progress(quiet=True),
    )


def _tested(model: Any, setup: Setup, split: Split = SPLIT) -> ModelUnderTest:
    return ModelUnderTest(setup=setup, split=split, model=model, scores=_scores(model))


def _describe(pieces: Mapping[str, Piece], scores: Sequence[Scores]) -> Any:
    document = describe_robustness(pieces, scores, _setup(), SPLIT)
    return json.loads(json.dumps(document.model_dump(exclude_unset=True), allow_nan=False))


def _stored(name: str, piece: Piece) -> str:
    """Return a piece as it is kept."""
    adapter: TypeAdapter[Any] = TypeAdapter(PIECE_TYPES.get(name, TrialPiece))
    return json.dumps(adapter.dump_python(piece), sort_keys=True)


def _read_back(name: str, text: str) -> Piece:
    adapter: TypeAdapter[Piece] = TypeAdapter(PIECE_TYPES.get(name, TrialPiece))
    return adapter.validate_json(text)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModelUnderTest, dict[str, Piece]]:
    """Return a tiny model under test and all of its pieces, in the order of their names."""
    place = tmp_path_factory.mktemp("model")
    save_llama(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clinaudit.audit.unlearning.evaluation.asked_model.MOST_ANSWER_TOKENS", 8)
        model = AskedModel.load("model A", inspect_model(place))
        tested = _tested(model, _setup())
        return tested, {name: PARTS[name](tested) for name in sorted(PARTS)}


def test_a_piece_does_not_depend_on_the_others_and_goes_through_json(tiny, monkeypatch) -> None:
    monkeypatch.setattr("clinaudit.audit.unlearning.evaluation.asked_model.MOST_ANSWER_TOKENS", 8)
    tested, pieces = tiny
    for name in reversed(PARTS):
        assert _stored(name, PARTS[name](tested)) == _stored(name, pieces[name])
    stored = {name: _read_back(name, _stored(name, piece)) for name, piece in pieces.items()}
    assert _describe(pieces, tested.scores) == _describe(stored, tested.scores)


def test_a_document_holds_every_test_and_no_text(tiny: tuple[ModelUnderTest, dict[str, Piece]]) -> None:
    tested, pieces = tiny
    document = _describe(pieces, tested.scores)
    assert {"sampling", "relearning", "paraphrase", "detectability"} <= document.keys()
    assert document["sampling"]["forget"]["counts"] == {"patients": 6, "questions": 12}
    other_form = document["paraphrase"]["other_form"]
    assert other_form["counts"] == other_form["never_trained"]["counts"] == {"patients": 6, "questions": 12}
    # One gives its questions away, and is not asked.
    assert document["relearning"]["patients"] == {"trained_on": 1, "asked": 5}
    for what in ("questions_1", "questions_5", "retained_notes"):
        assert document["relearning"][what]["counts"] == {"patients": 5, "questions": 10}
    assert [document["relearning"][what]["texts"] for what in ("questions_1", "questions_5")] == [1, 1]
    assert document["paraphrase"]["rephrased"]["counts"] == {"patients": 6, "questions": 6}
    traits = document["detectability"]["traits"]
    assert list(traits) == ["answer_loss", "answer_entropy", "note_loss", "note_entropy", "te"]
    assert all(one["patients"] == {"forget": 6, "never_trained": 6} for one in traits.values())
    text = json.dumps(document)
    assert not any(one in text for one in (*PATIENTS, "What was", "rest 1", "cough"))
    assert not any(re.search(rf"\b{re.escape(one.qa_id)}\b", text) for one in BENCH.questions)


def test_never_trained_patients_are_tried_likewise(tiny: tuple[ModelUnderTest, dict[str, Any]]) -> None:
    tested, pieces = tiny
    patient_of = {one.qa_id: one.patient_id for one in BENCH.questions}
    # Random weights say nothing worth while: answers that are alike by turns have means that a hand can make.
    rows = [
        replace(row, rouge_l=float(number % 3 == 0) if patient_of[row.qa_id] in NEVER else float(number % 2))
        for number, row in enumerate(pieces["paraphrase"].scores)
    ]
    changed = {**pieces, "paraphrase": replace(pieces["paraphrase"], scores=rows)}
    document = _describe(changed, tested.scores)["paraphrase"]["other_form"]
    means = []
    for group in (FORGET, NEVER):
        kept = [row.rouge_l for row in rows if patient_of[row.qa_id] in group]
        means.append(sum(kept) / len(kept))
        assert len(kept) == 12
    after = document["after"]
    theirs = document["never_trained"]["after"]["rouge_l"]
    above = document["above_never_trained"]["rouge_l"]
    assert (after["rouge_l"]["value"], theirs["value"]) == (pytest.approx(means[0]), pytest.approx(means[1]))
    assert above["value"] == pytest.approx(means[0] - means[1])
    # Newcombe (1998): the distances of both means to the ends of their intervals, squared and added.
    (low, high), (their_low, their_high) = after["rouge_l"]["interval"], theirs["interval"]
    down = ((means[0] - low) ** 2 + (their_high - means[1]) ** 2) ** 0.5
    up = ((high - means[0]) ** 2 + (means[1] - their_low) ** 2) ** 0.5
    assert above["interval"] == pytest.approx([means[0] - means[1] - down, means[0] - means[1] + up], abs=1e-5)
    assert above["value"] != 0


def test_a_model_that_is_silent_at_first_is_found_out(
    tiny: tuple[ModelUnderTest, dict[str, Piece]],
) -> None:
    tested = _tested(_Shy(), _setup())
    own = {name: PARTS[name](tested) for name in ("sampling", "paraphrase")}
    document = _describe({**tiny[1], **own}, tested.scores)
    # Asked greedily and by name it says nothing; asked three times, or without the name, everything.
    assert document["paraphrase"]["rephrased"]["after"]["ls"]["value"] == 0.0
    other = document["paraphrase"]["other_form"]
    assert (other["form"], other["before"]["rouge_l"]["value"]) == ("paper", 0.0)
    assert other["change"]["rouge_l"]["value"] == 1.0
    assert other["change"]["rouge_l"]["interval"][0] > 0.3
    # It says as much of those whom the model never saw: here nobody's memory shows.
    assert other["never_trained"]["after"]["rouge_l"]["value"] == 1.0
    assert other["above_never_trained"]["rouge_l"]["value"] == 0.0
    sampled = document["sampling"]
    assert sampled["forget"]["ls"]["1"]["value"] == pytest.approx(1 / 3)
    assert sampled["forget"]["ls"]["3"]["value"] == 1.0
    assert sampled["never_trained"]["ls"]["1"]["value"] == 1.0
    assert sampled["above_never_trained"]["ls"]["1"]["value"] == pytest.approx(-2 / 3)


def test_parts_that_cannot_be_made_say_why(tiny: tuple[ModelUnderTest, dict[str, Piece]]) -> None:
    tested, _ = tiny
    alone = replace(tested, split=replace(SPLIT, forget=PATIENTS[:1]))
    assert PARTS["relearning-questions-1"](alone) == TrialPiece(reason=TOO_FEW)
    no_retained = replace(tested, split=replace(SPLIT, retain=()))
    assert PARTS["relearning-retained-notes"](no_retained).reason  # type: ignore[union-attr]


def test_a_benchmark_in_which_everybody_was_trained_on_has_no_floor(
    tiny: tuple[ModelUnderTest, dict[str, Piece]],
) -> None:
    everybody = replace(BENCH, patients=tuple(replace(one, is_trained=True) for one in BENCH.patients))
    split = replace(SPLIT, retain=PATIENTS[6:])
    setup = _setup(everybody)
    tested = _tested(_Shy(), setup, split)
    own = {"sampling": PARTS["sampling"](tested), "detectability": TraitsPiece("never-trained patients", [], [])}
    pieces = {**tiny[1], **own}
    document = describe_robustness(pieces, tested.scores, setup, split).model_dump(exclude_unset=True)
    assert document["sampling"]["forget"]["ls"]["3"]["value"] == 1.0
    assert document["sampling"]["above_never_trained"]["ls"]["3"]["value"] is None
    assert document["paraphrase"]["other_form"]["above_never_trained"]["rouge_l"]["value"] is None
    assert document["detectability"]["told_apart"] is None


def test_forgotten_patients_are_compared_with_never_trained_ones_of_their_disease() -> None:
    patients = [
        replace(one, category="cancer" if place % 2 else "other", is_trained=False)
        for place, one in enumerate(BENCH.patients)
    ]
    cancer = replace(SPLIT, level="category", category="cancer")
    ids, who = compared_patients(replace(BENCH, patients=tuple(patients)), cancer)
    assert ids == [one.patient_id for one in patients if one.category == "cancer"]
    assert who == "never-trained patients of the category"
    # Four of them tell nothing.
    ids, who = compared_patients(replace(BENCH, patients=tuple(patients[:8])), cancer)
    assert (len(ids), who) == (8, "never-trained patients")
    many = tuple(replace(patients[0], patient_id=f"never {number}") for number in range(150))
    assert len(floor_patients(replace(BENCH, patients=many), SPLIT)) == 95


def test_of_the_usual_k_those_count_that_the_samples_reach() -> None:
    assert RobustnessOptions.of(samples=None, steps=None, learning_rate=None) == RobustnessOptions()
    chosen = RobustnessOptions.of(samples=9, steps=3, learning_rate=1e-3)
    assert (chosen.samples, chosen.leak_at) == (9, (1, 8))
    assert chosen.relearning == RelearningPlan(steps=3, learning_rate=1e-3)


REPHRASED = [
    question(f"{of}-{number}", patient, "?", "a", use="rephrased", rephrased_from=of)
    for of, patient in (("q", "P"), ("r", "Q"))
    for number in (1, 2)
]


def _given(qa_id: str, ls: float | None) -> Scores:
    return Scores("m", qa_id, 0, 0.5, None, 0.5, 0.5, 0.5, ls, ls, {})


WRITER = TrialWriter({one.qa_id: one for one in REPHRASED}, "es_rules", 0)
GIVEN = by_id([_given("q", 0.2), _given("q-1", 0.4), _given("q-2", 0.1), _given("r", None), _given("r-1", None)])


def test_a_rephrasing_stands_beside_its_question() -> None:
    before, after = pair_rephrased(REPHRASED, GIVEN)
    assert list(after) == ["q-1", "q-2", "r-1"]
    assert [before[one].ls for one in after] == [0.2, 0.2, None]
    assert [one.qa_id for one in before.values()] == ["q-1", "q-2", "r-1"]


def test_the_largest_is_over_the_question_and_its_rephrasings() -> None:
    largest = WRITER.largest_leaks(REPHRASED, *pair_rephrased(REPHRASED, GIVEN))
    assert (largest["ls"].value, largest["ls"].answers) == (0.4, 1)
    assert (largest["rouge_l"].value, largest["rouge_l"].answers) == (0.5, 2)
    assert WRITER.largest_leaks([], {}, {})["ls"].reason == NO_REPHRASINGS


def test_the_change_is_paired() -> None:
    described = Trial(**WRITER.describe(*pair_rephrased(REPHRASED, GIVEN)))
    assert described.counts == TrialCounts(patients=2, questions=3)
    change = described.change["ls"]
    assert (round(change.value or 0, 12), change.answers) == (0.05, 2)
    assert (described.before["ls"].value, described.after["ls"].value) == (0.2, 0.25)
    assert "es_rules" in described.change
