"""leak@k against all subsets and unbiased for fresh samples; and who can be told apart by a trait."""

import itertools
import random
import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hand_made_bench import question

from clinaudit.audit.unlearning.benchmark.records import Answer, Keyword
from clinaudit.audit.unlearning.evaluation.robustness.parts import FEW_PATIENTS, TRAITS, detect
from clinaudit.audit.unlearning.evaluation.robustness.sampling import (
    NO_QUESTION_HAS_IT,
    SampledLeaks,
    leak_at,
    measure_leaks,
    summarize_leaks,
)

_VALUES = st.lists(st.integers(0, 64).map(lambda whole: whole / 64), min_size=1, max_size=8)


@given(_VALUES, st.data())
def test_it_is_the_mean_of_the_largest_of_all_subsets(values: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    largest = [max(chosen) for chosen in itertools.combinations(values, k)]
    twin = sum(map(Fraction, largest), Fraction(0)) / len(largest)
    assert leak_at(values, k) == pytest.approx(float(twin), abs=1e-12)


def test_by_hand() -> None:
    assert leak_at([0.0, 1.0, 0.5], 1) == 0.5
    # Of three pairs two hold the 1, and one has 0.5.
    assert leak_at([0.0, 1.0, 0.5], 2) == pytest.approx(2.5 / 3)
    assert leak_at([0.0, 1.0, 0.5], 3) == 1.0
    # A leak in one of 32 is met by one of four who ask eight times.
    assert leak_at([1.0] + [0.0] * 31, 8) == pytest.approx(0.25)
    assert leak_at([0.5] * 7, 3) == pytest.approx(0.5)
    # Binomials of a thousand samples are no floats any more.
    assert leak_at([0.25] * 2000, 1000) == pytest.approx(0.25)


@pytest.mark.parametrize(("values", "k"), [([0.5], 2), ([0.5], 0), ([], 1)])
def test_too_few_samples_are_no_estimate(values: list[float], k: int) -> None:
    with pytest.raises(ValueError, match="as many values"):
        leak_at(values, k)


def test_it_is_unbiased_and_the_largest_of_fewer_samples_is_not() -> None:
    rng = random.Random(5)
    # A model that leaks 1 once in ten answers: of four at least one with 1 - 0.9^4.
    truth = 1 - 0.9**4
    estimates = [leak_at([float(rng.random() < 0.1) for _ in range(12)], 4) for _ in range(4000)]
    assert statistics.fmean(estimates) == pytest.approx(truth, abs=0.015)


def test_answers_are_scored_without_the_words_of_their_question() -> None:
    asked = question("q", "P", "Is there cancer?", "a lung cancer")
    keywords = [Keyword("q", "cancer", 1.0, ("note",)), Keyword("q", "biopsy", 3.0, ("note",))]
    answers = [Answer("m", "q", text, None, sample=2 - place) for place, text in enumerate(("cancer biopsy", "cancer"))]
    leaks = measure_leaks([asked], keywords, answers, form="paper")
    assert leaks == [SampledLeaks("q", {"ls": (0.25, 1.0), "ls_echo_free": (0.0, 1.0), "rouge_l": (1 / 3, 1 / 3)})]
    # Without keywords there is no leakage score to be largest.
    (without,) = measure_leaks([asked], [], answers, form="paper")
    assert set(without.values) == {"rouge_l"}


def test_questions_are_averaged_and_those_without_the_metric_left_out() -> None:
    leaks = [
        SampledLeaks("a", {"ls": (0.0, 1.0), "rouge_l": (0.5, 0.5)}),
        SampledLeaks("b", {"ls": (0.0, 0.0), "rouge_l": (0.0, 1.0)}),
        SampledLeaks("c", {"rouge_l": (0.0, 0.0)}),
    ]
    found = summarize_leaks(leaks, {"a": "P", "b": "P", "c": "Q"}, ks=(1, 2), seed=0)
    assert (found["ls"][1].value, found["ls"][2].value, found["ls"][2].n) == (0.25, 0.5, 2)
    assert found["rouge_l"][1].value == pytest.approx(1 / 3)
    assert found["rouge_l"][2].value == pytest.approx(0.5)
    assert found["ls_echo_free"][1].reason == NO_QUESTION_HAS_IT


def _with_trait(values: list[float | None]) -> list[dict[str, float | None]]:
    return [{**dict.fromkeys(TRAITS, 1.0), "answer_loss": value} for value in values]


@pytest.mark.parametrize(("shift", "auroc"), [(100.0, 1.0), (-100.0, 0.0), (0.0, 0.5)])
def test_too_much_and_too_little_loss_both_give_away_who_was_forgotten(shift: float, auroc: float) -> None:
    never = [float(place) for place in range(20)]
    found = detect(_with_trait([value + shift for value in never]), _with_trait(list(never)))
    assert found["answer_loss"].auroc.value == auroc
    assert found["answer_loss"].told_apart is (shift != 0)
    # The other traits are equal for all.
    assert {one.told_apart for trait, one in found.items() if trait != "answer_loss"} == {False}


def test_several_traits_are_several_chances() -> None:
    # A mean rank somewhat higher among eight: shown by one test, and not by one of five.
    forgotten, never = (
        _with_trait([9.0, 10.0, 11, 12, 13, 14, 15, 5]),
        _with_trait([float(place) for place in range(12)]),
    )
    (alone,) = [one for trait, one in detect(forgotten, never).items() if trait == "answer_loss"]
    without_others = [{**one, **dict.fromkeys(set(TRAITS) - {"answer_loss"})} for one in forgotten]
    only = detect(without_others, never)["answer_loss"]
    assert only.auroc.value == alone.auroc.value
    assert only.p_value is not None
    assert alone.p_value == pytest.approx(min(1.0, 5 * only.p_value))


@pytest.mark.parametrize(("forgotten", "never"), [(4, 30), (30, 4)])
def test_few_patients_tell_nothing(forgotten: int, never: int) -> None:
    found = detect(_with_trait([5.0] * forgotten), _with_trait([0.0] * never))["answer_loss"]
    assert (found.auroc.value, found.auroc.reason, found.told_apart) == (None, FEW_PATIENTS, None)
    assert (found.patients.forget, found.patients.never_trained) == (forgotten, never)


def test_patients_without_the_trait_do_not_count() -> None:
    found = detect(_with_trait([5.0] * 5 + [None] * 9), _with_trait([1.0] * 6))["answer_loss"]
    assert (found.patients.forget, found.patients.never_trained, found.auroc.value) == (5, 6, 1.0)
