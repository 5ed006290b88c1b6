"""A trial: how much comes back, rephrasings beside their questions, and the most that any trial gets, by hand."""

import random
import statistics

import numpy as np
import pytest
from support.hand_made_bench import question

from clinaudit.audit.statistics.patient_means import places_of
from clinaudit.audit.unlearning.benchmark.records import Scores
from clinaudit.audit.unlearning.evaluation.robustness.block import worst_by_patient
from clinaudit.audit.unlearning.evaluation.robustness.trial import (
    NO_REPHRASINGS,
    NOT_SCORED,
    NOTHING_LOST,
    TrialWriter,
    Tried,
    by_id,
    pair_rephrased,
    recovery,
    recovery_beyond,
    under_rephrasings,
)
from clinaudit.reports.schema.unlearning_evaluation import Trial, TrialCounts


def _values(*values: float | None) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    return np.array([np.nan if value is None else value for value in values])


FOUR = places_of(["a", "b", "c", "d"])


@pytest.mark.parametrize(
    ("after", "expected"),
    [((0.1, 0.1, 0.1, 0.1), 0.0), ((0.9, 0.9, 0.9, 0.9), 1.0), ((0.5, 0.5, 0.1, 0.1), 0.25), ((0, 0, 0, 0), -0.125)],
)
def test_recovery_by_hand(after: tuple[float, ...], expected: float) -> None:
    found = recovery(_values(*[0.1] * 4), _values(*after), _values(*[0.9] * 4), FOUR, seed=0)
    assert found.value == pytest.approx(expected)
    assert found.n == 4
    assert found.low is not None
    assert found.high is not None
    # Four patients leave doubt, whatever the figure.
    assert found.low < expected < found.high


def test_it_is_a_ratio_of_means_and_not_a_mean_of_ratios() -> None:
    before, after, baseline = _values(0.0, 0.0), _values(1.0, 0.0), _values(1.0, 0.1)
    found = recovery(before, after, baseline, places_of(["a", "b"]), seed=0)
    assert found.value == pytest.approx(1 / 1.1)


def test_nothing_lost_is_nothing_to_recover() -> None:
    same = _values(0.5, 0.5, 0.5, 0.5)
    for baseline in (same, same - 0.1):
        found = recovery(same, same + 0.2, baseline, FOUR, seed=0)
        assert (found.value, found.n, found.reason) == (None, 4, NOTHING_LOST)


def test_answers_that_lack_one_of_the_three_do_not_count() -> None:
    before, after = _values(0.0, 0.0, 0.0, None), _values(0.5, None, 1.0, 1.0)
    found = recovery(before, after, _values(1.0, 1.0, None, 1.0), FOUR, seed=0)
    assert (found.value, found.n) == (0.5, 1)
    assert recovery(before, after, _values(None, None, None, None), FOUR, seed=0).reason == NOT_SCORED


def test_where_too_few_lost_anything_there_is_no_interval() -> None:
    # In 0.75^4 of the resamples nobody is drawn who lost something.
    found = recovery(_values(0, 0, 0, 0), _values(0.5, 0, 0, 0), _values(1.0, 0, 0, 0), FOUR, seed=0)
    assert found.value == 0.5
    assert (found.low, found.high) == (None, None)


def test_what_a_reference_gains_is_no_memory() -> None:
    before, after, baseline = (_values(*[one] * 4) for one in (0.1, 0.5, 0.9))
    reference = _values(*[0.2] * 4), _values(*[0.4] * 4)
    found = recovery_beyond((before, after), reference, baseline, FOUR, seed=0)
    assert found.value == pytest.approx((0.4 - 0.2) / 0.8)
    # A model that gains as much as the reference has recovered nothing; one that loses while it gains, less.
    assert recovery_beyond((before, after), (before, after), baseline, FOUR, seed=0).value == pytest.approx(0.0)
    extreme = recovery_beyond(
        (_values(1, 1), _values(0, 0)), (_values(0, 0), _values(1, 1)), _values(1, 1), FOUR[:2], seed=0
    )
    assert extreme.reason == NOTHING_LOST
    beyond = recovery_beyond(
        (_values(0, 0), _values(0, 0)), (_values(0, 0), _values(1, 1)), _values(1, 1), FOUR[:2], seed=0
    )
    assert beyond.value == pytest.approx(-1.0)
    # Two doubts are more than one, and less than their sum.
    alone = recovery(before, after, baseline, FOUR, seed=0)
    assert None not in (alone.low, alone.high, found.low, found.high)
    one, two = (alone.high or 0) - (alone.low or 0), (found.high or 0) - (found.low or 0)
    assert one < two < 2 * one


