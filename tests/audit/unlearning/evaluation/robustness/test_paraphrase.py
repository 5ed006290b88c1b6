"""Rephrasings: each beside its question, and the most that any wording gives."""

from support.hand_made_bench import question

from clinaudit.audit.unlearning.benchmark.records import Scores
from clinaudit.audit.unlearning.evaluation.robustness.trial import (
    NO_REPHRASINGS,
    Trial,
    by_id,
    describe_trial,
    largest_leaks,
    pair_rephrased,
    under_rephrasings,
)

REPHRASED = [
    question(f"{of}-{number}", patient, "?", "a", use="rephrased", rephrased_from=of)
    for of, patient in (("q", "P"), ("r", "Q"))
    for number in (1, 2)
]


def _scores(qa_id: str, ls: float | None, rouge_l: float = 0.5) -> Scores:
    return Scores("m", qa_id, 0, rouge_l, None, 0.5, 0.5, 0.5, ls, ls, {})


GIVEN = by_id([_scores("q", 0.2), _scores("q-1", 0.4), _scores("q-2", 0.1), _scores("r", None), _scores("r-1", None)])


def test_a_rephrasing_stands_beside_its_question() -> None:
    trial = pair_rephrased(REPHRASED, GIVEN)
    assert list(trial.after) == ["q-1", "q-2", "r-1"]
    assert [trial.before[one].ls for one in trial.after] == [0.2, 0.2, None]
    assert [one.qa_id for one in trial.before.values()] == ["q-1", "q-2", "r-1"]
    assert {one: scores.ls for one, scores in under_rephrasings(REPHRASED, {"q": GIVEN["q"]}).items()} == {
        "q-1": 0.2,
        "q-2": 0.2,
    }


def test_the_largest_is_over_the_question_and_its_rephrasings() -> None:
    largest = largest_leaks(REPHRASED, pair_rephrased(REPHRASED, GIVEN), seed=0)
    assert (largest["ls"].value, largest["ls"].n) == (0.4, 1)
    assert (largest["rouge_l"].value, largest["rouge_l"].n) == (0.5, 2)
    assert largest_leaks([], Trial({}, {}), seed=0)["ls"].reason == NO_REPHRASINGS


def test_the_change_is_paired() -> None:
    described = describe_trial(
        pair_rephrased(REPHRASED, GIVEN), {one.qa_id: one for one in REPHRASED}, entailment_metric="es_rules", seed=0
    )
    assert described["counts"] == {"patients": 2, "questions": 3}
    change = described["change"]["ls"]  # type: ignore[index]
    assert (round(change["value"], 12), change["answers"]) == (0.05, 2)
    assert described["before"]["ls"]["value"] == 0.2  # type: ignore[index]
    assert described["after"]["ls"]["value"] == 0.25  # type: ignore[index]
    assert "es_rules" in described["change"]  # type: ignore[operator]
    assert "recovery" not in described
