"""The documents of an evaluation as the records of its page: each figure where it belongs, none with its reason."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.hand_made_bench import QUESTIONS, hand_made_bench

from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import Scores
from clinaudit.audit.unlearning.benchmark.statistics import count_bench
from clinaudit.audit.unlearning.evaluation.page_content import page_content
from clinaudit.audit.unlearning.evaluation.robustness.parts import RobustnessOptions
from clinaudit.audit.unlearning.metrics.score_document import Making, describe_scores
from clinaudit.reports.schema.unlearning import UnlearningEvaluation
from clinaudit.reports.schema.unlearning_bench import PanelCounts, PanelFigures
from clinaudit.reports.schema.unlearning_evaluation import LEAK_METRICS, EvaluationRecord, RobustnessFile
from clinaudit.reports.schema.unlearning_scores import ScoresDocument

NO_KEYWORD = "the question has no keyword"
OPTIONS = RobustnessOptions().described()
#: What each question's answer keeps, by model.
KEPT = {"tuned": {"q1": 0.9, "q2": 0.8, "q3": 0.7, "q4": 0.6, "q5": 0.2}, "forgot": {"q1": 0.1, "q3": 0.5}}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return hand_made_bench(tmp_path_factory.mktemp("bench"))


def figure(value: float | None, **others: str) -> dict[str, Any]:
    interval = [None, None] if value is None else [value - 0.05, value + 0.05]
    return {"value": value, "interval": interval, "answers": 10, **others}


def document(bench: Bench, *, split: str = "random:25", set_aside: tuple[str, ...] = ()) -> ScoresDocument:
    scores = {
        model: [_score(model, one.qa_id, kept.get(one.qa_id, 0.0)) for one in QUESTIONS] for model, kept in KEPT.items()
    }
    making = Making(
        split=bench.split(split),
        form="addressed",
        entailment_metric="es_rules",
        made_with={},
        seed=0,
        set_aside=set_aside,
    )
    return describe_scores(scores, bench, making)


def _score(model: str, qa_id: str, kept: float) -> Scores:
    reasons = {} if qa_id == "q1" else {"ls": NO_KEYWORD, "ls_echo_free": NO_KEYWORD}
    leaked = kept if qa_id == "q1" else None
    return Scores(model, qa_id, 0, kept, kept, kept, kept, 0.5, leaked, leaked, reasons)


def record() -> EvaluationRecord:
    trained = {"learning_rate": 2e-5, "chose_rate": False, "training": {"epochs": 3, "warmup": 0.03}}
    model: dict[str, Any] = {"digest": "d", **trained}
    held = {
        "corpus_digest": "c",
        "documents": {},
        "clinaudit_version": "0",
        "libraries": {},
        "device": "cpu",
        "seed": 0,
        "form": "addressed",
        "made_with": {"cs": "encoder", "es_rules": "rules"},
        "robustness": OPTIONS,
        "before": "tuned",
        "models": [
            {"name": "tuned", "kind": "baseline", "split": None, "method": None, **model},
            {"name": "forgot", "kind": "unlearned", "split": "random:25", "method": "rmu", **model},
        ],
    }
    return EvaluationRecord.model_validate(held)


def content(bench: Bench, robustness: Mapping[str, Any] | None = None) -> UnlearningEvaluation:
    tried = {}
    if robustness is not None:
        held = {"format": 3, "bench": "d", "split": "random:25", "form": "addressed", "seed": 0, "models": robustness}
        options = {"options": OPTIONS, "patients": {"forget": 1, "retain": 2}}
        tried = {"random:25": RobustnessFile.model_validate({**held, **options})}
    return page_content(record(), {"random:25": document(bench)}, tried, bench)


def test_each_figure_stands_with_its_group_kind_and_use(bench: Bench) -> None:
    found = content(bench).figures["random:25"]["forgot"].answers
    # P1 is forgotten: q1 factual, q2 reasoning. P2 has the disease, P3 has another. P4 was never trained on.
    assert found["forget"]["factual"]["train"].metrics["rouge_l"].value == pytest.approx(0.1)
    assert found["same"]["factual"]["train"].metrics["es"].value == pytest.approx(0.5)
    assert set(found["others"]["factual"]) == {"holdout"}
    assert found["never_trained"]["factual"]["train"].metrics["em"].value == 0.0
    own = found["forget"]["factual"]["train"]
    # AFE is the harmonic mean of 0.9 four times; of one patient its interval is wide.
    assert own.metrics["afe"].value == pytest.approx(0.9)
    assert own.metrics["afe"].low is not None
    assert own.metrics["afe"].low < 0.5
    assert own.parts["afe"] == ["rouge_l", "em", "cs", "es"]
    assert (own.patients, own.answers, own.without_keywords) == (1, 1, 0)


def test_what_is_none_keeps_its_reason_and_is_never_0(bench: Bench) -> None:
    reasoning = content(bench).figures["random:25"]["forgot"].answers["forget"]["reasoning"]["train"]
    assert reasoning.metrics["ls"].value is None
    assert reasoning.metrics["ls"].reason == NO_KEYWORD
    assert reasoning.metrics["mu"].value == 0.0


def test_no_id_and_no_text_goes_along(bench: Bench) -> None:
    text = content(bench).model_dump_json()
    for own in QUESTIONS:
        assert not [said for said in (own.question, own.answer) if said in text]
        assert not [name for name in (own.qa_id, own.patient_id) if f'"{name}"' in text]


def test_splits_stand_in_the_order_of_level_and_size(bench: Bench) -> None:
    random, cancer = bench.splits
    more = (replace(cancer, percent=5), replace(random, percent=5), replace(random, level="request", percent=4))
    wide = replace(bench, splits=(*bench.splits, *more))
    names = ["cancer:25", "random:25", "request:4", "cancer:5", "random:5"]
    scores = {name: document(wide, split=name, set_aside=("P3",) if name == "random:5" else ()) for name in names}
    found = page_content(record(), scores, {}, wide).splits
    assert [split.name for split in found] == ["random:5", "random:25", "request:4", "cancer:5", "cancer:25"]
    assert [split.set_aside for split in found] == [1, 0, 0, 0, 0]
    assert [split.level for split in found[-3:]] == ["Request", "Cancer", "Cancer"]
    assert (found[0].forget_patients, found[0].forget_questions, found[0].retain_patients) == (1, 2, 2)


def test_trials_stand_with_their_model_and_those_that_failed_say_why(bench: Bench) -> None:
    means = {"rouge_l": figure(0.3), "es_rules": figure(0.2)}
    trial = {"before": means, "after": means, "change": means}
    leaks = {name: {"1": figure(0.1), "8": figure(None, reason="no question")} for name in LEAK_METRICS}
    groups = {"forget": 1, "never_trained": 1}
    trait = {"auroc": figure(0.4), "patients": groups, "p_value": 0.3, "told_apart": None}
    tried = {
        "forgot": {
            "sampling": {"samples": 8, "forget": leaks, "never_trained": leaks, "above_never_trained": leaks},
            "relearning": {
                "steps": 20,
                "learning_rate": 2e-5,
                "texts_a_step": 4,
                "patients": {"trained_on": 1, "asked": 1},
                "questions_1": {"reason": "it diverged"},
                "questions_5": trial,
                "retained_notes": trial,
            },
            "paraphrase": {"rephrased": {"reason": "none"}, "other_form": {"above_never_trained": means, **trial}},
            "detectability": {"compared_with": "others", "told_apart": None, "traits": {"te": trait}},
        }
    }
    found = content(bench, tried).figures["random:25"]
    forgot = found["forgot"].robustness
    assert forgot is not None
    assert forgot.sampling.forget.at("rouge_l")["8"].reason == "no question"
    reasons = {name: one.reason for name, one in forgot.trials().items()}
    assert reasons == {
        "questions_1": "it diverged",
        "questions_5": None,
        "retained_notes": None,
        "rephrased": "none",
        "other_form": None,
    }
    trials = forgot.trials()
    assert trials["retained_notes"].after["es_rules"].value == 0.2
    assert trials["other_form"].above_never_trained["rouge_l"].value == 0.3
    assert trials["retained_notes"].above_never_trained == {}
    assert (forgot.detectability.told_apart, forgot.detectability.traits["te"].auroc.value) == (None, 0.4)
    assert found["tuned"].robustness is None
    assert content(bench).figures["random:25"]["forgot"].robustness is None


def test_what_the_judges_said_comes_from_the_benchmark(bench: Bench) -> None:
    agreement = PanelFigures(
        task="title",
        items=2,
        verdicts={"a": {"supported": 2}},
        panel={"supported": 1, "disagree": 1},
        pairs={"a and b": 0.5},
        agreement=0.5,
        kappa=None,
        reading="half agree",
        panel_by_category={"cancer": {"supported": 1}},
    )
    panel = PanelCounts(title=agreement, question=agreement.model_copy(update={"task": "question"}))
    counts = count_bench(bench.patients, bench.questions, bench.splits, bench.notes, panel=panel)
    found = content(replace(bench, counts=counts)).bench
    assert [one.task for one in found.judged()] == ["title", "question"]
    assert found.judged()[0].panel_by_category == {"Cancer": {"supported": 1}}