def test_the_interval_holds_the_truth() -> None:
    rng = random.Random(7)
    held = 0
    for trial in range(60):
        before, after, baseline, patients = [], [], [], []
        for patient in range(12):
            kept = rng.random() < 0.3
            for _ in range(4):
                before.append(0.1 * rng.random())
                baseline.append(0.6 + 0.4 * rng.random())
                after.append(baseline[-1] if kept else before[-1])
                patients.append(f"{patient:02}")
        found = recovery(_values(*before), _values(*after), _values(*baseline), places_of(patients), seed=trial)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.3 <= found.high
    assert held >= 55
    assert statistics.fmean([found.low or 0, found.high or 0]) < 1


REPHRASED = [
    question(f"{of}-{number}", patient, "?", "a", use="rephrased", rephrased_from=of)
    for of, patient in (("q", "P"), ("r", "Q"))
    for number in (1, 2)
]


def _scores(qa_id: str, ls: float | None, rouge_l: float = 0.5) -> Scores:
    return Scores("m", qa_id, 0, rouge_l, None, 0.5, 0.5, 0.5, ls, ls, {})


WRITER = TrialWriter({one.qa_id: one for one in REPHRASED}, "es_rules", 0)
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
    largest = WRITER.largest_leaks(REPHRASED, pair_rephrased(REPHRASED, GIVEN))
    assert (largest["ls"].value, largest["ls"].answers) == (0.4, 1)
    assert (largest["rouge_l"].value, largest["rouge_l"].answers) == (0.5, 2)
    assert WRITER.largest_leaks([], Tried({}, {}))["ls"].reason == NO_REPHRASINGS


def test_the_change_is_paired() -> None:
    described = Trial(**WRITER.describe(pair_rephrased(REPHRASED, GIVEN)))
    assert described.counts == TrialCounts(patients=2, questions=3)
    change = described.change["ls"]
    assert (round(change.value or 0, 12), change.answers) == (0.05, 2)
    assert (described.before["ls"].value, described.after["ls"].value) == (0.2, 0.25)
    assert "es_rules" in described.change
    assert described.recovery == {}


PATIENT_OF = {"a1": "A", "a2": "A", "b1": "B", "c1": "C"}


def test_the_largest_mean_over_the_trials_counts_and_not_the_largest_answer() -> None:
    sampled = {
        "a1": {"rouge_l": 0.2, "ls_echo_free": 0.0},
        "a2": {"rouge_l": 0.4, "ls_echo_free": None},
        "b1": {"rouge_l": 0.1, "ls_echo_free": None},
    }
    rounded = {
        "a1": {"rouge_l": 0.5, "ls_echo_free": 0.25},
        "a2": {"rouge_l": 0.0, "ls_echo_free": None},
        "b1": {"rouge_l": 0.9, "ls_echo_free": None},
    }
    # A: (0.2 + 0.4) / 2 = 0.3 against (0.5 + 0) / 2 = 0.25.
    assert worst_by_patient([sampled, rounded], PATIENT_OF) == {
        "A": {"ls_echo_free": 0.25, "rouge_l": (0.2 + 0.4) / 2},
        "B": {"rouge_l": 0.9},
    }


def test_who_was_not_put_to_every_trial_is_left_out() -> None:
    # Retained patients are asked with 4-bit weights alone.
    sampled = {"a1": {"rouge_l": 0.2}}
    rounded = {"a1": {"rouge_l": 0.1}, "c1": {"rouge_l": 1.0}}
    assert worst_by_patient([sampled, rounded], PATIENT_OF) == {"A": {"rouge_l": 0.2}}


def test_a_metric_that_one_trial_lacks_is_left_out() -> None:
    # In the other form the question itself may hold every keyword.
    sampled = {"a1": {"rouge_l": 0.2, "ls_echo_free": 1.0}}
    other_form = {"a1": {"rouge_l": 0.3, "ls_echo_free": None}}
    assert worst_by_patient([sampled, other_form], PATIENT_OF) == {"A": {"rouge_l": 0.3}}


def test_without_a_trial_there_is_nobody() -> None:
    assert worst_by_patient([], PATIENT_OF) == {}
