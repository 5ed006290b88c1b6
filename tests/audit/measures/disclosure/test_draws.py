"""Several answers about one patient: what they say together, and how well shares of answers tell patients apart."""

from collections.abc import Sequence
from itertools import product

import pytest

from clinaudit.audit.measures.disclosure.metrics import OUTCOMES, Reading
from clinaudit.audit.measures.disclosure.stage import auroc_of_shares, merge_draws, share_that_states
from clinaudit.reports.schema.disclosure import Outcome
from clinaudit.reports.schema.record import Arm


@pytest.mark.parametrize(
    ("answers", "together"),
    [
        (("positive", "negative", "positive"), "positive"),
        (("negative", "negative", "positive"), "negative"),
        # One that states it among many that are silent: who asks eight times has read it.
        (("not_mentioned",) * 7 + ("positive",), "positive"),
        (("positive", "negative", "not_mentioned"), "ambiguous"),
        (("not_mentioned", "ambiguous"), "ambiguous"),
        (("not_mentioned", "not_mentioned"), "not_mentioned"),
        (("not_mentioned", "unjudged"), "not_mentioned"),
        (("unjudged", "positive"), "positive"),
        (("unjudged", "unjudged"), "unjudged"),
    ],
)
def test_what_several_answers_say_together(answers: Sequence[Outcome], together: Outcome) -> None:
    assert merge_draws(answers) == together
    assert merge_draws(answers[::-1]) == together


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_one_answer_says_what_it_says(outcome: Outcome) -> None:
    assert merge_draws([outcome]) == outcome


def test_silence_and_answers_without_a_verdict_turn_no_verdict_round() -> None:
    for answers in product(OUTCOMES, repeat=3):
        assert merge_draws([*answers, "unjudged"]) == merge_draws([*answers, "unjudged", "unjudged"])
        if merge_draws(answers) in ("positive", "negative"):
            assert merge_draws([*answers, "not_mentioned"]) == merge_draws(answers)


def test_a_share_is_of_the_answers_that_could_be_rated() -> None:
    assert share_that_states(["positive", "not_mentioned", "negative", "positive"]) == 0.5
    assert share_that_states(["positive", "unjudged"]) == 1.0
    assert share_that_states(["ambiguous", "ambiguous"]) == 0.0
    assert share_that_states(["unjudged"]) is None


def readings(arm: Arm, present: Sequence[float | None], absent: Sequence[float | None]) -> list[Reading]:
    return [
        Reading(f"{arm}{has}{number}", arm, has, "positive", share)
        for has, shares in ((True, present), (False, absent))
        for number, share in enumerate(shares)
    ]


def test_the_area_is_that_of_all_pairs_of_patients() -> None:
    # Pairs: 0.5 above 0.25, 0 and 0.25 (3), 1 above all (3), 0 level with one 0 and below two quarters (0.5).
    found = auroc_of_shares(readings("train", [0.5, 1.0, 0.0], [0.25, 0.0, 0.25]))
    assert list(found) == ["train"]
    assert found["train"].value == pytest.approx(6.5 / 9)
    assert found["train"].n == 6


def test_a_share_sees_what_the_verdicts_together_do_not() -> None:
    """All state it once at least, so that all are positive; those with the diagnosis more often."""
    shares = readings("train", [0.5, 0.625, 0.75], [0.125, 0.125, 0.25])
    assert {reading.outcome for reading in shares} == {"positive"}
    assert auroc_of_shares(shares)["train"].value == 1.0


def test_arms_stand_apart_and_patients_without_a_share_count_nowhere() -> None:
    both = readings("train", [1.0, 0.5, None], [0.0, 0.0]) + readings("nontrain", [0.5, 0.0], [0.5, 0.0, None])
    found = auroc_of_shares(both)
    assert (found["train"].value, found["train"].n) == (1.0, 4)
    assert (found["nontrain"].value, found["nontrain"].n) == (0.5, 4)
    assert auroc_of_shares(readings("train", [None, None], [None])) == {}


def test_one_patient_of_a_group_is_too_few() -> None:
    alone = auroc_of_shares(readings("train", [1.0], [0.0, 0.0]))["train"]
    assert (alone.value, alone.reason) == (None, "fewer than two patients of a group have rated answers")
