"""Every metric of 48 answers by two models, its means and changes, and leak@k, as an independent state computed them.

The file was written before scores became tables: whatever computes them now must give the same values, item for item.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.hand_made_bench import bench_of, question
from support.unlearning.shared_words import SharedWords

from clinaudit.audit.unlearning.benchmark.files import Answer, BenchPatient, Keyword, Question, Split
from clinaudit.audit.unlearning.evaluation.trials import measure_leaks
from clinaudit.audit.unlearning.metrics.answer_collapse import check_answers
from clinaudit.audit.unlearning.metrics.answer_scores import EntailmentByRules, Scorers, score_answers
from clinaudit.audit.unlearning.metrics.means import groups_of, measure_groups, patient_figures, roles_of

GOLDEN = json.loads(
    (Path(__file__).parents[3] / "support" / "unlearning" / "golden_scores.json").read_text(encoding="utf-8")
)
METRICS = ("rouge_l", "em", "cs", "es", "te", "te_words", "ls", "ls_echo_free", "ls_reference")


def questions() -> list[Question]:
    return [
        question(qa_id, patient, asked, answer, *facts, kind=kind, use=use, address=address)
        for qa_id, patient, kind, use, address, asked, answer, facts in GOLDEN["questions"]
    ]


QUESTIONS = questions()
KEYWORDS = [Keyword(*row, ("answer",)) for row in GOLDEN["keywords"]]
SPLIT = Split("random", None, 25, tuple(GOLDEN["split"]["forget"]), tuple(GOLDEN["split"]["retain"]))
BENCH = bench_of(
    [BenchPatient(one, category, "given", "t", is_trained=known) for one, category, known in GOLDEN["patients"]],
    QUESTIONS,
    [SPLIT],
)


def answers_of(model: str) -> list[Answer]:
    given = zip(QUESTIONS, GOLDEN["answers"][model], strict=True)
    return [Answer(model, asked.qa_id, text, tuple(ids)) for asked, (text, ids, _) in given]


@pytest.fixture(scope="module")
def scores() -> dict[str, pl.DataFrame]:
    return {
        model: score_answers(
            QUESTIONS,
            KEYWORDS,
            answers_of(model),
            scorers=Scorers(SharedWords(), EntailmentByRules()),
            em={asked.qa_id: em for asked, (*_, em) in zip(QUESTIONS, rows, strict=True)},
            form="addressed",
        )
        for model, rows in GOLDEN["answers"].items()
    }


def test_each_metric_of_each_answer(scores: dict[str, pl.DataFrame]) -> None:
    for model, rows in GOLDEN["scores"].items():
        for metric, expected in zip(METRICS, zip(*rows, strict=True), strict=True):
            found = scores[model].filter(metric=metric)
            assert found["qa_id"].to_list() == [asked.qa_id for asked in QUESTIONS]
            assert found["value"].to_list() == pytest.approx(list(expected), abs=1e-12), (model, metric)
            # What is not there says why, and what is there says nothing.
            assert found["reason"].is_null().to_list() == [value is not None for value in expected]


@pytest.fixture(scope="module")
def measured(scores: dict[str, pl.DataFrame]) -> dict[str, dict[str, dict[str, Any]]]:
    """The value of each metric by model and group."""
    figures = {model: patient_figures(own, QUESTIONS, model=model) for model, own in scores.items()}
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for model, own in figures.items():
        before = figures["before"] if model == "after" else None
        table = measure_groups(own, groups_of(BENCH, SPLIT), split=SPLIT.name, before=before, seed=0)
        for row in table.iter_rows(named=True):
            place = f"{row['group']}/{row['kind']}/{row['use']}"
            found.setdefault(model, {}).setdefault(place, {})[row["metric"]] = row["value"]
    return found


def test_means_and_harmonic_means_of_each_group(measured: dict[str, dict[str, dict[str, Any]]]) -> None:
    for model, groups in GOLDEN["figures"].items():
        assert measured[model].keys() == groups.keys()
        for group, expected in groups.items():
            own = {metric: measured[model][group][metric] for metric in expected}
            assert own == pytest.approx(expected, abs=1e-12), (model, group)


def test_changes_to_the_model_before(measured: dict[str, dict[str, dict[str, Any]]]) -> None:
    for group, expected in GOLDEN["changes"].items():
        # Which answers have an entropy depends on the answers: of these two there is no paired change any more.
        for metric in expected.keys() - {"te", "te_words", "ls_reference"}:
            change = measured["after"][group][f"{metric}_change"]
            assert change == pytest.approx(expected[metric], abs=1e-12), (group, metric)


def test_the_collapse_check() -> None:
    roles = roles_of(BENCH, SPLIT)
    groups = {one.qa_id: roles[one.patient_id] for one in QUESTIONS}
    found = check_answers(answers_of("after"), answers_of("before"), groups)
    assert [check.model_dump() for check in found] == GOLDEN["checks"]


def test_leaks_of_sampled_answers() -> None:
    after = answers_of("after")
    texts = [after[place].text for place in (0, 5, 9, 13)]
    asked = [Answer("m", one.qa_id, text, None, sample=at) for one in QUESTIONS[:6] for at, text in enumerate(texts, 1)]
    found = measure_leaks(QUESTIONS[:6], KEYWORDS, asked, form="addressed", ks=(1, 2, 4))
    for expected in GOLDEN["leaks"]:
        for metric in ("ls", "ls_echo_free", "rouge_l"):
            own = [found.filter(qa_id=expected["qa_id"], metric=f"{metric}@{k}")["value"].item() for k in (1, 2, 4)]
            assert own == pytest.approx(expected.get(metric, [None] * 3), abs=1e-12)
