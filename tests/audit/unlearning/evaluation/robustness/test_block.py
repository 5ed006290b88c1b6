"""The block of one model: all parts of a tiny model, what a filter looks like, and what never stands there."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from support.models.tiny_models import save_llama
from support.unlearning.tiny_job import PATIENTS, make_bench

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import Answer, Keyword, Question, QuestionForm, Scores, Split
from clinaudit.audit.unlearning.evaluation.asked_model import Advance, Answerer, AskedModel
from clinaudit.audit.unlearning.evaluation.robustness.block import Findings, describe_block
from clinaudit.audit.unlearning.evaluation.robustness.changed_weights import TOO_FEW, RelearningPlan
from clinaudit.audit.unlearning.evaluation.robustness.parts import (
    NO_WEIGHTS,
    PARTS,
    PIECE_TYPES,
    ModelUnderTest,
    Piece,
    RobustnessOptions,
    Setup,
    TrialPiece,
    compared_patients,
    floor_patients,
)
from clinaudit.audit.unlearning.evaluation.robustness.trial import NO_BASELINE, NOTHING_LOST
from clinaudit.audit.unlearning.metrics.answer_scores import EntailmentScore, score_answers
from clinaudit.errors import UsageError

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


class _Alike:
    """Stands for embeddings and entailment."""

    name = metric = "es_rules"

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(first == second) for first, second in pairs]

    def score(self, asked: Sequence[tuple[Question, str]]) -> list[EntailmentScore]:
        return [EntailmentScore(float(question.answer in answer)) for question, answer in asked]


@dataclass
class _Filter:
    """Says what it knows to whoever does not name the patient, and else refuses."""

    name: str = "filtered"

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
        # Of the three times one is asked, the last gives in.
        says = form == "paper" or question.patient_id not in FORGET or sample == 3
        text = question.answer if says else "no no no"
        return Answer(self.name, question.qa_id, text, (1, 2, 3) if says else (1, 1, 1), sample=sample)


def _scores(answerer: Answerer, model: AskedModel | None = None) -> list[Scores]:
    answers = answerer.answer(BENCH.questions, "addressed")
    em = None if model is None else model.exact_memorization(BENCH.questions, "addressed")
    return score_answers(
        BENCH.questions, BENCH.keywords, answers, embedder=_Alike(), entailment=_Alike(), em=em, form="addressed"
    )


def _setup(work: Path = Path(), bench: Bench = BENCH) -> Setup:
    return Setup(
        bench=bench,
        form="addressed",
        seed=1,
        embedder=_Alike(),
        entailment=_Alike(),
        options=OPTIONS,
        work=work,
        progress=Progress(quiet=True),
    )


def _tested(answerer: Answerer, model: AskedModel | None, setup: Setup, split: Split = SPLIT) -> ModelUnderTest:
    return ModelUnderTest(setup=setup, split=split, answerer=answerer, model=model, scores=_scores(answerer, model))


def _describe(findings: Findings, *, baseline: Findings | None = None, reference: Findings | None = None) -> Any:
    document = describe_block("model A", findings, _setup(), SPLIT, baseline=baseline, reference=reference)
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
        tested = _tested(model, model, _setup(tmp_path_factory.mktemp("work")))
        return tested, {name: PARTS[name](tested) for name in sorted(PARTS)}


def test_a_piece_does_not_depend_on_the_others_and_goes_through_json(tiny, monkeypatch) -> None:
    monkeypatch.setattr("clinaudit.audit.unlearning.evaluation.asked_model.MOST_ANSWER_TOKENS", 8)
    tested, pieces = tiny
    for name in reversed(PARTS):
        assert _stored(name, PARTS[name](tested)) == _stored(name, pieces[name])
    stored = {name: _read_back(name, _stored(name, piece)) for name, piece in pieces.items()}
    own = Findings(pieces=pieces, scores=tested.scores)
    assert _describe(own) == _describe(Findings(pieces=stored, scores=tested.scores))


def test_a_document_holds_every_test_and_no_text(tiny: tuple[ModelUnderTest, dict[str, Piece]]) -> None:
    tested, pieces = tiny
    own = Findings(pieces=pieces, scores=tested.scores)
    document = _describe(own)
    assert {"sampling", "quantization", "relearning", "paraphrase", "detectability"} <= document.keys()
    assert document["compared"]["baseline"] == NO_BASELINE
    assert document["sampling"]["forget"]["counts"] == {"patients": 6, "questions": 12}
    assert document["quantization"]["forget"]["counts"] == {"patients": 6, "questions": 12}
    assert document["quantization"]["retain"]["counts"] == {"patients": 2, "questions": 4}
    for tried in (document["quantization"]["never_trained"], document["paraphrase"]["other_form"]["never_trained"]):
        assert tried["counts"] == {"patients": 6, "questions": 12}
        assert "recovery" not in tried
    # One gives its questions away, and is not asked.
    assert document["relearning"]["patients"] == {"trained_on": 1, "asked": 5}
    for what in ("questions_1", "questions_5", "retained_notes"):
        assert document["relearning"][what]["counts"] == {"patients": 5, "questions": 10}
    assert [document["relearning"][what]["texts"] for what in ("questions_1", "questions_5")] == [1, 1]
    assert document["paraphrase"]["rephrased"]["counts"] == {"patients": 6, "questions": 6}
    traits = document["detectability"]["traits"]
    assert list(traits) == ["answer_loss", "answer_entropy", "note_loss", "note_entropy", "te"]
    assert all(one["patients"] == {"forget": 6, "never_trained": 6} for one in traits.values())
    by_patient = document.pop("by_patient")
    assert {role: set(own) for role, own in by_patient.items()} == {"forget": set(FORGET), "never_trained": set(NEVER)}
    text = json.dumps(document)
    # Ids of patients stand in one place alone, and text in none.
    assert not any(one in text for one in PATIENTS)
    assert not any(one in text + json.dumps(by_patient) for one in ("What was", "rest 1", "cough"))
    assert not any(re.search(rf"\b{re.escape(one.qa_id)}\b", text) for one in BENCH.questions)


def test_a_model_that_lost_nothing_recovers_nothing(tiny: tuple[ModelUnderTest, dict[str, Piece]]) -> None:
    tested, pieces = tiny
    own = Findings(pieces=pieces, scores=tested.scores)
    document = _describe(own, baseline=own, reference=own)
    for trial in (document["quantization"]["forget"], document["relearning"]["questions_1"]):
        assert {one["reason"] for one in trial["recovery"].values()} == {NOTHING_LOST}
    assert "recovery" not in document["quantization"]["retain"]
    better = [replace(one, rouge_l=min(1.0, one.rouge_l + 0.5)) for one in tested.scores]
    document = _describe(own, baseline=Findings(pieces={}, scores=better), reference=own)
    # The reference is the model itself: whatever came back, as much came back there.
    beyond = document["relearning"]["questions_5"]["recovery_beyond_reference"]["rouge_l"]
    assert beyond["value"] == pytest.approx(0.0)
    assert document["relearning"]["questions_5"]["recovery"]["rouge_l"]["value"] is not None


@pytest.mark.parametrize(("part", "place"), [("quantization", ()), ("paraphrase", ("other_form",))])
def test_never_trained_patients_are_tried_likewise(tiny, part, place) -> None:
    tested, pieces = tiny
    patient_of = {one.qa_id: one.patient_id for one in BENCH.questions}
    # Random weights say nothing worth while: answers that are alike by turns have means that a hand can make.
    rows = [
        replace(row, rouge_l=float(number % 3 == 0) if patient_of[row.qa_id] in NEVER else float(number % 2))
        for number, row in enumerate(pieces[part].scores)
    ]
    changed = {**pieces, part: replace(pieces[part], scores=rows)}
    document = _describe(Findings(pieces=changed, scores=tested.scores))[part]
    for step in place:
        document = document[step]
    means = []
    for group in (FORGET, NEVER):
        kept = [row.rouge_l for row in rows if patient_of[row.qa_id] in group]
        means.append(sum(kept) / len(kept))
        assert len(kept) == 12
    after = document["forget"]["after"] if part == "quantization" else document["after"]
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


def test_a_filter_is_found_out(tmp_path: Path) -> None:
    answerer = _Filter()
    tested = _tested(answerer, None, _setup(tmp_path))
    document = _describe(Findings(pieces={name: make(tested) for name, make in PARTS.items()}, scores=tested.scores))
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
    # Its refusals are all of one token: a reader sees who asked to be deleted.
    assert document["detectability"]["told_apart"] is True
    assert document["detectability"]["traits"]["te"]["auroc"]["value"] == 0.0
    assert document["detectability"]["traits"]["note_loss"]["told_apart"] is None
    assert document["quantization"] == {"reason": NO_WEIGHTS}
    assert document["relearning"]["retained_notes"] == {"reason": NO_WEIGHTS}


def test_parts_that_cannot_be_made_say_why(tiny: tuple[ModelUnderTest, dict[str, Piece]], tmp_path: Path) -> None:
    tested, _ = tiny
    alone = replace(tested, split=replace(SPLIT, forget=PATIENTS[:1]))
    assert PARTS["relearning-questions-1"](alone) == TrialPiece(reason=TOO_FEW)
    no_retained = replace(tested, split=replace(SPLIT, retain=()))
    assert PARTS["relearning-retained-notes"](no_retained).reason  # type: ignore[union-attr]


def test_a_benchmark_in_which_everybody_was_trained_on_has_no_floor(tmp_path: Path) -> None:
    answerer = _Filter()
    everybody = replace(BENCH, patients=tuple(replace(one, is_trained=True) for one in BENCH.patients))
    split = replace(SPLIT, retain=PATIENTS[6:])
    setup = _setup(tmp_path, everybody)
    tested = _tested(answerer, None, setup, split)
    pieces = {name: PARTS[name](tested) for name in ("sampling", "detectability")}
    own = Findings(pieces=pieces, scores=tested.scores)
    block = describe_block("model A", own, setup, split, baseline=None, reference=None)
    document = block.model_dump(exclude_unset=True)
    assert document["sampling"]["forget"]["ls"]["3"]["value"] == 1.0
    assert document["sampling"]["above_never_trained"]["ls"]["3"]["value"] is None
    assert document["detectability"]["told_apart"] is None
    # What was not tried is not there.
    assert not {"quantization", "relearning", "paraphrase"} & document.keys()


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


def test_options_are_chosen_and_checked() -> None:
    assert RobustnessOptions.of(samples=None, steps=None, learning_rate=None) == RobustnessOptions()
    chosen = RobustnessOptions.of(samples=9, steps=3, learning_rate=1e-3)
    assert (chosen.samples, chosen.leak_at) == (9, (1, 8))
    assert chosen.relearning == RelearningPlan(steps=3, learning_rate=1e-3)
    RobustnessOptions.of(samples=1, steps=None, learning_rate=None).require_sound()
    OPTIONS.require_sound()
    with pytest.raises(UsageError, match="leak@k"):
        replace(OPTIONS, samples=2).require_sound()
